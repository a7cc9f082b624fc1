"""Unknown words in names: where they vary they distinguish runs, as a case or as tuning."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter

from analysis.importing.draft import Draft
from analysis.importing.identity import without_names
from analysis.importing.vocabulary import MOLECULES, OPTIMISED, ParsedName, flags
from analysis.schema.factors import TABLE

_LISTED = 6  # levels that a line names
_LETTERS = re.compile(r"[a-z]{3,}")
_ROUNDED = re.compile(r"(\d+(?:\.\d+)?)([km])")
_CLOSE = 0.05
# A word of an unknown name; one that is denied is another word.
_SAID = re.compile(r"(?:(?:no|non|not|without)-)?[^-]+", re.IGNORECASE)
TEXTS = tuple(one.name for one in TABLE if not one.numeric)


def distinguish(members: list[Draft]) -> Iterator[str]:
    """Distinguish runs by unknown words, where these vary: as case if they change with the problem."""
    texts = {
        id(draft): [
            (draft.place(at), rest)
            for at, parsed in enumerate(draft.names)
            if (rest := _unstated_words(parsed, draft))
        ]
        for draft in members
    }
    everywhere = set.intersection(*({text for _, text in found} for found in texts.values()))
    columns: dict[str, dict[int, str]] = defaultdict(dict)
    for key, found in texts.items():
        for place, text in found:
            if text not in everywhere:
                before = columns[place].get(key)
                columns[place][key] = f"{before}/{text}" if before else text
    used: list[dict[int, str]] = []
    tuned: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for place, column in columns.items():
        levels = set(column.values()) | ({""} if len(column) < len(members) else set())
        if len(levels) < 2 or any(_equivalent(column, one) for one in used):
            continue
        used.append(column)
        name = "case" if _changes_with_problem(column, members) else "tuning"
        for draft in members:
            text = column.get(id(draft), "")
            # A file called after the case of its folder says it once more.
            if not text or text == draft.value("case"):
                continue
            if name == "tuning":
                tuned[id(draft)].append((_depth_of(place), text))
            elif name not in draft.facts:
                draft.append(name, text, f"path: {text}")
        alone = len(column) == len(set(column.values())) > _LISTED
        more = "; each run has its own, so none has a repeat: --pattern may explain it" if alone else ""
        levels_named = listed({text: text for text in column.values()})
        yield f"{place}: {levels_named} not understood, used as {name}{more}"
    told = {key: tuple(text for _, text in sorted(found, key=itemgetter(0))) for key, found in tuned.items()}
    spelled = _said_once(told.values())
    for draft in members:
        text = spelled.get(told.get(id(draft), ()), "")
        if text and str(draft.value("tuning")) != text:
            draft.append("tuning", text, f"path: {text}")


def levels(members: Sequence[Draft]) -> Iterator[str]:
    """Take levels of optimisation among unknown words as builds, where nothing else can be meant.

    `O2` and `O3` are molecules as well. They are levels where each name in their place has one, some differ
    in nothing else, and a compiler is known or there are other levels.
    """
    places: dict[str, list[tuple[Draft, ParsedName]]] = defaultdict(list)
    for draft in members:
        for at, parsed in enumerate(draft.names):
            places[draft.place(at)].append((draft, parsed))
    for place, rows in places.items():
        found = [OPTIMISED.findall(parsed.rest) or flags(parsed.text) for _, parsed in rows]
        if any(len(one) != 1 for one in found) or not _are_levels(rows, [one for (one,) in found]):
            continue
        for (draft, parsed), (level,) in zip(rows, found, strict=True):
            by_hand = draft.facts["build"].where in ("--set", "--table") if "build" in draft.facts else False
            if level in parsed.rest.split("-") and not by_hand:
                draft.append("build", level, f"path: {level}", " ")
            parsed.rest = _without(parsed.rest, level)
        yield f"{place}: build is {listed({level: level for (level,) in found})}"


def _are_levels(rows: Sequence[tuple[Draft, ParsedName]], found: Sequence[str]) -> bool:
    """Tell whether names, one text of each, differ in nothing but flags of a compiler."""
    known = any(draft.value("build") for draft, _ in rows)
    bare = any(one in parsed.rest.split("-") for (_, parsed), one in zip(rows, found, strict=True))
    if not bare or ({*found} <= MOLECULES and not known):
        return False
    other: dict[str, set[str]] = defaultdict(set)
    for (_, parsed), one in zip(rows, found, strict=True):
        other[_without(parsed.rest, one)].add(one)
    return any(len(one) > 1 for one in other.values())


def _without(words: str, word: str) -> str:
    return "-".join(one for one in words.split("-") if one != word)


def _depth_of(place: str) -> int:
    """Return the position of a place in a path; the name of the file is behind all folders."""
    found = re.search(r"\d+", place)
    return int(found[0]) if found else 1 << 30


def _said_once(parts: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """Spell parts of paths as one level each, without the words that a folder above has said.

    ``MPI/bt/bt-mpi-431`` is ``MPI/bt/431``. Levels that would be the same then keep all of their words.
    """
    spelled: dict[tuple[str, ...], str] = {}
    for one in parts:
        said: set[str] = set()
        left = []
        for part in one:
            words = _SAID.findall(part)
            left.append("-".join(word for word in words if word.casefold() not in said))
            said |= {word.casefold() for word in words}
        spelled[one] = "/".join(filter(None, left))
    counts = Counter(spelled.values())
    return {one: text if counts[text] == 1 else "/".join(one) for one, text in spelled.items()}


def _equivalent(column: Mapping[int, str], other: Mapping[int, str]) -> bool:
    """Tell whether two parts of the path distinguish the same runs."""
    pairs = {(column[key], other.get(key, "")) for key in column}
    one, two = (set(each.values()) for each in (column, other))
    return column.keys() == other.keys() and len(pairs) == len(one) == len(two)


def _unstated_words(parsed: ParsedName, draft: Draft) -> str:
    """Return the unknown words of a part of a path, without what the output states in the same words."""
    known = {str(draft.value(name)).casefold() for name in TEXTS if name in draft.facts}
    known |= {text.removeprefix("osu_") for text in known}
    known |= {f"{word}{draft.run.job}" for word in ("job", "jobid", "jid")} if draft.run.job else set()
    words = without_names(parsed.rest, draft).split("-")
    parts = [word.casefold() for word in words]
    # A name may be written in two words: all-reduce.
    in_two = {at for at in range(len(parts) - 1) if "".join(parts[at : at + 2]) in known}
    skip = {at for at, word in enumerate(parts) if word in known or {at, at - 1} & in_two}
    skip |= _spell_case(parts, str(draft.value("case") or "").casefold())
    return "-".join(word for at, word in enumerate(words) if at not in skip)


def _spell_case(words: Sequence[str], case: str) -> set[int]:
    """Return the places of words that say the case that an output states: ``20k-atoms`` is ``19605-atoms``.

    They have a word of it, and next to that a number that is one of it when rounded.
    """
    numbers = [float(one) for one in re.findall(r"\d+(?:\.\d+)?", case)]
    found = set()
    for at, word in enumerate(words[:-1]):
        rounded = _ROUNDED.fullmatch(word)
        if rounded and words[at + 1] in _LETTERS.findall(case):
            value = float(rounded[1]) * {"k": 1e3, "m": 1e6}[rounded[2]]
            found |= {at, at + 1} if any(abs(one / value - 1) < _CLOSE for one in numbers) else set()
    return found


def _changes_with_problem(column: Mapping[int, str], members: Sequence[Draft]) -> bool:
    if any(draft.value("case") for draft in members):
        return False
    # What an output leaves open, as in `atoms=? steps=100` or by failing before, is no other problem.
    stated = [(column.get(id(draft), ""), str(draft.value("problem") or "?")) for draft in members]
    pairs = {(text, problem) for text, problem in stated if "?" not in problem}
    return len(pairs) == len({one for one, _ in pairs}) == len({other for _, other in pairs}) > 1


def listed(levels: Mapping[str, str]) -> str:
    """List the levels that names state, numbers in their order, each with its text where that differs."""

    def key(text: str) -> tuple[int, float, str]:
        return (0, float(text), "") if re.fullmatch(r"\d+(?:\.\d+)?", text) else (1, 0.0, text)

    names = sorted(levels, key=key)
    listed = [name if levels[name] in name else f"{name} ({levels[name]})" for name in names[:_LISTED]]
    return ", ".join(listed) + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")


def first_of(names: Sequence[str]) -> str:
    """Return the first of some names, and how many others there are."""
    more = len({*names}) - 1
    return f"{names[0]} and {more} more" if more else names[0]

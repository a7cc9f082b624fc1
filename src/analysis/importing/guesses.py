"""What paths say without a pattern: words of the field, numbers that outputs state, and what is left over."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from analysis.importing import words
from analysis.importing.draft import COMPARED, Draft, Fact, contradict, sure
from analysis.importing.words import CANDIDATES, Said
from analysis.schema.campaigns import Application

_MOSTLY = 0.8  # share of outputs that must state a number for it to stand for that
_PLAN = 2.5  # times the time that was asked for, beyond which no program runs
_SHOWN = 6  # levels that a line names


class Number(NamedTuple):
    """A number without a word in a name: which of its numbers, of how many."""

    draft: Draft
    value: int
    text: str
    said: Said
    nth: int
    of: int


Spot = tuple[str, int, int]  # part of the path; which of its numbers, of how many


def guess(
    drafts: Sequence[Draft],
    applications: Mapping[str, Application],
    *,
    settled: Callable[[int], bool] | None = None,
) -> list[str]:
    """Take factors from paths, in place; return what was guessed and from what, a line each.

    Parts of a path for which `settled` is true are left alone.
    """
    told: list[str] = []
    places: dict[str, list[Draft]] = defaultdict(list)
    for draft in drafts:
        places[draft.application].append(draft)
    for application, members in places.items():
        declared = applications.get(application)
        cases = tuple(declared.launch.cases) if declared and declared.launch else ()
        for draft in members:
            parts = draft.run.main.file.name.split("/")
            draft.said = [
                Said(part)
                if settled is not None and settled(at)
                else words.said(part, application=application, cases=cases, file=at == len(parts) - 1)
                for at, part in enumerate(parts)
            ]
    elsewhere = _of_others(places.values())
    for application, members in places.items():
        lines = _of_application(members, applications.get(application), elsewhere)
        told += [f"{application}: {line}" for line in lines]
    return told


def _of_application(
    members: list[Draft], declared: Application | None, elsewhere: Mapping[Spot, tuple[str, set[int]]]
) -> Iterator[str]:
    yield from _stated(members, declared)
    yield from _vague(members, elsewhere)
    yield from _left_over(members)


def _place(at: int, draft: Draft) -> str:
    return "names of files" if at == len(draft.said) - 1 else f"level {at + 1} of the path"


def _stated(members: list[Draft], declared: Application | None) -> Iterator[str]:
    """Take values that a word states, unless most outputs show that the word means something else."""
    found: dict[tuple[str, str], list[tuple[Draft, Any, str]]] = defaultdict(list)
    options = declared.options if declared else {}
    for draft in members:
        for at, said in enumerate(draft.said):
            for name, (value, text) in said.values.items():
                if name in ("target_time", "local_size") and name not in options:
                    said.rest = f"{said.rest}-{text}".strip("-")
                    continue
                found[name, _place(at, draft)].append((draft, value, text))
    for (name, place), rows in found.items():
        meaning = _meaning(name, rows)
        levels: dict[str, str] = {}
        for draft, value, text in rows:
            if not meaning:
                _unsaid(draft, place, text)
            elif not contradict(draft, meaning, value, text) and meaning not in draft.facts:
                draft.facts[meaning] = Fact(value, f"path: {text}")
                levels[str(value)] = text
        if levels and meaning:
            yield f"{place}: {meaning} is {_listed(levels)}"
        elif not meaning:
            yield f"{place}: {rows[0][2]!r} is not what outputs state as {name}, and is not taken"


def _unsaid(draft: Draft, place: str, text: str) -> None:
    """Leave a word with what is not understood: it may still tell runs apart."""
    for at, said in enumerate(draft.said):
        if _place(at, draft) == place:
            said.rest = f"{said.rest}-{text}".strip("-")


def _meaning(name: str, rows: Sequence[tuple[Draft, Any, str]]) -> str:
    """Return the factor that a word's numbers stand for by most outputs; the word's own without any."""
    if name == "target_time":
        took = [(draft.value("benchmark_time"), value) for draft, value, _ in rows]
        near = [asked / _PLAN <= one <= asked * _PLAN for one, asked in took if one]
        return name if not near or sum(near) * 2 > len(near) else ""
    if name not in COMPARED or name == "case":
        return name
    own = [_known(draft, name) == value for draft, value, _ in rows if _known(draft, name) is not None]
    if len(own) < 4 or sum(own) * 2 > len(own):
        return name
    others = ("ranks_per_node",) if name == "ranks" else ("ranks",) if name == "ranks_per_node" else ()
    return next((other for other in others if _confirmed(other, [(d, v) for d, v, _ in rows])), "")


def _known(draft: Draft, name: str) -> Any:
    fact = draft.facts.get(name)
    if fact is not None and sure(fact):
        return fact.value
    ranks, nodes = draft.facts.get("ranks"), draft.facts.get("nodes")
    if name == "ranks_per_node" and ranks and nodes and sure(ranks) and sure(nodes):
        return ranks.value / nodes.value
    return None


def _confirmed(name: str, rows: Sequence[tuple[Draft, int]]) -> bool:
    known = [(_known(draft, name), value) for draft, value in rows]
    stated = [one == value for one, value in known if one is not None]
    return bool(stated) and sum(stated) >= _MOSTLY * len(stated)


def _numbers(members: Sequence[Draft]) -> dict[tuple[str, str], list[Number]]:
    """Put numbers without a word together that stand in the same place of a name."""
    found: dict[tuple[str, str], list[Number]] = defaultdict(list)
    for draft in members:
        for at, said in enumerate(draft.said):
            for nth, (value, text, word) in enumerate(said.vague):
                found[_place(at, draft), word].append(Number(draft, value, text, said, nth, len(said.vague)))
    return found


def _by_form(place: str, rows: Sequence[Number]) -> dict[Spot, list[Number]]:
    """Tell numbers apart by how many numbers their names have: `16-256-1` is another form than `16-1`."""
    out: dict[Spot, list[Number]] = defaultdict(list)
    for row in rows:
        out[place, row.nth, row.of].append(row)
    return out


def _of_others(applications: Iterable[Sequence[Draft]]) -> dict[Spot, tuple[str, set[int]]]:
    """Return what outputs of any application state a number of a name to be, and which numbers they are."""
    out: dict[Spot, tuple[str, set[int]]] = {}
    for members in applications:
        for (place, _), rows in _numbers(members).items():
            name = next((one for one in CANDIDATES if _confirmed(one, _values(rows))), "")
            for spot, part in _by_form(place, rows).items() if name else ():
                if len(levels := {row.value for row in part}) > 1 and spot[2] > 1:
                    out.setdefault(spot, (name, levels))
    return out


def _vague(members: list[Draft], elsewhere: Mapping[Spot, tuple[str, set[int]]]) -> Iterator[str]:
    """Decide what numbers without a word stand for: what outputs state, else nothing is claimed.

    An output that states nothing is read as those of other applications that are named alike.
    """
    left: list[tuple[Spot, list[Number], list[int]]] = []
    for (place, word), rows in _numbers(members).items():
        values = _values(rows)
        name = next((one for one in CANDIDATES if _confirmed(one, values)), "")
        if not name and any(_said_before(one, values) for one in CANDIDATES):
            continue
        why = "as outputs state"
        if not name and word[:1] in ("n", "s") and _could_be_nodes(values):
            name, why = "nodes", "which no output states"
        if name:
            yield from _taken(place, name, rows, why)
            continue
        for spot, part in _by_form(place, rows).items():
            name, levels = elsewhere.get(spot, ("", set()))
            if (
                name
                and {row.value for row in part} <= levels
                and all(r.draft.value(name) is None for r in part)
            ):
                yield from _taken(place, name, part, "as outputs of other applications state")
            else:
                left.append((spot, part, [row.value for row in rows]))
    for spot, part, all_ in left:
        if _goes_with_ranks(part):
            listed = _listed({row.text: row.text for row in part})
            yield f"{spot[0]}: {listed} go with the number of ranks, and say no more"
        else:
            _not_understood(part, all_)


def _values(rows: Sequence[Number]) -> list[tuple[Draft, int]]:
    return [(row.draft, row.value) for row in rows]


def _taken(place: str, name: str, rows: Sequence[Number], why: str) -> Iterator[str]:
    """Take numbers as a factor, unless outputs contradict them."""
    levels: dict[str, str] = {}
    for draft, value, text, *_ in rows:
        if not contradict(draft, name, value, text) and name not in draft.facts:
            draft.facts[name] = Fact(value, f"path: {text}")
            levels[str(value)] = text
    if levels:
        yield f"{place}: {name} is {_listed(levels)}, {why}"


def _goes_with_ranks(rows: Sequence[Number]) -> bool:
    """Tell whether each number has its own number of ranks: it tells no runs apart that ranks do not."""
    pairs = {(value, draft.value("ranks")) for draft, value in _values(rows)}
    ranks = {one for _, one in pairs}
    return None not in ranks and len(pairs) == len(ranks) == len({one for one, _ in pairs}) > 1


def _said_before(name: str, rows: Sequence[tuple[Draft, int]]) -> bool:
    """Tell whether another part of the path says the same by a word."""
    return all(draft.value(name) == value for draft, value in rows)


def _could_be_nodes(rows: Sequence[tuple[Draft, int]]) -> bool:
    ranks = [(_known(draft, "ranks"), value) for draft, value in rows]
    unknown = all(_known(draft, "nodes") is None for draft, _ in rows)
    return unknown and all(one is None or (value > 0 and one % value == 0) for one, value in ranks)


def _not_understood(rows: Sequence[Number], all_: Sequence[int]) -> None:
    """Let small numbers that count from 0 or 1 order the repeats, and tell runs apart by others.

    Two numbers count only if `all_` in their place do, whatever the form of the name: `0_5` is a half.
    """
    values = sorted({row.value for row in rows})
    counts = len(values) > 2 and _counting(values, len(rows))
    counts = counts or _counting(sorted(set(all_)), len(all_))
    for draft, value, text, said, *_ in rows:
        if counts:
            draft.facts.setdefault("repeat", Fact(value, f"path: {text}"))
        else:
            said.rest = f"{said.rest}-{text}".strip("-")


def _counting(values: Sequence[int], runs: int) -> bool:
    """Tell whether numbers count executions: 0 or 1 and on without a gap, or each once and near each other.

    Powers of two are sizes of something.
    """
    if values[0] in (0, 1) and list(values) == list(range(values[0], values[0] + len(values))):
        return True
    powers = all(value & (value - 1) == 0 for value in values)
    return len(values) == runs > 2 and not powers and values[-1] - values[0] < 4 * runs


def _left_over(members: list[Draft]) -> Iterator[str]:
    """Tell runs apart by words that nobody knows, where these vary: as case if it goes with the problem."""
    texts: dict[int, list[tuple[str, str]]] = {}
    for draft in members:
        texts[id(draft)] = [
            (_place(at, draft), rest) for at, said in enumerate(draft.said) if (rest := _rest(said, draft))
        ]
    everywhere = set.intersection(*({text for _, text in found} for found in texts.values()))
    columns: dict[str, dict[int, str]] = defaultdict(dict)
    for key, found in texts.items():
        for place, text in found:
            if text not in everywhere:
                was = columns[place].get(key)
                columns[place][key] = f"{was}/{text}" if was else text
    before: list[dict[int, str]] = []
    for place, column in columns.items():
        levels = set(column.values()) | ({""} if len(column) < len(members) else set())
        if len(levels) < 2 or any(_alike(column, one) for one in before):
            continue
        before.append(column)
        name = "case" if _goes_with_problem(column, members) else "tuning"
        for draft in members:
            text = column.get(id(draft), "")
            fact = draft.facts.get(name)
            if text and fact is None:
                draft.facts[name] = Fact(text, f"path: {text}")
            elif text and fact is not None and str(fact.value) != text and name == "tuning":
                draft.facts[name] = Fact(f"{fact.value}/{text}", f"path: {text}")
        alone = len(column) == len(set(column.values())) > _SHOWN
        more = "; each run has its own, so none has a repeat: --pattern may say more" if alone else ""
        listed = _listed({text: text for text in column.values()})
        yield f"{place}: {listed} not understood, taken as {name}{more}"


def _alike(column: Mapping[int, str], other: Mapping[int, str]) -> bool:
    """Tell whether two parts of the path tell the same runs apart."""
    pairs = {(column[key], other.get(key, "")) for key in column}
    one, two = (set(each.values()) for each in (column, other))
    return column.keys() == other.keys() and len(pairs) == len(one) == len(two)


def _rest(said: Said, draft: Draft) -> str:
    """Return what is left over of a part of a path, without what the output states in the same words."""
    known = {str(draft.value(name)).casefold() for name in ("case", "version", "application", "mpi", "cpu")}
    known |= {text.removeprefix("osu_") for text in known}
    parts = [word.casefold() for word in said.rest.split("-")]
    # A name may be written in two words: all-reduce.
    in_two = {at for at in range(len(parts) - 1) if "".join(parts[at : at + 2]) in known}
    skip = {at for at, word in enumerate(parts) if word in known or {at, at - 1} & in_two}
    return "-".join(word for at, word in enumerate(said.rest.split("-")) if at not in skip)


def _goes_with_problem(column: Mapping[int, str], members: Sequence[Draft]) -> bool:
    if any(draft.value("case") for draft in members):
        return False
    pairs = {(column.get(id(draft), ""), str(draft.value("problem") or "")) for draft in members}
    return len(pairs) == len({one for one, _ in pairs}) == len({other for _, other in pairs}) > 1


def _listed(levels: Mapping[str, str]) -> str:
    def key(text: str) -> tuple[int, float, str]:
        return (0, float(text), "") if re.fullmatch(r"\d+(?:\.\d+)?", text) else (1, 0.0, text)

    names = sorted(levels, key=key)
    shown = [name if levels[name] in name else f"{name} ({levels[name]})" for name in names[:_SHOWN]]
    return ", ".join(shown) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")

"""Infers factors from paths without a pattern: words of the field, and numbers that outputs confirm."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from analysis.base.words import counted
from analysis.importing.draft import COUNTS, PAIR, Draft, Sourced
from analysis.importing.identity import host_pattern, plain_problem
from analysis.importing.vocabulary import ParsedName, other_builds, parse_name
from analysis.importing.words import TEXTS, distinguish, levels, listed
from analysis.schema.applications import Application

_MOSTLY = 0.8  # share of outputs that must state a number for it to be that factor
_FEW = 3  # numbers that are no list of hosts
_PLAN = 2.5  # times the requested time, beyond which no program runs

# What a second word for it says more of; a path that contradicts a case or a library is a fault.
_WORDED = {*TEXTS, "frequency"} - {"application", "case", "mpi", "build"}

Row = tuple[Draft, Any, str]  # a run, a value, the text of its path
Spot = tuple[str, int, int]  # part of the path; which of its numbers, of how many


class BareNumber(NamedTuple):
    """A number without a word in a name: which of its numbers, of how many."""

    draft: Draft
    value: int
    text: str
    name: ParsedName
    nth: int
    of: int


def infer(
    drafts: Sequence[Draft],
    applications: Mapping[str, Application],
    *,
    settled: Callable[[int], bool] | None = None,
) -> list[str]:
    """Infer factors from paths, in place; return what was inferred and from what, a line each.

    Parts of a path for which `settled` is true are left alone.
    """
    groups: dict[str, list[Draft]] = defaultdict(list)
    parse = cache(parse_name)  # runs share most folders
    for draft in drafts:
        groups[draft.application].append(draft)
        declared = applications.get(draft.application)
        cases = tuple(declared.launch.cases) if declared and declared.launch else ()
        parts = draft.run.main.file.name.split("/")
        draft.names = [
            ParsedName(part)
            if settled is not None and settled(at)
            else parse(part, application=draft.application, cases=cases, file=at == len(parts) - 1).copy()
            for at, part in enumerate(parts)
        ]
    elsewhere = _confirmed_spots(groups.values())
    lines = []
    for application, members in groups.items():
        found = [
            *_from_words(members, applications.get(application)), *_from_numbers(members, elsewhere),
            *_from_siblings(members), *_from_hosts(members), *levels(members), *_state_problems(members),
            *distinguish(members),
        ]  # fmt: skip
        lines += [f"{application}: {line}" for line in found]
    return lines


def _from_words(members: list[Draft], declared: Application | None) -> Iterator[str]:
    """Add values that a word states, unless most outputs show that the word means something else."""
    found: dict[tuple[str, str], list[tuple[Row, ParsedName]]] = defaultdict(list)
    options = declared.options if declared else {}
    for draft in members:
        for at, parsed in enumerate(draft.names):
            for name, (value, text) in parsed.values.items():
                if name in ("target_time", "local_size") and name not in options:
                    parsed.add_rest(text)
                else:
                    found[name, draft.place(at)].append(((draft, value, text), parsed))
    for (name, place), rows in found.items():
        if meaning := _meaning(name, [row for row, _ in rows]):
            yield from _denied(name, place, [row for row, _ in rows])
            _keep_others(name, rows, members)
            yield from _add(place, meaning, [row for row, _ in rows], "")
        elif name == "nodes" and _are_hosts([row for row, _ in rows]):
            for (draft, _, text), _ in rows:
                draft.add({"node_list": text}, f"path: {text}")
            yield f"{place}: {rows[0][0][2]} and others are names of nodes, and no factor"
        else:
            for (_, _, text), parsed in rows:
                parsed.add_rest(text)
            yield f"{place}: {rows[0][0][2]!r} is not what outputs state as {name}, and is not used"


def _are_hosts(rows: Sequence[Row]) -> bool:
    """Tell whether ``node-12`` names a node on which a program ran alone, and counts nothing."""
    known = {_known(draft, "nodes") for draft, *_ in rows}
    named = all(re.fullmatch(r"(?i:node)[-_]?\d+", text) for *_, text in rows)
    return 1 in known <= {1, None} and named and len({value for _, value, _ in rows}) > _FEW


def _from_hosts(members: Sequence[Draft]) -> Iterator[str]:
    """Name the groups of hosts that names of files or folders state, ``bigmem001`` next to ``cn080``."""
    places: dict[str, list[Row]] = defaultdict(list)
    for draft in members:
        for at, parsed in enumerate(draft.names):
            if parsed.host and draft.value("node_list") is None:
                places[draft.place(at)].append((draft, host_pattern([parsed.host]), parsed.host))
    for place, rows in places.items():
        if len({value for _, value, _ in rows}) > 1:
            yield from _add(place, "host_group", rows, "")


def _keep_others(name: str, rows: Sequence[tuple[Row, ParsedName]], members: Sequence[Draft]) -> None:
    """Keep words for a factor that is known already, where runs that agree in it differ in the word.

    A file for all runs that states one processor, where folders name several, is not that of their nodes.
    """
    if name not in _WORDED:
        return
    said = {id(draft): value for (draft, value, _), _ in rows}
    levels: dict[str, set[Any]] = defaultdict(set)
    for draft in members:
        if name in draft.facts:
            levels[str(draft.value(name))].add(said.get(id(draft), ""))
    for (draft, value, text), parsed in rows:
        known = draft.facts.get(name)
        if known is None or len(levels[str(known.value)]) < 2 or known.value == value:
            continue
        if name in ("cpu", "interconnect") and draft.is_beside(name):
            draft.facts.pop(name)
        else:
            parsed.add_rest(text)


def _denied(name: str, place: str, rows: Sequence[Row]) -> Iterator[str]:
    """Name a word that another part of the same path denies, as ``no-efa`` does of ``efa``."""
    above = ((draft.facts.get(name), value) for draft, value, _ in rows)
    pairs = Counter(
        (known.value, value) for known, value in above if known and known.where.startswith("path")
    )
    for (known, level), many in pairs.items():
        if f"no-{known}" == level or f"no-{level}" == known:
            runs = counted(many, "run")
            yield f"{place}: {level} contradicts {known} in the paths of {runs}: check it"


def _add(place: str, name: str, rows: Iterable[Row], why: str) -> Iterator[str]:
    """Add a factor's values, unless outputs contradict them."""
    levels: dict[str, str] = {}
    for draft, value, text in rows:
        if not draft.contradicts(name, value, text) and name not in draft.facts:
            draft.facts[name] = Sourced(value, f"path: {text}")
            levels[str(value)] = text
        elif more := other_builds(str(value), str(draft.value(name))) if _may_add(draft, name) else "":
            draft.append(name, more, f"path: {text}", " ")
            levels[more] = text
    if levels:
        yield f"{place}: {name} is {listed(levels)}{why}"


def _may_add(draft: Draft, name: str) -> bool:
    """Tell whether a path may say more of a fact: of a compiler that modules name, but nothing by hand."""
    return name == "build" and draft.facts[name].where not in ("--set", "--table")


def _meaning(name: str, rows: Sequence[Row]) -> str:
    """Return the factor that a word's numbers are in most outputs; the word's own if outputs state none."""
    if name == "target_time":
        took = [(draft.value("benchmark_time"), value) for draft, value, _ in rows]
        near = [asked / _PLAN <= one <= asked * _PLAN for one, asked in took if one]
        return name if not near or sum(near) * 2 > len(near) else ""
    if name not in COUNTS:
        return name
    own = [_known(draft, name) == value for draft, value, _ in rows if _known(draft, name) is not None]
    few = len(own) < 4 and not (name == "ranks" and all(draft.value("pair") for draft, *_ in rows))
    if few or sum(own) * 2 > len(own):
        return name
    others = ("ranks_per_node",) if name == "ranks" else ("ranks",) if name == "ranks_per_node" else ()
    return next((other for other in others if _confirmed(other, rows)), "")


def _known(draft: Draft, name: str) -> Any:
    ranks, nodes = draft.certain("ranks"), draft.certain("nodes")
    if name == "ranks" and ranks is None and draft.value("pair"):
        return PAIR
    if name == "ranks_per_node" and draft.certain(name) is None and ranks and nodes:
        return ranks / nodes
    return draft.certain(name)


def _confirmed(name: str, rows: Iterable[Row]) -> float:
    """Return the share of the outputs that state a factor in which it has these values, 0 if not in most."""
    known = [(_known(draft, name), value) for draft, value, *_ in rows]
    stated = [one == value for one, value in known if one is not None]
    share = sum(stated) / len(stated) if stated else 0.0
    return share if share >= _MOSTLY else 0.0


def _factor_of(rows: Iterable[BareNumber]) -> str:
    """Return the count that most outputs confirm numbers to be, the first of several; empty if none."""
    given = [row[:3] for row in rows]
    shares = {one: _confirmed(one, given) for one in COUNTS}
    best = max(COUNTS, key=lambda one: shares[one])
    return best if shares[best] else ""


def _numbers(members: Sequence[Draft]) -> dict[tuple[str, str], list[BareNumber]]:
    """Group numbers without a word by their place in a name."""
    found: dict[tuple[str, str], list[BareNumber]] = defaultdict(list)
    for draft in members:
        for at, parsed in enumerate(draft.names):
            for nth, (value, text, word) in enumerate(parsed.vague):
                number = BareNumber(draft, value, text, parsed, nth, len(parsed.vague))
                found[draft.place(at), word].append(number)
    return found


def _by_form(place: str, rows: Sequence[BareNumber]) -> dict[Spot, list[BareNumber]]:
    """Group numbers by how many numbers their names have: `16-256-1` is another form than `16-1`."""
    out: dict[Spot, list[BareNumber]] = defaultdict(list)
    for row in rows:
        out[place, row.nth, row.of].append(row)
    return out


def _confirmed_spots(applications: Iterable[Sequence[Draft]]) -> dict[Spot, tuple[str, set[int]]]:
    """Return what outputs of any application confirm a number of a name to be, and which numbers they are.

    Each form is confirmed by its own outputs: `64-iter-1` does not say what 14 is in `64n-14-iter-1`.
    """
    out: dict[Spot, tuple[str, set[int]]] = {}
    for members in applications:
        for (place, _), rows in _numbers(members).items():
            for spot, part in _by_form(place, rows).items():
                several = spot[2] > 1 and len(levels := {row.value for row in part}) > 1
                if several and (name := _factor_of(part)):
                    out.setdefault(spot, (name, levels))
    return out


def _from_numbers(members: list[Draft], elsewhere: Mapping[Spot, tuple[str, set[int]]]) -> Iterator[str]:
    """Decide what numbers without a word mean: what outputs state, else nothing.

    An output that states nothing is read as those of other applications with names of the same form.
    """
    left: list[tuple[str, list[BareNumber], list[int]]] = []
    # What `n` counts is surer than what `size` is.
    for (place, word), rows in sorted(_numbers(members).items(), key=lambda item: item[0][1][:1] == "s"):
        if re.search("core|cpu", word):
            rows, name = [row for row in rows if not _are_cores(row)], ""
            if rows and all(row.draft.value("ranks") is None for row in rows):
                yield from _add(place, "ranks", (row[:3] for row in rows), ", one for each core")
                rows = []
            left += [(place, part, [row.value for row in rows]) for part in _by_form(place, rows).values()]
            continue
        name, why = _factor_of(rows), ", as outputs state"
        # Another part of the path may state the same by a word.
        if not name and any(all(row.draft.value(one) == row.value for row in rows) for one in COUNTS):
            continue
        if not name and word[:1] in ("n", "s") and _could_be_nodes(rows, sized=word[:1] == "s"):
            name, why = "nodes", ", which no output states"
        if name:
            # What a size counts is a guess too, which an output that states another number disproves.
            meant, rows = _meant(name, rows) if word.isdecimal() or word[:1] == "s" else (rows, [])
            yield from _add(place, name, (row[:3] for row in meant), why)
        for spot, part in _by_form(place, rows).items():
            name, levels = elsewhere.get(spot, ("", set()))
            unstated = all(row.draft.value(name) is None for row in part)
            if name and unstated and {row.value for row in part} <= levels:
                why = ", as outputs of other applications state"
                yield from _add(place, name, (row[:3] for row in part), why)
            else:
                left.append((place, part, [row.value for row in rows]))
    for place, part, every in left:
        if _follows_ranks(part):
            numbers = listed({row.text: row.text for row in part})
            yield f"{place}: {numbers} change with the number of ranks, and are not used{_asked(part)}"
        else:
            _order_repeats(part, every)


def _are_cores(row: BareNumber) -> bool:
    """Tell whether a number is that of the cores that a run used, together or on each node."""
    threads = row.draft.value("threads") or 1
    ranks = [row.draft.value(name) for name in ("ranks", "ranks_per_node")]
    return row.value in {one * many for one in ranks if one for many in (1, threads)}


def _follows_ranks(rows: Sequence[BareNumber]) -> bool:
    """Tell whether each number has its own number of ranks: it distinguishes no runs that ranks do not."""
    pairs = {(row.value, row.draft.value("ranks")) for row in rows}
    ranks = {one for _, one in pairs}
    return None not in ranks and len(pairs) == len(ranks) == len({one for one, _ in pairs}) > 1


def _meant(name: str, rows: Sequence[BareNumber]) -> tuple[list[BareNumber], list[BareNumber]]:
    """Split numbers into those that are the factor, and other things: `intel-2018` is no `scale-16`.

    A number is another thing if its output states another one, or states none and no name of its form is
    confirmed.
    """
    known = [(row, _known(row.draft, name)) for row in rows]
    sure = {(row.nth, row.of) for row, one in known if one == row.value}
    meant: list[BareNumber] = []
    others: list[BareNumber] = []
    for row, one in known:
        fits = one == row.value or (one is None and (row.nth, row.of) in sure)
        (meant if fits else others).append(row)
    return meant, others


def _could_be_nodes(rows: Sequence[BareNumber], *, sized: bool) -> bool:
    """Tell whether numbers can be nodes; what is called a size only if all have the same ranks per node."""
    ranks = [(_known(row.draft, "ranks"), row.value) for row in rows]
    if any(_known(row.draft, "nodes") is not None or row.value < 1 for row in rows):
        return False
    if sized:
        each = {one / value if one else 0.0 for one, value in ranks}
        return len({value for _, value in ranks}) > 1 and len(each) == 1 and each.pop() in range(2, 1025)
    return all(one is None or one % value == 0 for one, value in ranks)


def _asked(rows: Sequence[BareNumber]) -> str:
    """Ask whether numbers are nodes, if all would have the same ranks on each."""
    if not _could_be_nodes(rows, sized=True):
        return ""
    each = _known(rows[0].draft, "ranks") // rows[0].value
    return f"; if they are nodes with {each} ranks each, say so by --pattern"


def _order_repeats(rows: Sequence[BareNumber], every: Sequence[int]) -> None:
    """Let small numbers that count from 0 or 1 order the repeats, and others distinguish runs.

    Two numbers count only if `every` one in their place does, whatever the form of the name: `0_5` is a half.
    A number that goes with a stated repetition counts as well: `35-iter-1`, `36-iter-2`. That of `r2` may be
    ranks, unless all outputs state these.
    """
    values = sorted({row.value for row in rows})
    counts = len(values) > 2 and _counting(values, len(rows))
    counts = counts or _counting(sorted(set(every)), len(every)) or _follows_repeats(rows)
    ranks = (row for row in rows if row.text.strip("-_. ")[:1].lower() == "r")
    counts &= all(row.draft.value("ranks") is not None for row in ranks)
    for row in rows:
        if counts:
            row.draft.add({"repeat": row.value}, f"path: {row.text}")
        else:
            row.name.add_rest(row.text)


def _follows_repeats(rows: Sequence[BareNumber]) -> bool:
    """Tell whether numbers are as far apart as the stated repetitions, in most folders that have several.

    In the others something was repeated once more: each of their numbers still has one run, as a job's.
    """
    folders: dict[str, list[tuple[int, Any]]] = defaultdict(list)
    for row in rows:
        stated = [one.values["repeat"][0] for one in row.draft.names if "repeat" in one.values]
        folders[row.draft.run.main.file.folder].append((row.value, stated[0] if stated else None))
    steady = []
    for found in folders.values():
        if any(repeat is None for _, repeat in found):
            return False
        if len(set(found)) < 2:
            continue
        steady.append(len({value - repeat for value, repeat in found}) == 1)
        if not steady[-1] and len({value for value, _ in found}) < len(found):
            return False
    return sum(steady) * 2 > len(steady)


def _counting(values: Sequence[int], runs: int) -> bool:
    """Tell whether numbers count executions: 0 or 1 and on without a gap, or each once and close together.

    Powers of two are sizes of something.
    """
    if values[0] in (0, 1) and list(values) == list(range(values[0], values[0] + len(values))):
        return True
    powers = all(value & (value - 1) == 0 for value in values)
    return len(values) == runs > 2 and not powers and values[-1] - values[0] < 4 * runs


def _from_siblings(members: list[Draft]) -> Iterator[str]:
    """Read unknown names as clusters in a place where names of systems are in other paths."""
    systems: dict[str, set[str]] = defaultdict(set)
    for draft in members:
        for at, parsed in enumerate(draft.names):
            if "cluster" in parsed.values:
                systems[draft.place(at)].add(str(parsed.values["cluster"][0]))
    for place in [place for place, found in systems.items() if len(found) > 1]:
        rows: list[Row] = []
        found: list[tuple[Draft, ParsedName]] = []
        for draft in members:
            here = [one for at, one in enumerate(draft.names) if draft.place(at) == place]
            for one in here if "cluster" not in draft.facts else ():
                # A word of a CPU alone is a system, too: there is one called Grace.
                if "cpu" in one.values and not one.rest and "cluster" not in one.values:
                    one.add_rest(one.values.pop("cpu")[1])
                    if "cpu" in draft.facts and draft.facts["cpu"].where.startswith("path"):
                        draft.facts.pop("cpu")
                if one.rest and "cluster" not in one.values:
                    found.append((draft, one))
        # A name that is there alone is the cluster of longer ones: Elm, Elm-patched.
        alone = {one.rest for _, one in found}
        for draft, one in found:
            words = one.rest.split("-")
            starts = ("-".join(words[:at]) for at in range(1, len(words)))
            name = next((start for start in starts if start in alone), one.rest)
            one.rest = one.rest.removeprefix(name).strip("-")
            rows.append((draft, name, name))
        yield from _add(place, "cluster", rows, ", as other names there are systems")


def _state_problems(members: Sequence[Draft]) -> Iterator[str]:
    """Take what other facts state out of the names in problems: a project may be called after its cores."""
    found: dict[str, str] = {}
    for draft in members:
        known = draft.facts.get("problem")
        if known is not None and (text := plain_problem(draft)) != known.value:
            draft.facts["problem"] = known._replace(value=text)
            found.setdefault(str(known.value), text)
    if found:
        was, now = next(iter(found.items()))
        yield f"the problem is {now}; what else is in {was!r} is stated by other facts"

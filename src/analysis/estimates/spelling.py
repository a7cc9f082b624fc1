"""How sentences, tables and axes spell levels, places, measures and numbers: never by an identifier."""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, Self

import numpy as np
import pandas as pd

from analysis.base.models import one_or_more
from analysis.base.words import Level, counted, in_order, percent, significant
from analysis.estimates.campaign import Campaign
from analysis.estimates.finding import DAY, HOST, ORDER, Confounded, Finding, Remark, varying
from analysis.estimates.measures import MEASURES
from analysis.estimates.question import Question
from analysis.schema.factors import BY_NAME, FOLLOWS, SPOKEN, display_name, label, labelled, level_name

Stratum = Mapping[str, Level]

_LISTED = 3  # levels are listed up to so many
_MEASURES = {
    "figure_of_merit": "rate", "elapsed": "time", "application_time": "time by the application",
    "throughput": "rate of all jobs", "energy_per_job": "energy of a job",
    "jobs_per_day": "number of jobs per day", "mpi_fraction": "share of MPI", "mpi_time": "MPI time",
    "call_share": "share of the MPI time", "count_share": "share of the calls",
    "size_share": "share of the messages", "bytes_per_call": "bytes per call",
    "node_memory_slurm": "memory of a node", "rank_memory": "memory of a rank",
    "rank_bytes": "data that a rank hands to MPI", "message_count": "number of messages",
}  # fmt: skip


class Answer(Protocol):
    """The parts of a `sentences.Statement` that modules of sentences read."""

    @property
    def question(self) -> Question:
        """What is asked."""

    @property
    def found(self) -> Sequence[Finding]:
        """What was found, one for each stratum."""

    @property
    def campaign(self) -> Campaign:
        """Whose runs answer."""

    @property
    def unit(self) -> str:
        """The unit of the value, empty for that of the measure."""

    @property
    def decided(self) -> bool:
        """Whether there are runs enough for a conclusion."""

    @property
    def levels(self) -> list[Level]:
        """The campaign's own levels that are compared, the first of each side."""

    @property
    def names(self) -> list[str]:
        """What these levels are called."""

    @property
    def compared(self) -> list[Level]:
        """All of the campaign's own levels that are compared."""

    @property
    def given(self) -> Mapping[str, Any]:
        """The campaign's own levels of each factor."""

    @property
    def places(self) -> list[str]:
        """The factors that the sentence names."""

    @property
    def place(self) -> str:
        """Where the answer holds."""

    @property
    def application(self) -> str:
        """What the application is called."""

    def of(self, finding: Finding) -> Self:
        """Return the same answer of one stratum alone."""
        ...


def measure_name(variable: str) -> str:
    """Name a measure as axes and sentences do."""
    return _MEASURES.get(variable, variable.replace("_", " "))


# ---- levels and places


def display(campaign: Campaign, factor: str, level: Level) -> str:
    """Name a level: by the campaign's `names`, a case as a report spells it, else as the field does.

    Where every job had one node, its ranks per node are its ranks.
    """
    if given := campaign.own_name(factor, level):
        return given
    for name, one in campaign.stand_ins.get("case", {}).items() if factor == "case" else ():
        if one.distance == "same" and one_or_more(one.is_) == [level]:
            return name
    if factor == "ranks_per_node" and campaign.on_one_node:
        factor = "ranks"
    return campaign.application_name(str(level)) if factor == "application" else display_name(factor, level)


def own_name(campaign: Campaign, factor: str, level: Level) -> str:
    """Name a level by the campaign's `names`, else as the data do, a number with its unit."""
    return campaign.own_name(factor, level) or level_name(factor, level)


def noun(campaign: Campaign, factor: str, level: Level) -> str:
    """Name a level as what a sentence is about: ``2 nodes``, ``runs of 45 s``, ``build -O3``."""
    known, name = BY_NAME.get(factor), display(campaign, factor, level)
    if (factor, level) == ("profiler", "none"):
        return "a run without a profiler"
    if known is None or not name:
        return name or f"no {label(factor)} stated"
    return (known.subject or (known.level if not known.numeric else "{}")).format(name)


def plural(factor: str, level: Level) -> bool:
    """Tell whether the noun of a level is a plural."""
    known = BY_NAME.get(factor)
    return (known is not None and known.plural) or (not isinstance(level, str) and level != 1)


def listed(names: Sequence[str], last: str = "and") -> str:
    """List names: ``a``, ``a and b``, ``a, b and c``."""
    return f"{', '.join(names[:-1])} {last} {names[-1]}" if len(names) > 1 else "".join(names)


def alternatives(names: Sequence[str]) -> str:
    """List alternatives: ``a``, ``a or b``, ``a, b or c``."""
    return listed(names, "or")


def slug(*parts: Level) -> str:
    """Make an id that a claim may have: ``vm-hpcg-interconnect-veth-open``."""
    words = (part if isinstance(part, str) else f"{part:g}" for part in parts)
    return re.sub(r"[^a-z0-9]+", "-", " ".join(words).lower()).strip("-")


def place(campaign: Campaign, factor: str, levels: Sequence[Level]) -> str:
    """Say where something holds: ``at 16³ and 32³``, ``on 1 to 16 nodes (5 of them)``, ``over 1GbE``."""
    known = BY_NAME[factor]
    before = known.before
    if factor == "profiler" and list(levels) == ["none"]:
        return "without a profiler"
    if factor == "case" and all(str(one).startswith("osu") for one in levels):
        before = "in"
    ordered = in_order(level for level in levels if nameable(level))
    if not ordered:
        return f"in runs that state {_unstated(campaign, factor)}"
    names = list(dict.fromkeys(display(campaign, factor, one) for one in ordered))
    if len(names) > 1 and not any(isinstance(one, str) for one in ordered):
        numbers = [f"{one:g}" for one in ordered if not isinstance(one, str)]
        word = names[-1].partition(" ")[2]
        many = f"{numbers[0]} to {numbers[-1]} {word} ({len(numbers)} of them)"
        return f"{before} {many if len(numbers) > _LISTED else f'{listed(numbers)} {word}'}".rstrip()
    if len(names) > _LISTED:
        return f"{before if ' ' not in before else 'with'} {known.every} ({len(names)})"
    after = known.level.removeprefix("{}") if known.level.startswith("{} ") and not known.numeric else ""
    return f"{before} {listed(names)}{after}"


def _unstated(campaign: Campaign, factor: str) -> str:
    """Name what runs do not state, ``no build``; of options their name, if other runs state a single one."""
    if factor == "options":
        stated = (str(level) for level in campaign.runs["options"].unique() if nameable(level))
        names = {re.sub(r"=.*", "", level) for level in stated}
        if len(names) == 1 and " " not in (name := names.pop()):
            return f"no {name}"
    return f"no {label(factor)}"


def where(campaign: Campaign, given: Mapping[str, Any], names: Collection[str]) -> str:
    """Say where something holds, by the levels of some factors: ``at 16³, on 2 nodes``; empty without any."""
    chosen = {
        name: one_or_more(given[name])
        for name in SPOKEN
        if name in names and name in given and not isinstance(given[name], Mapping)
    }
    # Nobody says how runs are meant to be, and more ranks follow from more nodes.
    plain = {"concurrent_jobs": [1], "profiler": ["none"]}
    chosen = {name: levels for name, levels in chosen.items() if levels != plain.get(name)}
    if 1 < len(chosen.get("ranks", ())) == len(chosen.get("nodes", ())):
        del chosen["ranks"]
    silent = [name for name, levels in chosen.items() if levels == [""]]
    words = [place(campaign, name, levels) for name, levels in chosen.items() if name not in silent]
    if silent:
        words.append(f"in runs that state {listed([_unstated(campaign, name) for name in silent])}")
    return ", ".join(words)


def within(campaign: Campaign, given: Mapping[str, Any], names: Collection[str]) -> str:
    """Name the application and the conditions: ``in HPCG, at 16³``."""
    application = [display(campaign, "application", one) for one in one_or_more(given.get("application", []))]
    model = {"modelled": "the model of ", "simulated": "the simulation of "}.get(campaign.evidence, "")
    text = f"in {model}{listed(application)}" if application else ""
    return ", ".join(filter(None, (text, where(campaign, given, names))))


def nameable(level: Level) -> bool:
    """Tell whether a level is known, so that a sentence or a claim can name it."""
    return level not in ("", -1) and level == level


def plain(level: Any) -> Level:
    """Return a level as YAML has it: no number of numpy's, and whole where it is."""
    value: Level = level.item() if isinstance(level, np.generic) else level
    return int(value) if isinstance(value, float) and value.is_integer() else value


def stratum_names(campaign: Campaign, strata: Sequence[Stratum]) -> tuple[list[str], list[str]]:
    """Return the factors that distinguish strata, and each stratum's name by its levels of them."""
    names = differing(strata)
    return names, [
        ", ".join(display(campaign, name, one[name]) for name in names if nameable(one[name]))
        for one in strata
    ]


def differing(universe: Sequence[Stratum]) -> list[str]:
    """Return the factors that distinguish strata, as a sentence lists them; none that adds nothing."""
    return distinguishing(universe, [name for name in SPOKEN if universe and name in universe[0]])


def distinguishing(strata: Sequence[Mapping[str, Level]], factors: Iterable[str]) -> list[str]:
    """Choose factors, in their order, that each distinguish strata which those before it do not."""
    chosen: list[str] = []
    keys: set[tuple[str, ...]] = {()}
    for factor in factors:
        more = {tuple(str(stratum[each]) for each in (*chosen, factor)) for stratum in strata}
        if len(more) > len(keys):
            chosen, keys = [*chosen, factor], more
    return chosen


def strata_names(found: Sequence[Mapping[str, Level]], campaign: Campaign | None = None) -> list[str]:
    """Name strata by the factors in which they differ, leaving out those that follow from another.

    Levels have the names that the campaign gives them, if there is one.
    """
    differing = [f for f in found[0] if len({stratum[f] for stratum in found}) > 1]
    follow = {name for factor in differing for name in FOLLOWS.get(factor, ())}
    chosen = distinguishing(found, [factor for factor in differing if factor not in follow])
    return [
        ", ".join(
            (campaign.own_name(f, stratum[f]) if campaign else "") or labelled(f, stratum[f]) for f in chosen
        )
        for stratum in found
    ]


# ---- strata described by a selection that fits them and no others


def regions(universe: Sequence[Stratum], chosen: Sequence[int]) -> Iterator[tuple[dict[str, Any], list[int]]]:
    """Describe chosen strata of all by selections: each with the positions of the strata that it fits.

    A selection has a level, or a list of them, of each factor in which the strata differ. Where the levels of
    the chosen strata would fit others as well, these are split along the first factor in which they
    differ. What no selection can name, a blank, is left out.
    """
    yield from _split(universe, list(chosen), differing(universe))


def _split(
    universe: Sequence[Stratum], chosen: list[int], names: Sequence[str]
) -> Iterator[tuple[dict[str, Any], list[int]]]:
    select = {name: in_order({plain(universe[at][name]) for at in chosen}) for name in names}
    select = {name: levels for name, levels in select.items() if all(map(nameable, levels))}
    fits = [at for at, one in enumerate(universe) if all(one[name] in own for name, own in select.items())]
    if sorted(fits) == sorted(chosen):
        yield {name: one[0] if len(one) == 1 else one for name, one in select.items()}, chosen
        return
    by = next((name for name, levels in select.items() if len(levels) > 1), "")
    for level in select.get(by, ()):
        yield from _split(universe, [at for at in chosen if universe[at][by] == level], names)


def pinned(runs: pd.DataFrame, strata: Sequence[Stratum], moving: Collection[str]) -> dict[str, Level]:
    """Select, for factors that vary between runs, the levels that all strata share, as a claim's conditions.

    `moving` are factors that are compared, or change with them.
    """
    found: dict[str, Level] = {}
    differ = set(varying(runs, SPOKEN))
    for name in SPOKEN:
        levels = {plain(stratum[name]) for stratum in strata if name in stratum}
        if name in moving or len(levels) != 1 or not all(map(nameable, levels)):
            continue
        leader = BY_NAME[name].follows
        if leader in found and runs.loc[runs[leader] == found[leader], name].nunique() < 2:
            continue
        # As many ranks on as many nodes have as many ranks per node.
        if name in differ and not (name == "ranks_per_node" and "ranks" in found):
            found[name] = next(iter(levels))
    return found


# ---- what changed together

_APART = {
    DAY: "all of {0} was measured on another day",
    ORDER: "{0} and {1} ran one after the other",
    HOST: "{0} and {1} mostly ran on different hosts",
}
_COUNTS = (
    "", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip


def either(causes: Sequence[str]) -> str:
    """Name several possible causes: ``the link or the MPI library``."""
    other = {ORDER: "order", HOST: "hosts"}
    names = [f"the {'number of ' * _counts(one)}{other.get(one) or label(one)}" for one in causes]
    return alternatives(names)


def untold(causes: Sequence[str]) -> str:
    """Say that runs cannot separate several possible causes."""
    return f"these runs cannot tell whether {either(causes)} is the cause"


def _counts(factor: str) -> bool:
    return factor in BY_NAME and BY_NAME[factor].dtype == "i4"


def kept_apart(names: Sequence[str], causes: Sequence[str]) -> list[str]:
    """Say how the runs of the two sides were kept separate."""
    return [text.format(*names) for cause, text in _APART.items() if cause in causes and len(names) == 2]


def remarked(campaign: Campaign, factor: str, what: str, found: Sequence[tuple[Remark, str]]) -> list[str]:
    """Say what is odd about runs, of each kind the worst and in which runs; `what` was measured."""
    worst: dict[str, tuple[Remark, str]] = {}
    for one in sorted(found, key=lambda pair: -_size(pair[0])):
        worst.setdefault(one[0].kind, one)
    named = ((noun(campaign, factor, one.level), one, there) for one, there in worst.values())
    return [_remark(f"{name} {there}".strip(), what, one) for name, one, there in named]


def _size(one: Remark) -> float:
    return abs(math.log(one.value) if one.kind == "far" else one.value)


def _remark(name: str, what: str, one: Remark) -> str:
    if one.kind == "drift":
        span = counted(round(one.days), "day") if one.days >= 1.5 else counted(round(one.days * 24), "hour")
        way = "rose" if one.value > 0 else "fell"
        return f"the {what} of {name} {way} by {percent(abs(one.value))} over {span}"
    if one.kind == "days":
        return f"most of {name} was measured on other days"
    farthest = "as little as" if one.value < 1 else "up to"
    runs = f"one run of {name} is at" if one.count == 1 else f"{one.count} runs of {name} are at {farthest}"
    return f"{runs} {significant(one.value, 2)} times the median"


def in_cell(campaign: Campaign, name: str, mixed: Confounded, cell: Stratum) -> str:
    """Name a level with those that changed with it: ``Open MPI 4 over 25GbE``."""
    others = [one for one in mixed.causes if one in BY_NAME and one != mixed.factor]
    return " ".join([name, *(place(campaign, one, [plain(cell[one])]) for one in others)])


# What a cluster is made of: no run has the levels of one cluster on another.
_OF_CLUSTERS = ("cpu", "dimm", "host_group")


def needed(campaign: Campaign, mixed: Confounded) -> str:
    """Say which runs would tell: ``six runs of each in mixed order would tell``.

    Nothing of a processor in another cluster: a cluster has the processors that it has.
    """
    if "cluster" in mixed.causes and mixed.factor in _OF_CLUSTERS:
        return ""
    count = _COUNTS[mixed.repeats] if mixed.repeats < len(_COUNTS) else f"{mixed.repeats:,}"
    same = " on the same hosts" if HOST in mixed.causes else ""
    if not mixed.missing:
        return f"{count} runs of each in mixed order{same} would tell"
    names = [
        in_cell(campaign, noun(campaign, mixed.factor, plain(cell[mixed.factor])), mixed, cell)
        for cell in mixed.missing
    ]
    each = " each" if len(names) > 1 else ""
    return f"{count} runs{each} of {listed(names)}, mixed with {count} of each side{same}, would tell"


# ---- how one level is ahead of another

# Singular, plural, and what follows how many times.
_Verb = tuple[str, str, str]
_FAST: _Verb = ("is", "are", "as fast as")
_RATE: _Verb = ("reaches", "reach", "the rate of")
_PER_KWH: _Verb = ("does", "do", "as many jobs per kWh as")
_AHEAD: Mapping[str, _Verb] = {
    **dict.fromkeys(("figure_of_merit", "elapsed", "application_time", "benchmark_time", "latency"), _FAST),
    **dict.fromkeys(("energy", "energy_per_job"), _PER_KWH),
    "bandwidth": ("carries", "carry", "as much as"),
    "throughput": ("does", "do", "the work of"),
    "jobs_per_day": ("does", "do", "as many jobs per day as"),
}


def _verb(variable: str, factor: str) -> _Verb:
    if factor in ("case", "target_time"):  # another amount of work: a rate, and no speed
        return _RATE
    return _AHEAD.get(variable, ("has", "have", f"the {measure_name(variable)} of"))


def phrase(variable: str, factor: str = "") -> str:
    """Return what follows "so many times": ``as fast as``, ``the MPI time of``."""
    return _verb(variable, factor)[2]


def wins(variable: str) -> bool:
    """Tell whether a ratio says how many times better a level is; else it says how much more it takes."""
    return variable in _AHEAD or MEASURES[variable].higher_is_better


def ahead(
    variable: str,
    factor: str,
    levels: tuple[Level, Level],
    names: tuple[str, str],
    times: str,
    *,
    rate: bool = False,
) -> str:
    """Say that the first level is ahead of the second, so many times: ``a is 1.2 times as fast as b``.

    With `rate` it reaches so many times the rate: it did more work. If a measure is not a speed and less is
    better, the level that takes more comes first.
    """
    if not wins(variable):
        levels, names = levels[::-1], names[::-1]
    one, several, what = _RATE if rate and variable == "figure_of_merit" else _verb(variable, factor)
    text = f"{names[0]} {several if plural(factor, levels[0]) else one} {times} times {what} {names[1]}"
    return f"{text}, node for node," if factor == "cluster" else text

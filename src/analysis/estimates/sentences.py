"""Sentences: every computed answer in words, the winner first, by how much, and where.

Verdicts, findings, pages, slides and the scoreboard word their answers here, so that one answer has one
sentence with one value, one interval and one level. An interval is given wherever there is one, with its
level where that is below 95 %; what is called clear rests on one of at least 85 %, as verdicts do.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from analysis.base.models import OF_DRAWS, one_or_more
from analysis.base.words import Level, attached, binary_size, capitalised, in_order, percent, significant
from analysis.estimates import amounts, scaling
from analysis.estimates.campaign import Campaign
from analysis.estimates.differences import MARGIN
from analysis.estimates.finding import LIMITED, Confounded, Finding, days_said, measuring_days, varying
from analysis.estimates.groups import measured, strata
from analysis.estimates.measures import MEASURES, TIMES
from analysis.estimates.numerals import display_unit, spell, spell_all
from analysis.estimates.question import Question
from analysis.estimates.ratios import in_margin, inverse, side, upright
from analysis.estimates.spelling import (
    Stratum,
    ahead,
    alternatives,
    differing,
    display,
    in_cell,
    kept_apart,
    listed,
    measure_name,
    nameable,
    needed,
    noun,
    phrase,
    place,
    plain,
    plural,
    remarked,
    untold,
    where,
    within,
)
from analysis.estimates.stats import Estimate
from analysis.schema.factors import BY_NAME, SPOKEN, label

_MAIN = ("case", "nodes", "interconnect")  # are named wherever runs differ in them
# Settings that some runs state and others do not: what holds without them need not hold with them.
_SETTINGS = ("tuning", "build", "options")


# ---- answers


@dataclass(frozen=True)
class Statement:
    """What a campaign answers to a question, in words.

    `found` are its findings, one a stratum; `unit` is that of the values, where it is not the measure's own.
    `decided` is false where a search has tested so much that what looks clear is not, `brief` leaves out
    where it holds.
    """

    question: Question
    found: Sequence[Finding]
    campaign: Campaign
    unit: str = ""
    decided: bool = True
    brief: bool = False

    @property
    def sentence(self) -> str:
        """The answer as a sentence without its full stop."""
        return ". ".join((self.clause, *self.caveats))

    @cached_property
    def clause(self) -> str:
        """The first sentence of the answer: its numbers, without what they may be due to."""
        text = " ".join(_SENTENCES[self.question.quantity](self).split()).replace(" ,", ",")
        # What is not clear is not clear in any session.
        limits = [one.session for one in self.found if one.session]
        if limits and not text.startswith("there "):
            text = _limited(text, LIMITED[limits[0]][0])
        return _begun(text)

    @property
    def row(self) -> str:
        """The answer in a line: its two sides if nothing is clear, else its numbers without an interval."""
        clause = self.clause
        if clause.startswith("There ") and len(self.names) == 2:
            return _begun(f"{' or '.join(self.names)} {self.place}".replace(" ,", ","))
        return _TAIL.sub("", clause)

    @property
    def confounded(self) -> Sequence[Confounded]:
        """What changed together with the levels that are compared, where it did."""
        return [one.confounded for one in self.found if one.confounded]

    @property
    def caveats(self) -> list[str]:
        """What else changed with the levels, and which runs would tell; what is odd about the runs."""
        asked = self.question
        found = [one.confounded for one in self.found if one.confounded and one.estimate.settles]
        base = self.found[0].base
        what = "time" if base and base[1] in TIMES else measure_name(asked.variable)
        odd = [(remark, self.distinguished(one)) for one in self.found for remark in one.remarks]
        notes = remarked(self.campaign, asked.compare.factor, what, odd) if asked.compare else []
        notes = [capitalised(text) for text in [*self._details, *notes]]
        if not found or not self.decided:
            return notes
        some = f"in {len(found)} of {len(self.found)} comparisons " * (len(found) < len(self.found))
        causes = tuple(dict.fromkeys(cause for one in found for cause in one.causes))
        clear = all(side(upright(asked.quantity, one.estimate)) for one in self.found if one.confounded)
        words = [f"{some}{untold(causes)}", *kept_apart(self.names, causes)]
        words += [needed(self.campaign, max(found, key=lambda one: one.repeats))] if clear else []
        return [*map(capitalised, filter(None, words)), *notes]

    @property
    def _details(self) -> list[str]:
        """Where a clear difference is the largest, and the efficiency of a scaling."""
        asked = self.question
        ratios = [upright(asked.quantity, one.estimate) for one in self.found]
        sides = {side(one) for one in ratios}
        told = asked.quantity in _RATIOS and self.decided and len(sides) == 1 and sides != {0}
        if not told or len(self.levels) != 2 or self.confounded:
            return []
        ratios = [one if one.value > 1 else inverse(one) for one in ratios] if -1 in sides else ratios
        return [*_most(self, ratios), *scaling.efficiency_of(self, ratios)]

    @cached_property
    def given(self) -> Mapping[str, Any]:
        """The campaign's own levels of each factor: of the strata that answer, or as they were selected."""
        found = {name: self._answering(name, wanted) for name, wanted in (self.question.select or {}).items()}
        strata = [one.stratum for one in self.found if one.stratum]
        for name in strata[0] if strata else ():
            levels = in_order({plain(one[name]) for one in strata})
            if all(map(nameable, levels)) or levels == [""]:
                found[name] = levels
        return found

    def _answering(self, factor: str, wanted: Any) -> Any:
        """Return the campaign's own levels that the runs behind the answer have: one may have several."""
        if isinstance(wanted, Mapping):
            return wanted
        levels = [own for level in one_or_more(wanted) for own in self.campaign.resolve(factor, level)]
        runs, behind = self.campaign.runs, {run for one in self.found for run in one.runs}
        seen = set(runs.loc[runs["run"].isin(behind), factor]) if len(levels) > 1 else set()
        return [level for level in levels if level in seen] or levels

    @cached_property
    def places(self) -> list[str]:
        """The factors that the sentence names: what distinguishes strata, and the main ones of the runs."""
        compare = self.question.compare
        moving = {*compare.moving, *(compare.along or ())[:1]} if compare else set()
        runs = self.campaign.valid_of(*self.given.get("application", []))
        # Where no node is counted, ranks say how large a run was.
        main = varying(runs, _MAIN if (runs["nodes"] > 0).any() else ("ranks", *_MAIN))
        apart = self._distinguishing() if self.decided else []
        main = [name for name in main if len(self.given.get(name, ())) == 1]
        main += [name for name in varying(runs, _SETTINGS) if self.given.get(name) == [""]]
        if self.given.get("nodes") == [1] and "interconnect" in main:  # on one node no link is used
            main.remove("interconnect")
        return [
            name for name in SPOKEN if name in self.given and name not in moving and name in (*main, *apart)
        ]

    def _distinguishing(self) -> list[str]:
        """Return the few factors that distinguish these strata among all in which the same could be asked."""
        universe = [{name: plain(level) for name, level in one.items()} for one in self._universe()]
        names = [name for name in differing(universe) if name in self.given]

        def meant(chosen: Sequence[str]) -> list[Stratum]:
            return [one for one in universe if all(one[name] in self.given[name] for name in chosen)]

        for name in reversed(names):
            others = [each for each in names if each != name]
            if name not in _MAIN and len(self.given[name]) == 1 and meant(others) == meant(names):
                names = others
        return names

    def _universe(self) -> list[Stratum]:
        """Return the strata in which the campaign could be asked the same, so that others are not meant."""
        asked, compare, campaign = self.question, self.question.compare, self.campaign
        strata_found = [one.stratum for one in self.found if one.stratum]
        if compare is None or campaign.evidence in OF_DRAWS:
            return strata_found
        lifted = {
            name: level
            for name, level in (asked.select or {}).items()
            if name in ("application", "profiler", "concurrent_jobs") or isinstance(level, Mapping)
        }
        moving = (*compare.moving, *(compare.along or ())[:1])
        key = ("strata", asked.variable, asked.members, str(lifted), moving)
        if key not in campaign.judged:  # many answers ask for the same
            frame = measured(replace(asked, select=lifted), campaign)
            parts = strata(frame, moving, campaign, MEASURES[asked.variable])
            campaign.judged[key] = [(stratum, set(part[compare.factor])) for stratum, part in parts]
        levels = set(self.compared)
        return [stratum for stratum, known in campaign.judged[key] if len(levels & known) > 1] or strata_found

    @property
    def place(self) -> str:
        """Where the answer holds: ``in HPCG, at 16³, on 2 nodes``; with the size of compared messages."""
        asked = self.question
        sized = asked.compare is not None and asked.variable in ("latency", "bandwidth")
        members = [one for one in asked.members if isinstance(one, int) and one >= 0]  # a barrier has no size
        sizes = [binary_size(one) for one in members] if sized else []
        text = "" if self.brief else within(self.campaign, self.given, self.places)
        return f"{text}, with messages of {listed(sizes)}" if text and sizes else text

    @property
    def application(self) -> str:
        """The name of the application."""
        names = [display(self.campaign, "application", one) for one in self.given.get("application", [])]
        return listed(names) or "a run"

    def of(self, finding: Finding) -> "Statement":
        """Return the same answer of one stratum alone."""
        return replace(self, found=[finding])

    def distinguished(self, finding: Finding) -> str:
        """Say in which of several strata a finding is; nothing of the only one."""
        names = differing([one.stratum for one in self.found])
        return where(self.campaign, {name: [plain(finding.stratum[name])] for name in names}, names)

    def own(self, level: Level | tuple[Level, ...]) -> list[Level]:
        """Return the campaign's own levels for one of the comparison's."""
        assert self.question.compare is not None
        factor = self.question.compare.factor
        each = level if isinstance(level, tuple) else (level,)
        return [plain(own) for one in each for own in self.campaign.resolve(factor, one)]

    @property
    def compared(self) -> list[Level]:
        """All of the campaign's own levels that are compared."""
        compare = self.question.compare
        assert compare is not None
        if compare.span:
            known = self.campaign.runs[compare.factor]
            return list(known[known.between(*compare.span)].unique())
        return [own for level in compare.levels for own in self.own(level)]

    @cached_property
    def levels(self) -> list[Level]:
        """The campaign's own levels that are compared, the first of each side."""
        return [self.own(level)[0] for level in self.question.compare.levels] if self.question.compare else []

    @cached_property
    def names(self) -> list[str]:
        """What the levels that are compared are called."""
        compare = self.question.compare
        if compare is None:
            return []
        out = []
        for at, level in enumerate(compare.levels):
            own = self.own(level)
            name = alternatives([*dict.fromkeys(noun(self.campaign, compare.factor, one) for one in own)])
            link = compare.where[at].get("interconnect") if len(compare.where) > at else None
            if compare.factor == "nodes" and own != [1] and link and not self.confounded:
                links = self.campaign.resolve("interconnect", link)
                name = f"{name} {place(self.campaign, 'interconnect', links)}"
            if len(compare.levels) == 2 and (mixed := self.confounded):
                name = in_cell(self.campaign, name, mixed[0], mixed[0].sides[at])
            if compare.factor == "concurrent_jobs" and own == [1]:
                name = f"{name} on as many ranks"
            if compare.factor == "ranks_per_node" and "nodes" in compare.varying:
                name = f"{name}{self._nodes_of(own)}"
            out.append(name)
        return out

    def _nodes_of(self, levels: Sequence[Level]) -> str:
        """Say on how many nodes the runs with some ranks per node were: as many ranks need more nodes."""
        runs = self.campaign.runs
        runs = runs[runs["run"].isin(run for one in self.found for run in one.runs)]
        nodes = {int(one) for one in runs.loc[runs["ranks_per_node"].isin(levels), "nodes"]} - {-1}
        return f" {place(self.campaign, 'nodes', [*nodes])}" if len(nodes) == 1 else " on as many ranks"

    @property
    def _with_it(self) -> str:
        """What else belongs to the answer: which parts of clusters differ too, which profiler it is from."""
        asked, campaign = self.question, self.campaign
        if asked.compare is None:
            if asked.variable in MEASURES and not MEASURES[asked.variable].profile:
                return ""
            by = [f"profiled by {display(campaign, 'profiler', campaign.profiler)}"] * bool(campaign.profiler)
            return ", ".join([*by, *(f"any {label(name)}" for name in campaign.pool)])
        parts = ("cluster", *BY_NAME["cluster"].parts, "ranks_per_node")
        names = [name for name in parts if name in asked.compare.varying]
        if not names or asked.compare.factor == "nodes":  # a link joins several nodes alone
            return ""
        runs = campaign.runs
        runs = runs[runs["run"].isin(run for one in self.found for run in one.runs)]
        words = []
        for name in (name for name in names if runs[name].nunique() > 1):
            levels = in_order({plain(level) for level in runs[name]})
            texts = (display(campaign, name, one) if isinstance(one, str) else f"{one:g}" for one in levels)
            words.append(f"{label(name)} {listed([text or 'not stated' for text in texts])}")
        return f"other too: {'; '.join(words)}" if words else ""

    def footnote(self, weakest: Finding) -> str:
        """Say what the answer rests on: runs, base value, level of the interval, conditions, days."""
        estimate = weakest.estimate
        words = [f"n {estimate.n}" + (f" / {estimate.n_baseline}" if estimate.n_baseline is not None else "")]
        if weakest.base:
            value, own, _ = weakest.base
            words.append(f"base {attached(significant(value, 3), display_unit(own or self.unit))}")
        if estimate.bounded:
            words.append("exact" if estimate.level == 1 else f"interval at {percent(estimate.level)}")
        elif not math.isfinite(estimate.low):
            words.append("no interval: too few runs")
        select = self.question.select or {}
        unsaid = where(self.campaign, select, [name for name in select if name not in self.places])
        rest = ", ".join(filter(None, (unsaid, self._with_it)))
        runs = self.campaign.runs
        runs = runs[runs["run"].isin(run for one in self.found for run in one.runs)]
        days = days_said(estimate)
        if len(set(measuring_days(runs))) > max(estimate.days, default=1):  # of other settings too
            days = re.sub("^all runs are", "these runs are", days)
        said = (", ".join(words), rest, days, weakest.session, self.campaign.evidence)
        return "; ".join(filter(None, said))


def _begun(text: str) -> str:
    return capitalised(text) if _CAPITALS.match(text) else text


def _limited(text: str, limit: str) -> str:
    """Say what limits a sentence, before what it has in brackets."""
    found = re.fullmatch(r"(.*?)( \([^()]*\))?", text)
    assert found is not None
    return f"{found[1]}, {limit}{found[2] or ''}"


_RATIOS = ("speedup", "gain", "reduction")
# What a row leaves out at the end of its clause.
_TAIL = re.compile(r"(?:, (?:from one value each|in runs whose order is not known))*(?: \([^()]*\))?$")
# A sentence begins with a capital letter, but for names.
_CAPITALS = re.compile(
    "(a|the|no|every|beyond|build|version|tuning|placement|memory|runs|there|these|up|reductions"
    "|(?:single|dual|quad)-rank) "
)


def _ratio(answer: Statement) -> str:
    """Word a ratio of two levels: which is ahead, how many times, where, and how sure that is."""
    asked, compare = answer.question, answer.question.compare
    assert compare is not None
    estimates = [upright(asked.quantity, one.estimate) for one in answer.found]
    first, second = answer.names
    levels = (answer.levels[0], answer.levels[1])
    if all(one.value < 1 for one in estimates):
        estimates, levels = [inverse(one) for one in estimates], levels[::-1]
        first, second = second, first
    times, sure = spell_all(estimates)
    brackets = f"({times} times, {sure})"
    if not any(one.bounded for one in estimates):
        text = f"{ahead(asked.variable, compare.factor, levels, (first, second), times)} {answer.place}"
        return f"{text}, {_of_single_runs(estimates)}"
    if not any(one.settles for one in estimates):
        return f"there are too few runs to compare {first} with {second} {answer.place} {brackets}"
    sides = [side(one) for one in estimates] if answer.decided else []
    if not any(sides) and answer.decided and not answer.confounded and _alike(answer, estimates, MARGIN):
        return _equal(answer, estimates, MARGIN)
    if not any(sides):
        between = f"between {first} and {second} {answer.place} {brackets}"
        return f"there is no clear difference {_of_what(answer)} {between}"
    if len(set(sides)) > 1:
        up, down = (f"in {sides.count(sign)} of {len(sides)} comparisons" for sign in (1, -1))
        text = f"{first} {_be(answer, first)} clearly ahead {up}, {second} {down},"
        return f"{text} {answer.place} {brackets}"
    times = {"max": "up to ", "min": "at least "}.get(asked.aggregate, "") + times
    if len(answer.confounded) == len(answer.found):  # nobody is ahead
        what = phrase(asked.variable, compare.factor).removesuffix(" as").removesuffix(" of")
        return f"{first} against {second}: {times} times {what} {answer.place} ({sure})"
    base = answer.found[0].base
    rate = scaling.scales(answer) and scaling.grows(answer) and base is not None and base[1] not in TIMES
    text = ahead(asked.variable, compare.factor, levels, (first, second), times, rate=rate)
    return f"{text} {answer.place} ({sure})"


def _be(answer: Statement, name: str) -> str:
    compare = answer.question.compare
    return "are" if compare and plural(compare.factor, answer.levels[answer.names.index(name)]) else "is"


def _of_single_runs(estimates: Sequence[Estimate]) -> str:
    if len(estimates) == 1:
        one = estimates[0]
        alone = one.n == 1 and one.n_baseline in (None, 1)
        return "from one value each" if alone else "without an interval"
    first = sum(one.value > 1 for one in estimates)
    return f"ahead in {first} of {len(estimates)} comparisons of one value each"


def _most(answer: Statement, estimates: Sequence[Estimate]) -> list[str]:
    """Say where of several strata a ratio is the largest, in a sentence of its own."""
    best = max(zip(estimates, answer.found, strict=True), key=lambda pair: pair[0].value)[1]
    there = answer.distinguished(best)
    return [f"the difference is largest {there}"] if there else []


def _equality(answer: Statement) -> str:
    """Word whether two levels are equal within the margin."""
    estimates, margin = [one.estimate for one in answer.found], answer.question.margin
    return _equal(answer, estimates, margin) if _alike(answer, estimates, margin) else _ratio(answer)


def _alike(answer: Statement, estimates: Sequence[Estimate], margin: float) -> bool:
    """Tell whether each ratio is within a margin: by the tests of two groups, and by its whole interval."""
    return all(
        (one.equivalence is None or one.equivalence.equivalent) and ratio.settles and in_margin(ratio, margin)
        for one, ratio in zip(answer.found, estimates, strict=True)
    )


def _equal(answer: Statement, estimates: Sequence[Estimate], margin: float) -> str:
    times, sure = spell_all(estimates)
    equal = f"{listed(answer.names)} are equal within {percent(margin)} {_of_what(answer)}"
    return f"{equal} {answer.place} ({times} times, {sure})"


def _of_what(answer: Statement) -> str:
    """Name the measure in which levels do not differ; of a speed nobody asks in what."""
    variable = answer.question.variable
    plain_one = variable in ("figure_of_merit", "elapsed", "application_time", "latency", "bandwidth")
    return "" if plain_one else f"in the {measure_name(variable)}"


def _efficiency(answer: Statement) -> str:
    value, sure = spell_all([one.estimate for one in answer.found], "%")
    verb = "reach" if _be(answer, answer.names[0]) == "are" else "reaches"
    text = f"{answer.names[0]} {verb} an efficiency of {value} over {answer.names[1]} {answer.place}"
    return f"{text} ({sure})"


def _interaction(answer: Statement) -> str:
    """Word how the lead of one level over another changes along another factor."""
    compare, (finding, *_) = answer.question.compare, answer.found
    assert compare is not None
    assert compare.along is not None
    first, second = answer.names
    along, *ends = compare.along
    places = [where(answer.campaign, {along: answer.campaign.resolve(along, end)}, (along,)) for end in ends][
        ::-1
    ]
    by, sure = spell_all([one.estimate for one in answer.found])
    values = [step.value for step in finding.steps] or [1.0, finding.estimate.value]
    clear = all(side(one.estimate) for one in answer.found)
    if (values[0] - 1) * (values[1] - 1) < 0 and clear:
        text = f"{first} goes from {values[0]:.2f} times the speed of {second} {places[0]}"
        return f"{text} to {values[1]:.2f} times {places[1]} {answer.place} (by {by} times, {sure})"
    if max(values) <= 1:
        first, second, values = second, first, [1 / value for value in values]
    verb = "grows" if values[1] > values[0] else "shrinks"
    text = f"the lead of {first} over {second} {verb if clear else 'does not clearly change'}"
    if finding.steps:
        text += f" from {values[0]:.2f} times {places[0]} to {values[1]:.2f} times {places[1]}"
    else:
        text += f" between {listed([noun(answer.campaign, along, end) for end in reversed(ends)])}"
    return f"{text} {answer.place} (by {by} times, {sure})"


def _crossover(answer: Statement) -> str:
    """Word where each of two levels is ahead."""
    (finding,) = answer.found
    sides = [[at for at, step in enumerate(finding.steps) if side(step) == sign] for sign in (1, -1)]
    if not all(sides):
        text = f"{listed(answer.names)} are not each clearly ahead somewhere"
        return f"{text} in {len(finding.steps)} comparisons {answer.place}"
    names = differing(finding.strata)
    words: list[str] = []
    for name, chosen in zip(answer.names, sides, strict=True):
        levels = {each: in_order({plain(finding.strata[at][each]) for at in chosen}) for each in names}
        there = (
            where(answer.campaign, levels, names) or f"in {len(chosen)} of {len(finding.steps)} comparisons"
        )
        words.append(f"{name} {'is ahead ' if not words else ''}{there}")
    return f"{', '.join(words)} {within(answer.campaign, answer.given, ())}"


def _order(answer: Statement) -> str:
    """Word the order of several levels, with each step."""
    steps = [spell(step)[0] for step in min(answer.found, key=lambda one: one.estimate.value).steps]
    clear = all(side(step) > 0 for one in answer.found for step in one.steps)
    by = f"by {', then '.join(steps)} times"
    if not clear:
        return f"the order {' > '.join(answer.names)} is not clear {answer.place} ({by})"
    first, *others = answer.names
    return f"{first} {_be(answer, first)} ahead of {', then of '.join(others)} {answer.place} ({by})"


def with_base(sentence: str, base: str) -> str:
    """Add the baseline's own value to what a sentence has in brackets."""
    return f"{sentence[:-1]}; {base})" if sentence.endswith(")") else f"{sentence} ({base})"


_SENTENCES: Mapping[str, Callable[[Statement], str]] = {
    **dict.fromkeys(_RATIOS, _ratio), "equality": _equality, "efficiency": _efficiency,
    "interaction": _interaction, "crossover": _crossover, "ordering": _order, "saturation": scaling.stop,
    "trend": scaling.trend, "cost": amounts.cost, "level": amounts.level, "set": amounts.set_of,
}  # fmt: skip

"""Evaluate the claims of a report on a campaign: one record for each claim."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from functools import partial

import pandas as pd

from analysis.base.models import one_or_more
from analysis.base.processes import by_dask_wanted, in_parallel
from analysis.base.words import displayed
from analysis.claims import bands, distance, simulated
from analysis.claims.model import Claim, Expectation, Report
from analysis.claims.rules import FAILS, HOLDS, UNKNOWN, band, estimate_text, unit_of
from analysis.claims.verdict import Verdict, finite
from analysis.claims.verdicts import AGREES, NOT_TESTED, SOURCE_KINDS, described, explained, resolve, words
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.finding import Finding, days_said
from analysis.estimates.matched import EXTREMES
from analysis.estimates.measures import MEASURES
from analysis.estimates.quantities import QUANTITIES, findings
from analysis.estimates.question import Question
from analysis.estimates.sentences import Statement
from analysis.schema.campaigns import View


def evaluate(report: Report, campaign: Campaign, *, topics: Sequence[str] | None = None) -> list[Verdict]:
    """Evaluate a report's claims on one campaign, or only the claims of some topics.

    Returns one verdict per claim, in the report's order. If the campaign has no runs that could test a claim,
    its verdict is "not tested" with the reason.
    """
    claims = [claim for claim in report.claims if topics is None or claim.topic in topics]
    work = partial(_evaluated, report=report, campaign=campaign, views={})
    return in_parallel(work, claims, "claims tested:", progress=by_dask_wanted(), cores=1)


def _evaluated(claim: Claim, report: Report, campaign: Campaign, views: dict[int, Campaign]) -> Verdict:
    """Evaluate one claim; `views` keeps the parts of the campaign that other claims have asked for."""
    view = campaign.view_for(report.name, claim.topic, claim.id)
    if view is None:
        return _verdict(claim, report, campaign)
    if id(view) not in views:
        views[id(view)] = campaign.seen(view)
    return _viewed(_verdict(_asked(claim, view), report, views[id(view)]), view, claim)


def _asked(claim: Claim, view: View) -> Claim:
    """Return a claim as a view asks for it: without what it selects by factors that are apart."""
    lifted = view.apart.keys() - view.levels.keys()
    selected = {name: level for name, level in (claim.question.select or {}).items() if name not in lifted}
    question, asks = replace(claim.question, select=selected), view.asks
    if asks is None:
        return replace(claim, question=question)
    if asks.low is None:
        return replace(claim, question=replace(question, variable=asks.variable))
    expect = Expectation(relation="range", low=asks.low, high=asks.high, unit=asks.unit)
    return replace(claim, question=Question("level", asks.variable, selected), expect=expect)


def _viewed(verdict: Verdict, view: View, claim: Claim) -> Verdict:
    """Say under which reading of its levels a campaign with views is evidence for a claim."""
    if verdict.verdict == NOT_TESTED:
        return verdict
    said = [f"asked: {view.asks.variable.replace('_', ' ')}, {view.asks.why}"] if view.asks else []
    if view.alike:
        said.append(f"{' and '.join(view.together)} pooled: {view.alike.why}".replace("_", " "))
    if view.cells:
        extreme = EXTREMES.get(claim.question.aggregate, "")
        said.append(f"the {extreme or 'median'} over cells: {view.cells.why}")
        if extreme:
            said.append("the median of the cells bounds it on one side, which settles its direction alone")
    return replace(verdict, reading=said)


def _verdict(claim: Claim, report: Report, campaign: Campaign) -> Verdict:
    try:
        if campaign.views and report.name != campaign.name:  # none of them answers this topic
            raise NotCoveredError(f"no {campaign.evidence} run that we have can test it")
        if campaign.evidence == "modelled":
            held = bands.judge(claim, campaign)
            record = _record(claim, report, campaign, held.word, held.reason, [held.finding])
            return replace(record, inputs=campaign.files_read())
        if campaign.evidence == "simulated":
            permission = simulated.judge(claim, campaign)
            away = distance.distances(claim, campaign, [permission.finding])
            record = _record(
                claim, report, campaign, permission.word, permission.reason, [permission.finding]
            )
            return replace(record, distance=distance.worst(away), distances=[asdict(one) for one in away])
        found = findings(claim.question, campaign)
        apart = [] if campaign.evidence == "synthetic" else distance.distances(claim, campaign, found)
    except NotCoveredError as gap:
        reason = _with_doubts(str(gap), claim, campaign)
        return _record(claim, report, campaign, words(campaign.evidence, NOT_TESTED), reason, [])
    resolved = explained(claim, resolve(claim, found), apart)
    resolved = replace(resolved, reason=_with_doubts(resolved.reason, claim, campaign))
    ordered = [resolved.finding, *resolved.others]
    if campaign.evidence == "synthetic":
        return _record(
            claim, report, campaign, words(campaign.evidence, resolved.word), resolved.reason, ordered
        )
    if claim.no_bound:
        resolved = replace(resolved, word=UNKNOWN, reason=claim.no_bound, p=None)
    verdict = replace(_record(claim, report, campaign, resolved.word, resolved.reason, ordered), p=resolved.p)
    if claim.looked_up:
        return _looked_up(verdict, campaign, apart)
    return _at_distance(verdict, claim, campaign, resolved.finding, apart)


def _looked_up(verdict: Verdict, campaign: Campaign, apart: Sequence[distance.LevelDistance]) -> Verdict:
    """Say what a source states; of another product or release it contradicts nothing."""
    word, reason = verdict.verdict, verdict.reason
    if word == FAILS and (away := distance.worst(apart)) != "same":
        differs = next(one for one in apart if one.distance == away)
        word, reason = UNKNOWN, f"stated of {differs.factor} {differs.found} and not of {differs.wanted}"
    kinds = [kind for kind in SOURCE_KINDS for one in verdict.sources if kind.split()[0] in one["title"]]
    return replace(
        verdict, verdict=words(campaign.evidence, word, distance.LOOK_UP, [*kinds, "source"][0]),
        reason=reason, distance=distance.LOOK_UP, distances=[asdict(one) for one in apart],
    )  # fmt: skip


def _with_doubts(reason: str, claim: Claim, campaign: Campaign) -> str:
    """Add to a reason which cells of a claim are in doubt, so that nothing was concluded from them."""
    question, compare = claim.question, claim.question.compare
    spec = MEASURES.get(question.variable)
    # Views that speak to a claim are parts without views; what rests on no time is never left out.
    unasked = campaign.views or spec is None or not spec.timing
    if unasked or "left out: " in reason or not campaign.doubts:
        return reason
    try:
        runs = campaign.select(question.select, timing=False)
        if compare is not None and compare.levels:
            levels = [one for level in compare.levels for one in one_or_more(level)]
            own = [mine for one in levels for mine in campaign.resolve(compare.factor, one)]
            runs = runs[runs[compare.factor].isin(own)]
    except NotCoveredError:
        return reason
    return "; ".join(filter(None, [reason, campaign.doubted(runs)]))


def _at_distance(
    verdict: Verdict,
    claim: Claim,
    campaign: Campaign,
    chosen: Finding,
    apart: Sequence[distance.LevelDistance],
) -> Verdict:
    """Say a verdict in the words of its distance from the claim's conditions."""
    limit = distance.bound(claim, campaign, chosen)
    away, reason = distance.worst(apart), verdict.reason
    if verdict.verdict not in (HOLDS, *AGREES) and limit is not None and not distance.reaches(claim, limit):
        away = distance.OUT_OF_REACH
        reason = f"without any time in MPI a run would be {limit:.3g} times as fast here; {reason}"
    return replace(
        verdict,
        verdict=words(campaign.evidence, verdict.verdict, away),
        reason=reason,
        distance=away,
        distances=[asdict(one) for one in apart],
        bound=limit,
        p=None if away == distance.OUT_OF_REACH else verdict.p,  # which says nothing of the claim
    )


def _record(
    claim: Claim, report: Report, campaign: Campaign, verdict: str, reason: str, found: list[Finding]
) -> Verdict:
    first = found[0] if found else None
    estimate = first.estimate if first else None
    low, high = band(claim)
    unit, quantity, compare = unit_of(claim), claim.question.quantity, claim.question.compare
    scale = QUANTITIES[quantity].scale
    runs = list(dict.fromkeys(run for finding in found for run in finding.runs))
    arithmetic = " | ".join(one.arithmetic for one in found)
    return Verdict(
        **described(claim, report),
        evidence=campaign.evidence,
        verdict=verdict,
        estimate=finite(estimate.value) if estimate else None,
        low=finite(estimate.low) if estimate else None,
        high=finite(estimate.high) if estimate else None,
        expected=1.0 if quantity == "equality" else claim.expect.value,
        unit=unit,
        n=estimate.n if estimate else None,
        campaign=campaign.name,
        application=", ".join(map(str, one_or_more((claim.question.select or {}).get("application", "")))),
        factor=compare.factor.replace("_", " ") if compare else "",
        source=claim.source.model_dump(),
        scale="share" if scale == "level" and unit == "%" else scale,
        cluster=campaign.hardware,
        reason=reason,
        expected_low=finite(low),
        expected_high=finite(high),
        estimate_text=estimate_text(claim, first) if first else "",
        sentence=_sentence(claim, campaign, found),
        n_baseline=estimate.n_baseline if estimate else None,
        base=dict(zip(("value", "unit", "label"), first.base, strict=True)) if first and first.base else None,
        compared=" | ".join(finding.compared for finding in found),
        arithmetic="; ".join(filter(None, [arithmetic, days_said(estimate)])) if estimate else "",
        level=estimate.level if estimate and estimate.bounded else None,
        days=min(estimate.days, default=None) if estimate else None,
        runs=runs,
        inputs=_inputs(campaign, runs),
        sources=campaign.cited(runs),
    )


def _sentence(claim: Claim, campaign: Campaign, found: Sequence[Finding]) -> str:
    """Word what was found: of the largest or the least of several strata that one alone.

    So is a scale that stops late where the claim is that it stops early: the earliest one decides nothing.
    """
    if not found:
        return ""
    late = claim.question.quantity == "saturation" and claim.expect.relation == "at-most"
    asked, extreme = claim.question, late or claim.question.aggregate in ("max", "min")
    if extreme and len(found) == 1 and not found[0].estimate.half_open:  # the only one is no "up to"
        asked = replace(asked, aggregate="all")
    return Statement(asked, found[:1] if extreme else found, campaign, unit_of(claim)).sentence


def _inputs(campaign: Campaign, runs: Iterable[str]) -> list[dict[str, str]]:
    """Return what the runs were read from, with checksums: the folder of each, or the file that has all."""
    checksums, shared = campaign.sources()
    found = {f"runs/{run}": checksums[run] for run in runs}
    paths = {shared.get(sha, path): sha for path, sha in found.items()}
    return [{"path": f"data/raw/{campaign.name}/{path}", "sha256": sha} for path, sha in paths.items()]


def verdict_table(verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """Make the table that closes a notebook.

    Columns ``claim expected estimate n evidence distance verdict why``, text throughout.
    """
    columns = ("claim", "expected", "estimate", "n", "evidence", "distance", "verdict", "why")
    rows = []
    for verdict in verdicts:
        n = "" if verdict.n is None else str(verdict.n)
        n += f" / {verdict.n_baseline}" if verdict.n_baseline is not None else ""
        texts = (verdict.statement, verdict.expected_text, verdict.estimate_text or "–", n)
        rows.append((*texts, verdict.evidence, verdict.distance, displayed(verdict.verdict), verdict.reason))
    return pd.DataFrame(rows, columns=list(columns))

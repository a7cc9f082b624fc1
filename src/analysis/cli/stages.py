"""The stages of the workflow, ``benchbook stage [--log FILE] NAME ...``: each imports what it needs itself.

With ``--log`` a stage runs in the process that a build keeps warm (`analysis.site.kernels`), if there is one.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis.claims import Verdict
    from analysis.measure.cost import Cost
    from analysis.site.build import Front

CONFIG = "config/config.yaml"  # `project.CONFIG`: importing that is most of a stage's start
SELFTEST = "config/selftest.yaml"
AUDIT = "audit"  # stands for a campaign where a report is held against itself


def synthesis(report: str, out: str) -> None:
    """Write the synthetic campaign of a report around its declared truth."""
    from analysis.base import project
    from analysis.synthesis.campaign import build
    from analysis.synthesis.truth import load_truth

    path = Path(report)
    if path.suffix != ".yaml":
        path = project.root() / "config" / "synthesis" / f"{report}.yaml"
    runs = build(load_truth(path), Path(out), progress=sys.stderr.isatty())
    print(f"{out}: {runs} runs")


def ingest(raw: str, processed: str) -> None:
    """Read a campaign's raw files into its datasets."""
    from analysis.datasets.campaign import ingest

    print(ingest(Path(raw), Path(processed), progress=sys.stderr.isatty()))


def verdicts(campaign: str, out: str, claims: list[str]) -> None:
    """Evaluate reports' claims on a campaign, or check the reports against themselves (audit)."""
    from analysis.base.workers import kept
    from analysis.claims import evaluate, load_report, write_verdicts
    from analysis.claims.audit import evaluate_report
    from analysis.estimates.campaign import load_campaign

    if campaign == AUDIT:
        found = [evaluate_report(Path(path).stem) for path in claims]
    else:
        loaded = load_campaign(campaign)
        with kept():
            found = [evaluate(report, loaded) for report in map(load_report, map(Path, claims))]
    write_verdicts([verdict for report in found for verdict in report], Path(out))


def collect(out: str, paths: list[str], *, config: str = CONFIG) -> None:
    """Join the verdicts of all campaigns, each with the first page of its topic.

    In the order of the configuration: of its reports and their campaigns, what was audited last. False
    discoveries are counted over all verdicts of a report and evidence class.
    """
    from analysis.claims import read_verdicts, write_verdicts
    from analysis.claims.verdict import controlled
    from analysis.estimates.contents import load_config

    build = load_config(Path.cwd(), Path(config))
    order = [(report, campaign) for report, used in build["reports"].items() for campaign in used]
    order += [(report, AUDIT) for report in build["reports"]]
    found = [verdict for path in paths for verdict in read_verdicts(Path(path))]
    found.sort(key=lambda one: order.index((one.report, one.campaign)))
    pages = build["pages"]
    built = {page["name"] for page in pages}
    # An audit names its page, which this build may not have.
    kept = [replace(one, page=one.page if one.page in built else _page_of(one, pages)) for one in found]
    write_verdicts(controlled(kept), Path(out))


def _page_of(verdict: Verdict, pages: Sequence[dict[str, Any]]) -> str | None:
    from analysis.base import project

    for page in pages:
        if (
            verdict.campaign in project.as_list(page, "campaign")
            and verdict.report in project.as_list(page, "report")
            and verdict.topic in page.get("topics", ())
            # A page that was made by itself shows what its runs say, and nothing of what they do not.
            and (verdict.verdict != "not tested" or not page.get("derived"))
        ):
            return str(page["name"])
    return None


def page(notebook: str, out: str, *, figure: str = "", parameters: str = "{}", derived: str = "") -> None:
    """Execute a notebook with parameters, a JSON object; a `derived` page says what its runs cannot tell."""
    from analysis.site.kernels.execute import run

    given = json.loads(parameters)
    run(notebook=notebook, out=out, figure=figure, parameters=given, derived=bool(derived))


def site(verdicts: str, out: str, *, commit: str = "", config: str = CONFIG, recovered: str = "") -> None:
    """Build the site from the verdicts, the executed notebooks and the campaigns' datasets."""
    from analysis.base import project
    from analysis.claims import load_report, read_verdicts
    from analysis.estimates.campaign import load_campaign
    from analysis.estimates.contents import load_config
    from analysis.measure.draft import price
    from analysis.site.build import build
    from analysis.site.page import inputs
    from analysis.site.provenance import gather

    found = load_config(Path.cwd(), Path(config))
    campaigns = {name: load_campaign(name, Path.cwd()) for name in found["campaigns"]}
    more = {"title": "What the self-test gives back"} if found["contradictions"] else {}
    given = read_verdicts(Path(verdicts))
    build(
        given,
        inputs(found["pages"], campaigns, Path(verdicts).parent / "notebooks"),
        gather(campaigns.values(), given, commit, project.date_of(commit) if commit else ""),
        Path(out),
        reports=[load_report(project.claims(name)) for name in found["reports"]],
        recovered=read_verdicts(Path(recovered)) if recovered else (),
        selftest=_selftested(found),
        docs=Path("docs"),
        asked=_asked(found, price),
        refuse_figures=found["figure_faults"] == "refuse",
        **more,
    )


def _asked(config: Mapping[str, Any], price: Callable[[str], Cost]) -> Front:
    """Gather the questions of the front page, and what testing their claims would cost."""
    from analysis.base.errors import ConfigError
    from analysis.site.build import Front

    questions = config.get("front", ())
    prices = {}
    for claim in filter(None, (one.get("claim") for one in questions)):
        try:
            cost = price(claim)
        except ConfigError as error:
            prices[claim] = f"no price, because {error.faults[0].found}"
        else:
            prices[claim] = (
                f"{cost.runs} runs, {cost.node_hours:.{1 if cost.node_hours >= 1 else 2}f} node hours"
            )
    return Front(questions, prices, {page["name"]: page.get("topics", ()) for page in config["pages"]})


def _selftested(config: Mapping[str, Any]) -> Collection[str]:
    """Name the reports whose paths the self-test takes; none in the self-test's own site."""
    from analysis.base import project

    there = not config["contradictions"] and Path(SELFTEST).is_file()
    return list(project.load_yaml(SELFTEST)["reports"]) if there else []


def recovered(verdicts: str, out: str, *, config: str) -> None:
    """Say in a table what the self-test has given back; fail for what it should have and has not."""
    from analysis.claims import read_verdicts
    from analysis.estimates.contents import load_config
    from analysis.site.board import check_recovered, recovered_table

    found = read_verdicts(Path(verdicts))
    known = load_config(Path.cwd(), Path(config)).get("contradictions", {})
    print(text := recovered_table(found, known))
    check_recovered(found, known, config)
    Path(out).write_text(text, encoding="utf-8")


STAGES = {stage.__name__: stage for stage in (synthesis, ingest, verdicts, collect, page, site, recovered)}


def declare(parser: argparse.ArgumentParser) -> None:
    """Give a parser a command for each stage: positional arguments are required, keywords are options."""
    parser.add_argument("--log", help="file for what it prints; it then runs in a build's warm process")
    stages = parser.add_subparsers(dest="stage", required=True, metavar="STAGE")
    for name, stage in STAGES.items():
        one = stages.add_parser(name, help=stage.__doc__, description=stage.__doc__)
        for argument in inspect.signature(stage).parameters.values():
            if argument.kind is argument.KEYWORD_ONLY:
                one.add_argument(f"--{argument.name}", default=argument.default)
            else:
                one.add_argument(argument.name, nargs="*" if "list" in str(argument.annotation) else None)


def run(stage: str, log: str | None, **given: Any) -> int:
    """Run one stage; return 1 if it failed, after what its log says."""
    if log is None and stage != "page":
        STAGES[stage](**given)
        return 0
    from analysis.site.kernels import say
    from analysis.site.kernels.client import call

    log = log or os.devnull
    # Pages need an environment that must be there before Python starts.
    return say(call(f"{__name__}:{stage}", given, log, prepared=stage == "page"), log)


def ordered(words: Sequence[str]) -> None:
    """Carry out a stage that is given as the words of a command line."""
    stage, given = _read(words)
    STAGES[stage](**given)


def foreseen(words: Sequence[str], cwd: str) -> None:
    """Load the campaigns that a stage of these words loads, for the processes that are forked from this."""
    from analysis.base import project

    stage, given = _read(words)
    asked = json.loads(given["parameters"]) if stage == "page" else given
    for name in project.as_list(asked, "campaign"):
        from analysis.estimates.campaign import keep  # not for a stage that asks for none

        keep(name, Path(cwd))


def _read(words: Sequence[str]) -> tuple[str, dict[str, Any]]:
    given = vars(_parser().parse_args(words))
    del given["log"]
    return given.pop("stage"), given


@cache
def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    declare(parser)
    return parser

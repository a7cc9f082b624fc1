"""The stages of the workflow, ``benchbook stage [--log FILE] NAME ...``: each imports what it needs itself.

With ``--log`` a stage runs in the process that a build keeps warm (`analysis.site.kernels`), if there is one.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analysis.base import project

AUDIT = "audit"  # stands for a campaign where a report is held against itself


def synthesis(report: str, out: str) -> None:
    """Write the synthetic campaign of a report around its declared truth."""
    from analysis.synthesis.campaign import build
    from analysis.synthesis.truth import load_truth

    path = Path(report)
    if path.suffix != ".yaml":
        path = project.root() / "config" / "synthesis" / f"{report}.yaml"
    runs = build(load_truth(path), Path(out), progress=sys.stderr.isatty())
    print(f"{out}: {runs} runs")


def ingest(raw: str, processed: str) -> None:
    """Read a campaign's raw files into its datasets."""
    if Path(raw).name == "published":
        from analysis.datasets.published import ingest as ingest_published

        print(ingest_published(Path(raw), Path(processed)))
        Path(processed, "runs").mkdir(exist_ok=True)
        return
    from analysis.datasets.campaign import ingest

    print(ingest(Path(raw), Path(processed), progress=sys.stderr.isatty()))


def verdicts(claims: str, campaign: str, out: str) -> None:
    """Evaluate a report's claims on a campaign, or hold the report against itself (audit)."""
    from analysis.claims import evaluate, load_report, write_verdicts
    from analysis.claims.audit import evaluate_report
    from analysis.claims.published import evaluate as evaluate_published
    from analysis.estimates.campaign import load_campaign

    if campaign == AUDIT:
        found = evaluate_report(Path(claims).stem)
    else:
        judge = evaluate_published if campaign == "published" else evaluate
        found = judge(load_report(Path(claims)), load_campaign(campaign))
    write_verdicts(found, Path(out))


def collect(out: str, paths: list[str], *, config: str = str(project.CONFIG)) -> None:
    """Join the verdicts of all reports and campaigns, each with the first page of its topic."""
    pages = project.load_yaml(config)["pages"]
    records = []
    for path in paths:
        for verdict in json.loads(Path(path).read_text(encoding="utf-8")):
            verdict["page"] = verdict.get("page") or _page_of(verdict, pages)
            records.append(verdict)
    text = json.dumps(records, indent=1, sort_keys=True, ensure_ascii=False)
    Path(out).write_text(text + "\n", encoding="utf-8")


def _page_of(verdict: dict[str, Any], pages: Sequence[dict[str, Any]]) -> str | None:
    for page in pages:
        if (
            verdict["campaign"] in project.as_list(page, "campaign")
            and verdict["report"] in project.as_list(page, "report")
            and verdict["topic"] in page.get("topics", ())
        ):
            return str(page["name"])
    return None


def page(notebook: str, out: str, *, figure: str = "", parameters: str = "{}") -> None:
    """Execute a notebook with parameters, a JSON object."""
    from analysis.site.kernels.execute import run

    run(notebook=notebook, out=out, figure=figure, parameters=json.loads(parameters))


def site(verdicts: str, out: str, *, commit: str = "") -> None:
    """Build the site from the verdicts, the executed notebooks and the campaigns' datasets."""
    from analysis.site.project import build_project

    build_project(Path(verdicts), Path(out), commit)


STAGES = {stage.__name__: stage for stage in (synthesis, ingest, verdicts, collect, page, site)}


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
                one.add_argument(argument.name, nargs="+" if "list" in str(argument.annotation) else None)


def run(stage: str, log: str | None, given: dict[str, Any]) -> int:
    """Run one stage; return 1 if it failed, after what its log says."""
    if log is None and stage != "page":
        STAGES[stage](**given)
        return 0
    from analysis.site.kernels.client import call

    log = log or os.devnull
    # Pages need an environment that must be there before Python starts.
    fault = call(f"{__name__}:{stage}", given, log, prepared=stage == "page")
    if fault:
        said = Path(log).read_text(encoding="utf-8", errors="replace")
        print(said or fault, end="" if said else "\n", file=sys.stderr)
    return 1 if fault else 0

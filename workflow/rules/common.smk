# What the stages share: no rules here, and nothing that is slow to import.
import atexit
import contextlib
import json
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

from analysis import project
from analysis.campaign import workflow as campaigns
from analysis.errors import BenchbookError
from analysis.pages.client import start

NAME = "[A-Za-z0-9_][A-Za-z0-9._-]*"
PACKAGE = Path("src/analysis")
BASE = Path.cwd()
MEASURED = config.get("measure", "")  # the campaign that the target `measure` measures

# Jobs use the interpreter that runs Snakemake, activated or not, here or on a node.
shell.prefix(f"export PATH='{Path(sys.executable).parent}':\"$PATH\"; ")


wildcard_constraints:
    campaign=NAME,
    report=NAME,
    page=NAME,


def check_config(config):
    try:
        project.check_config(config, Path.cwd())
    except BenchbookError as error:
        raise WorkflowError(str(error)) from None


def start_pages():
    """Start the process that pages are forked from; it ends with Snakemake."""
    if MEASURED:
        return  # nothing else is to run beside a measurement
    if workflow.is_main_process and workflow.local_exec:
        server = contextlib.ExitStack()
        server.enter_context(start())
        atexit.register(server.close)


def sources(*names):
    """The package's modules that a stage is computed by: a changed reader makes new datasets."""
    found = []
    for name in names:
        path = PACKAGE / name
        found += sorted(map(str, path.rglob("*.py"))) if path.is_dir() else [str(path)]
    return found


def raw_files(wildcards):
    folder = project.raw(wildcards.campaign, Path())
    return sorted(str(path) for path in folder.rglob("*") if path.is_file())


def page(wildcards):
    return next(page for page in config["pages"] if page["name"] == wildcards.page)


def page_names(figure):
    """A pattern that matches the pages with, or those without, a main figure."""
    names = [page["name"] for page in config["pages"] if page["figure"] == figure]
    return "|".join(name.replace(".", r"\.") for name in names) or "(?!)"


def page_datasets(wildcards):
    names = project.as_list(page(wildcards), "campaign")
    return [project.processed(name, Path()) / "campaign.nc" for name in names]


def page_declarations(wildcards):
    """What a page's claims say, and what its campaigns stand for."""
    entry = page(wildcards)
    reports = [
        project.claims(name, Path()) for name in project.as_list(entry, "report")
    ]
    return reports + [
        Path(f"config/campaigns/{n}.yaml") for n in project.as_list(entry, "campaign")
    ]


def all_verdicts():
    """Every campaign's verdicts on a report, and the audit of the reports that have one."""
    reports = config["reports"]
    audited = [name for name in reports if Path(f"config/audit/{name}.yaml").is_file()]
    pairs = [(report, name) for report in reports for name in reports[report]]
    pairs += [(report, "audit") for report in audited]
    return [project.verdicts(report, name, Path()) for report, name in pairs]


def page_parameters(wildcards):
    """What a page's entry names is what its notebook is given."""
    entry = page(wildcards)
    keys = ("campaign", "campaigns", "report", "reports", "topics")
    given = {key: entry[key] for key in keys if key in entry}
    return json.dumps({**given, **entry["parameters"]}, sort_keys=True)


def runs_to_measure(wildcards):
    if not MEASURED:
        raise WorkflowError("measure what? Add: --config measure=NAME")
    try:
        runs = campaigns.missing(MEASURED, BASE)
    except BenchbookError as error:
        raise WorkflowError(str(error)) from None
    return [f"data/raw/{MEASURED}/runs/{run.name}/run.json" for run in runs]


def programs_of_run(wildcards):
    return ancient(campaigns.programs(MEASURED, wildcards.run, BASE))


def in_shuffled_order(wildcards):
    return campaigns.priority(campaigns.run_of(MEASURED, wildcards.run, BASE))


def asked(name):
    """A resource of a run, by its name in Snakemake."""

    def resource(wildcards):
        return campaigns.resources(MEASURED, wildcards.run, BASE)[name]

    return resource

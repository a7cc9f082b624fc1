# What the stages share: no rules here, and nothing that is slow to import.
import atexit
import contextlib
import inspect
import json
import os
import shlex
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

from analysis.base import project
from analysis.base.errors import BenchbookError
from analysis.measure import resume
from analysis.measure import workflow as campaigns
from analysis.site.kernels.client import start

NAME = "[A-Za-z0-9_][A-Za-z0-9._-]*"
PACKAGE = Path("src/analysis")
BASE = Path.cwd()
MEASURED = config.get("measure", "")  # the campaign that the target `measure` measures

# What runs beside Snakemake and ends with it.
AT_END = contextlib.ExitStack()
atexit.register(AT_END.close)

GIVEN_BACK = campaigns.node_list(os.environ)

# Jobs use the interpreter that runs Snakemake, activated or not, here or on a node. A prefix of ours takes the
# place of Snakemake's own, by which a command that fails in a pipe fails its job: so it is given again.
BIN = shlex.quote(str(Path(sys.executable).parent))
shell.prefix(f'set -euo pipefail; export PATH={BIN}:"$PATH"; {GIVEN_BACK}')


wildcard_constraints:
    campaign=NAME,
    report=NAME,
    page=NAME,


def check_config(config):
    try:
        project.check_config(config, BASE)
        project.leave_out(config, BASE)
    except BenchbookError as error:
        raise WorkflowError(str(error)) from None


def start_pages():
    """Start the process that pages are forked from; it ends with Snakemake."""
    if MEASURED:
        return  # nothing else is to run beside a measurement
    if workflow.is_main_process and workflow.local_exec:
        AT_END.enter_context(start())


def hold_campaign():
    """Let nobody else measure the campaign until this Snakemake ends."""
    if MEASURED and workflow.is_main_process:
        try:
            resume.check_start(MEASURED, BASE, slurm=not workflow.local_exec)
            lock = resume.hold(MEASURED, BASE)
        except BenchbookError as error:
            raise WorkflowError(str(error)) from None
        AT_END.enter_context(lock)


def mend_executor():
    """Teach Slurm's executor to ask less, and to end when Slurm has lost a job."""
    plugin = sys.modules.get("snakemake_executor_plugin_slurm")
    if MEASURED and workflow.is_main_process and plugin is not None:
        from analysis.measure.executor import patch_executor

        patch_executor(plugin)


def watch_progress():
    """Show a line about the campaign that is measured, until Snakemake ends."""
    quiet = {kind.name for kind in workflow.output_settings.quiet or ()}
    if MEASURED and workflow.is_main_process and not quiet & {"ALL", "PROGRESS"}:
        from analysis.measure.progress import Watch

        AT_END.callback(Watch(MEASURED, BASE).start().stop)


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
    check_arrays()
    # A record that is there is whole and stays, whatever becomes of the job that was to leave it: of two
    # jobs for one run the second fails, and so does one that is cancelled after its last act.
    workflow.execution_settings.keep_incomplete = True
    # Snakemake's lock outlives a Snakemake that was killed; the campaign's own (below) does not.
    workflow.persistence.lock = contextlib.nullcontext
    try:
        runs = campaigns.missing(MEASURED, BASE)
        there = resume.adopted(MEASURED, BASE)
    except BenchbookError as error:
        raise WorkflowError(str(error)) from None
    return [
        f"data/raw/{MEASURED}/runs/{run.name}/run.json"
        for run in runs
        if run.name not in there
    ]


def check_arrays():
    """Refuse job arrays of runs: each of their jobs would execute the command of the first."""
    arrays = getattr(workflow.executor_settings, "array_jobs", None) or ""
    if {"all", "run"} & set(arrays.replace(";", ",").replace(" ", "").split(",")):
        raise WorkflowError(
            "slurm-array-jobs: the executor gives every job of an array of MPI jobs the command "
            "of the first; leave 'run' and 'all' out of it"
        )


def known(function):
    """Note what a function takes: Snakemake asks anew at each call, and of 5,000 runs there are 45,000."""
    function.__signature__ = inspect.signature(function)
    return function


@known
def programs_of_run(wildcards):
    return ancient(campaigns.programs(MEASURED, wildcards.run, BASE))


@known
def in_shuffled_order(wildcards):
    return campaigns.priority(campaigns.run_of(MEASURED, wildcards.run, BASE))


def asked(name):
    """A resource of a run, by its name in Snakemake; no function where all runs ask for the same."""

    @known
    def resource(wildcards):
        return campaigns.resources(MEASURED, wildcards.run, BASE)[name]

    try:
        return campaigns.common(MEASURED, BASE).get(name, resource) if MEASURED else 1
    except BenchbookError:
        return resource  # the input function of the target says what is wrong


def threads_of_run():
    """Return the threads of each run; without a campaign there is none."""
    try:
        return campaigns.threads(MEASURED, BASE) if MEASURED else 1
    except BenchbookError:
        return 1

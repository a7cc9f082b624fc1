# Needed for measuring only; the rules are in measure.smk.
import inspect

from snakemake.logging import logger

if MEASURED:
    from analysis.measure import resume
    from analysis.measure import workflow as campaigns
    from analysis.measure.executor import patch_executor, quieten

    quieten(logger)
    # Slurm's executor asks in time, ends when Slurm has lost a job, and starts runs directly. It begins to wait
    # before `onstart`.
    if "snakemake_executor_plugin_slurm" in sys.modules:
        patch_executor(sys.modules["snakemake_executor_plugin_slurm"], BASE, MEASURED)


def start_measuring():
    """Prepare this process for the first run of a campaign."""
    if not MEASURED or not workflow.is_main_process:
        return
    hold_campaign()
    watch_progress()


def hold_campaign():
    """Lock the campaign until this Snakemake ends, so that nobody else measures it."""
    try:
        resume.check_start(MEASURED, BASE, slurm=not workflow.local_exec)
        lock = resume.lock(MEASURED, BASE)
    except BenchbookError as error:
        raise WorkflowError(str(error)) from None
    AT_END.enter_context(lock)


def watch_progress():
    """Keep the books of the campaign, and show its progress, until Snakemake ends."""
    from analysis.measure.books import Books
    from analysis.measure.progress import Watch

    quiet = {kind.name for kind in workflow.output_settings.quiet or ()}
    silent = quiet & {"ALL", "PROGRESS"}
    stream = AT_END.enter_context(open(os.devnull, "w")) if silent else None
    books = Books(MEASURED, BASE, go_on=bool(config.get("go_on")))
    AT_END.callback(Watch(MEASURED, BASE, stream, books.keep).start().stop)


def runs_to_measure(wildcards):
    if not MEASURED:
        raise WorkflowError("measure what? Add: --config measure=NAME")
    check_arrays()
    # An existing record is complete and stays, whatever happens to its job: if a run has two jobs, the
    # second fails, and so does a job that is cancelled after its last step.
    workflow.execution_settings.keep_incomplete = True
    # Snakemake's lock survives a killed Snakemake; the campaign's own lock does not.
    workflow.persistence.lock = contextlib.nullcontext
    if workflow.dryrun:
        campaigns.quicken(
            workflow.get_rule("run"),
            MEASURED,
            BASE,
            printed=workflow.output_settings.printshellcmds,
        )
    try:
        runs = campaigns.missing(MEASURED, BASE)
        there = resume.adopted(MEASURED, BASE)
    except BenchbookError as error:
        raise WorkflowError(str(error)) from None
    return [
        f"data/raw/{MEASURED}/runs/{run.name}/run.json"
        for run in campaigns.leaders(
            MEASURED, [run for run in runs if run.name not in there], BASE
        )
    ]


def check_arrays():
    """Refuse job arrays of runs: every job would execute the command of the first."""
    arrays = getattr(workflow.executor_settings, "array_jobs", None) or ""
    if {"all", "run"} & set(arrays.replace(";", ",").replace(" ", "").split(",")):
        raise WorkflowError(
            "slurm-array-jobs: the executor gives every job of an array of MPI jobs the command "
            "of the first; leave 'run' and 'all' out of it"
        )


def known(function):
    """Store a function's signature: Snakemake asks for it at each call, 45,000 times for 5,000 runs."""
    function.__signature__ = inspect.signature(function)
    return function


@known
def programs_of_run(wildcards):
    return ancient(campaigns.programs(MEASURED, wildcards.run, BASE))


def built_before_runs():
    """Return what gives the programs to build before a run, or nothing if no run of the campaign has one."""
    try:
        return programs_of_run if MEASURED and campaigns.builds(MEASURED, BASE) else []
    except BenchbookError:
        return []


@known
def in_shuffled_order(wildcards):
    return campaigns.priority(campaigns.run_of(MEASURED, wildcards.run, BASE))


def requested(name):
    """A resource of a run by its name in Snakemake, as a plain value if all runs request the same."""

    @known
    def resource(wildcards):
        return campaigns.resources(MEASURED, wildcards.run, BASE)[name]

    try:
        return campaigns.common(MEASURED, BASE).get(name, resource) if MEASURED else 1
    except BenchbookError:
        return resource  # the input function of the target reports the error


def threads_of_run():
    """Return the threads of each run, or 1 without a campaign."""
    try:
        return campaigns.threads(MEASURED, BASE) if MEASURED else 1
    except BenchbookError:
        return 1

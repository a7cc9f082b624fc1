# What only measuring needs; its rules are in measure.smk.
import inspect

if MEASURED:
    from analysis.measure import resume
    from analysis.measure import workflow as campaigns


def start_measuring():
    """What is begun before the first run of a campaign, in this process."""
    if not MEASURED or not workflow.is_main_process:
        return
    hold_campaign()
    patch_slurm_executor()
    watch_progress()


def hold_campaign():
    """Let nobody else measure the campaign until this Snakemake ends."""
    try:
        resume.check_start(MEASURED, BASE, slurm=not workflow.local_exec)
        lock = resume.hold(MEASURED, BASE)
    except BenchbookError as error:
        raise WorkflowError(str(error)) from None
    AT_END.enter_context(lock)


def patch_slurm_executor():
    """Teach Slurm's executor to ask less, and to end when Slurm has lost a job."""
    plugin = sys.modules.get("snakemake_executor_plugin_slurm")
    if plugin is not None:
        from analysis.measure.executor import patch_executor

        patch_executor(plugin)


def watch_progress():
    """Show a line about the campaign that is measured, until Snakemake ends."""
    quiet = {kind.name for kind in workflow.output_settings.quiet or ()}
    if not quiet & {"ALL", "PROGRESS"}:
        from analysis.measure.progress import Watch

        AT_END.callback(Watch(MEASURED, BASE).start().stop)


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


def requested(name):
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

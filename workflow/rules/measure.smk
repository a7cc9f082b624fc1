# Measuring is a separate target: `snakemake --profile slurm measure --config measure=NAME`. Only missing runs
# are jobs, so a finished run is never measured again.


rule measure:
    input:
        runs=runs_to_measure,
    log:
        "results/logs/measure.log",
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    params:
        campaign=MEASURED,
    shell:
        "{{ python -m analysis.measure.resume {params.campaign:q} && "
        "python -m analysis.measure.finish {params.campaign:q}; }} 2>&1 | tee {log:q}"


rule run:
    input:
        program=built_before_runs(),
    output:
        # `update`: if an earlier job leaves a record in the meantime, it is not removed.
        record=update("data/raw/{campaign}/runs/{run}/run.json"),
    log:
        "results/logs/run/{campaign}/{run}.log",
    wildcard_constraints:
        campaign=MEASURED.replace(".", r"\.") or "(?!)",
        run=NAME,
    priority: in_shuffled_order
    conda:
        "../../environment.yml"
    threads: threads_of_run()
    resources:
        mpi="srun",
        # By default, Snakemake requests the size of every run's input.
        disk_mb=1000,
        nodes=requested("nodes"),
        tasks=requested("tasks"),
        cpus_per_task=requested("cpus_per_task"),
        mem_mb=requested("mem_mb"),
        runtime=requested("runtime"),
        constraint=requested("constraint"),
        slurm_partition=requested("slurm_partition"),
        slurm_account=requested("slurm_account"),
        slurm_extra=requested("slurm_extra"),
    shell:
        "python -m analysis.measure.launch {wildcards.campaign:q} {wildcards.run:q} > {log:q} 2>&1"


rule proxy:
    input:
        source="src/proxy/proxy.c",
    output:
        program="results/proxy/{cluster}/{mpi}/proxy",
    log:
        "results/logs/proxy/{cluster}/{mpi}.log",
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    params:
        campaign=MEASURED,
    shell:
        "python -m analysis.measure.mpi {params.campaign:q} {wildcards.mpi:q} {output.program:q} 2> {log:q}"


onerror:
    if MEASURED and workflow.is_main_process:
        AT_END.close()
        from analysis.measure.finish import unfinished

        print(unfinished(MEASURED, BASE), file=sys.stderr)

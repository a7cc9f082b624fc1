# The analytic model held against SimGrid: `snakemake --cores 2 whatif-check`, never needed by the report. Its
# table is committed, so it is no output that a changed module would make out of date.


rule simulation:
    name:
        "whatif-check"
    input:
        checks=simulated,
        model=sorted(map(str, Path("config/model").rglob("*.yaml"))),
        campaign=declaration("modelled"),
    log:
        "results/logs/whatif-check.log",
    localrule: True
    conda:
        "../../environment.yml"
    threads: 2
    params:
        table=CHECKED,
    shell:
        "python -m analysis.model.replay modelled {params.table} --workers={threads} 2>&1 | tee {log:q}"

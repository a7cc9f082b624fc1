# Synthetic campaigns are built, never committed: raw files written around a declared truth.


rule synthesis:
    input:
        truth="config/synthesis/{report}.yaml",
        code=sources("base", "synthesis"),
    output:
        sacct="data/raw/syn-{report}/sacct.txt",
        readme="data/raw/syn-{report}/README.md",
        runs=directory("data/raw/syn-{report}/runs"),
    log:
        "results/logs/synthesis/{report}.log",
    conda:
        "../../environment.yml"
    threads: 1
    params:
        folder=lambda wildcards: project.raw(f"syn-{wildcards.report}", Path()),
    shell:
        "python -m analysis.site.kernels call --log {log}"
        " analysis.cli.stages.synthesis {wildcards.report} {params.folder}"


# What a synthetic campaign consists of is not known before it is built.
use rule ingest as ingest_synthetic with:
    input:
        sacct="data/raw/{campaign}/sacct.txt",
        runs="data/raw/{campaign}/runs",
        applications=rules.ingest.input.applications,
        declaration=rules.ingest.input.declaration,
        code=rules.ingest.input.code,
    wildcard_constraints:
        campaign="syn-[a-z0-9]+",


ruleorder: ingest_synthetic > ingest

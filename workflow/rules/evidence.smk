# Evidence that needs no job of ours: a report's own arithmetic, and other people's figures.


rule audit:
    input:
        relations="config/audit/{report}.yaml",
        claims="config/claims/{report}.yaml",
        code=sources("base", "schema", "claims", "estimates"),
    output:
        verdicts="results/verdicts/{report}/audit.json",
    log:
        "results/logs/verdicts/{report}/audit.log",
    conda:
        "../../environment.yml"
    threads: 1
    shell:
        "python -m analysis.site.kernels call --log {log}"
        " analysis.cli.stages.audit {wildcards.report} {output.verdicts}"


rule published:
    input:
        raw=sorted(map(str, Path("data/raw/published").glob("*"))),
        views="config/published.yaml",
        code=sources("base", "schema", "readers", "energy", "datasets"),
    output:
        tree="data/processed/published/campaign.nc",
    log:
        "results/logs/ingest/published.log",
    conda:
        "../../environment.yml"
    threads: 1
    params:
        raw=lambda wildcards: project.raw("published", Path()),
        processed=lambda wildcards: project.processed("published", Path()),
    shell:
        "python -m analysis.site.kernels call --log {log}"
        " analysis.cli.stages.published ingest {params.raw} {params.processed}"


rule published_verdicts:
    input:
        tree="data/processed/published/campaign.nc",
        campaign="config/campaigns/published.yaml",
        views="config/published.yaml",
        claims="config/claims/{report}.yaml",
        code=sources(
            "base", "schema", "readers", "energy", "datasets", "estimates", "claims"
        ),
    output:
        verdicts="results/verdicts/{report}/published.json",
    log:
        "results/logs/verdicts/{report}/published.log",
    conda:
        "../../environment.yml"
    threads: 1
    shell:
        "python -m analysis.site.kernels call --log {log}"
        " analysis.cli.stages.published verdicts {input.claims} {output.verdicts}"


ruleorder: published > ingest
ruleorder: audit > published_verdicts > verdicts

# Raw folders become datasets, and datasets verdicts.


rule ingest:
    input:
        raw=raw_files,
        applications=sorted(map(str, Path("config/applications").glob("*.yaml"))),
        declaration="config/campaigns/{campaign}.yaml",
        code=sources("base", "schema", "readers", "energy", "datasets"),
    output:
        tree="data/processed/{campaign}/campaign.nc",
        runs=directory("data/processed/{campaign}/runs"),
    log:
        "results/logs/ingest/{campaign}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=4000,
    params:
        raw=lambda wildcards: project.raw(wildcards.campaign, Path()),
        processed=lambda wildcards: project.processed(wildcards.campaign, Path()),
    shell:
        "python -m analysis.site.kernels call --log {log} analysis.cli.stages.ingest {params.raw} {params.processed}"


rule verdicts:
    input:
        tree="data/processed/{campaign}/campaign.nc",
        campaign="config/campaigns/{campaign}.yaml",
        claims="config/claims/{report}.yaml",
        code=sources(
            "base", "schema", "readers", "energy", "datasets", "estimates", "claims"
        ),
    output:
        verdicts="results/verdicts/{report}/{campaign}.json",
    log:
        "results/logs/verdicts/{report}/{campaign}.log",
    conda:
        "../../environment.yml"
    threads: 1
    shell:
        "python -m analysis.site.kernels call --log {log}"
        " analysis.cli.stages.verdicts {input.claims} {wildcards.campaign} {output.verdicts}"


rule datasets:
    input:
        trees=[
            project.processed(name, Path()) / "campaign.nc"
            for name in config["campaigns"]
        ],
        verdicts=all_verdicts(),


include: "synthesis.smk"

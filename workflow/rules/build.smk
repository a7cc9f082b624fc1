# Raw folders become datasets, and datasets become verdicts.


# Synthetic campaigns are built and never committed: raw files that contain a declared truth.
rule synthesis:
    input:
        truth="config/synthesis/{report}.yaml",
    output:
        sacct="data/raw/syn-{report}/sacct.txt",
        readme="data/raw/syn-{report}/README.md",
        runs=directory("data/raw/syn-{report}/runs"),
    log:
        f"{RESULTS}/logs/synthesis/{{report}}.log",
    conda:
        "../../environment.yml"
    threads: 1
    params:
        folder=lambda wildcards: project.raw(f"syn-{wildcards.report}", Path()),
        code=code_of("base", "synthesis"),
    shell:
        "python -m analysis.site.kernels --log {log} synthesis {wildcards.report} {params.folder}"


rule ingest:
    input:
        made=made_files,
        applications=sorted(map(str, Path("config/applications").glob("*.yaml"))),
        declaration="config/campaigns/{campaign}.yaml",
    output:
        tree="data/processed/{campaign}/campaign.nc",
        runs=directory("data/processed/{campaign}/runs"),
    log:
        f"{RESULTS}/logs/ingest/{{campaign}}.log",
    priority: 2  # everything else waits for it
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=4000,
    params:
        raw=lambda wildcards: project.raw(wildcards.campaign, Path()),
        processed=lambda wildcards: project.processed(wildcards.campaign, Path()),
        files=raw_stamp,
        code=code_of(*READ),
    shell:
        "python -m analysis.site.kernels --log {log} ingest {params.raw} {params.processed}"


# For a measured campaign, for published figures, or for the reports checked against themselves (audit).
rule verdicts:
    input:
        claims=claims_on,
        asked=asked,
    output:
        verdicts=f"{RESULTS}/verdicts/{{campaign}}.json",
    log:
        f"{RESULTS}/logs/verdicts/{{campaign}}.log",
    priority: 1
    conda:
        "../../environment.yml"
    threads: 1
    params:
        code=code_of(*JUDGE),
    shell:
        "python -m analysis.site.kernels --log {log}"
        " verdicts {wildcards.campaign} {output.verdicts} {input.claims}"


rule collect:
    input:
        verdicts=all_verdicts(),
        config=BUILD,
    output:
        verdicts=report(
            f"{RESULTS}/verdicts.json",
            caption="../report/verdicts.rst",
            category="Verdicts",
            labels={"file": "all verdicts"},
        ),
    log:
        f"{RESULTS}/logs/collect.log",
    conda:
        "../../environment.yml"
    threads: 1
    params:
        contents=digest_of_contents(),
        code=code_of(*JUDGE),
    shell:
        "python -m analysis.site.kernels --log {log} collect {output.verdicts} {input.verdicts} --config={input.config}"


# What JupyterLab needs at first.
rule evidence:
    input:
        trees=[tree(name) for name in config["campaigns"]],
        verdicts=all_verdicts(),


# Includes what the notebooks' defaults name, and the synthetic campaigns that tests read.
rule datasets:
    input:
        trees=[tree(name) for name in config["campaigns"]],
        defaults=lambda wildcards: [tree(name) for name in notebook_campaigns()],
        examples=[tree(name) for name in EXAMPLES if declaration(name).is_file()],
        verdicts=all_verdicts(),

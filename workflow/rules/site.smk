# Verdicts and executed notebooks become a site that needs no server and no network.


rule collect_verdicts:
    input:
        verdicts=all_verdicts(),
        config="config/config.yaml",
        script="workflow/scripts/collect_verdicts.py",
    output:
        verdicts=report(
            "results/verdicts.json",
            caption="../report/verdicts.rst",
            category="Verdicts",
            labels={"file": "all verdicts"},
        ),
    log:
        "results/logs/collect_verdicts.log",
    conda:
        "../../environment.yml"
    threads: 1
    shell:
        "python {input.script} {input.config} {output.verdicts} {input.verdicts} 2> {log}"


rule site:
    input:
        verdicts="results/verdicts.json",
        config="config/config.yaml",
        datasets=[
            project.processed(name, Path()) / "campaign.nc"
            for name in config["campaigns"]
        ],
        notebooks=[
            f"results/notebooks/{page['name']}.ipynb" for page in config["pages"]
        ],
        docs=sorted(map(str, Path("docs").rglob("*.md"))),
        templates=sorted(map(str, (PACKAGE / "site" / "templates").glob("*"))),
        code=sources("base", "schema", "estimates", "claims", "site"),
    output:
        index="results/site/index.html",
        provenance="results/site/provenance.html",
        verdicts="results/site/verdicts.json",
        pages=[f"results/site/{page['name']}.html" for page in config["pages"]],
    log:
        "results/logs/site.log",
    conda:
        "../../environment.yml"
    threads: 1
    params:
        commit=project.commit(Path()),
        folder=lambda wildcards, output: Path(output.index).parent,
    shell:
        "python -m analysis.site.kernels call --log {log}"
        " analysis.cli.stages.site {input.verdicts} {params.folder} --commit={params.commit}"

# Notebooks are executed, one job a page, in a kernel forked from one prepared process; with the verdicts
# they become a site that needs no server and no network.


rule page:
    input:
        notebook=lambda wildcards: f"notebooks/{page(wildcards)['notebook']}",
        datasets=page_datasets,
        declarations=page_declarations,
    output:
        notebook="results/notebooks/{page}.ipynb",
        figure=report(
            "results/figures/{page}.svg",
            caption="../report/figure.rst",
            category="Figures",
            labels={"page": "{page}"},
        ),
    log:
        "results/logs/pages/{page}.log",
    wildcard_constraints:
        page=page_names(figure=True),
    conda:
        "../../environment.yml"
    threads: 1
    params:
        figure=lambda wildcards, output: f"--figure={output.figure}",
        parameters=page_parameters,
        code=code_of(*JUDGE, "pages", "site/kernels"),
    shell:
        "python -m analysis.cli stage --log {log} page {input.notebook} {output.notebook} {params.figure}"
        " --parameters={params.parameters:q}"


use rule page as page_without_figure with:
    output:
        notebook="results/notebooks/{page}.ipynb",
    wildcard_constraints:
        page=page_names(figure=False),
    params:
        figure="",
        parameters=page_parameters,
        code=rules.page.params.code,


rule site:
    input:
        verdicts="results/verdicts.json",
        config="config/config.yaml",
        datasets=[tree(name) for name in config["campaigns"]],
        declarations=[declaration(name) for name in config["campaigns"]],
        notebooks=[
            f"results/notebooks/{page['name']}.ipynb" for page in config["pages"]
        ],
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
        code=code_of(*JUDGE, "site"),
    shell:
        "python -m analysis.cli stage --log {log}"
        " site {input.verdicts} {params.folder} --commit={params.commit}"

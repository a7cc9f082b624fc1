# Notebooks are executed: one job a page, in a kernel forked from one prepared process.


rule page:
    input:
        notebook=lambda wildcards: f"notebooks/{page(wildcards)['notebook']}",
        datasets=page_datasets,
        declarations=page_declarations,
        code=sources(
            "base",
            "schema",
            "readers",
            "energy",
            "datasets",
            "estimates",
            "claims",
            "pages",
            "site/kernels",
        ),
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
    shell:
        "python -m analysis.site.kernels run {input.notebook} {output.notebook} {params.figure}"
        " --parameters {params.parameters:q} --log {log}"


use rule page as page_without_figure with:
    output:
        notebook="results/notebooks/{page}.ipynb",
    wildcard_constraints:
        page=page_names(figure=False),
    params:
        figure="",
        parameters=page_parameters,

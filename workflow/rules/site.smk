# Each page is one job that executes a notebook in a kernel forked from one prepared process. Pages and
# verdicts become a site that needs no server and no network.


rule page:
    input:
        notebook=lambda wildcards: f"notebooks/{page(wildcards)['notebook']}",
        datasets=page_datasets,
        declarations=page_declarations,
    output:
        notebook=f"{RESULTS}/notebooks/{{page}}.ipynb",
        figure=report(
            f"{RESULTS}/figures/{{page}}.svg",
            caption="../report/figure.rst",
            category="Figures",
            labels={"page": "{page}"},
        ),
    log:
        f"{RESULTS}/logs/pages/{{page}}.log",
    wildcard_constraints:
        page=page_names(figure=True),
    conda:
        "../../environment.yml"
    threads: 1
    params:
        figure=lambda wildcards, output: f"--figure={output.figure}",
        parameters=page_parameters,
        derived=page_derived,
        code=code_of(*JUDGE, "findings", "pages", "site/kernels"),
    shell:
        "python -m analysis.site.kernels --log {log} page {input.notebook} {output.notebook} {params.figure}"
        " --parameters={params.parameters:q} {params.derived}"


use rule page as page_without_figure with:
    output:
        notebook=f"{RESULTS}/notebooks/{{page}}.ipynb",
    wildcard_constraints:
        page=page_names(figure=False),
    params:
        figure="",
        parameters=page_parameters,
        derived=page_derived,
        code=rules.page.params.code,


rule site:
    input:
        verdicts=f"{RESULTS}/verdicts.json",
        config=BUILD,
        claims=[project.claims(name, Path()) for name in config["reports"]],
        datasets=[tree(name) for name in config["campaigns"]],
        declarations=[declaration(name) for name in config["campaigns"]],
        notebooks=[
            f"{RESULTS}/notebooks/{page['name']}.ipynb" for page in config["pages"]
        ],
        recovered=RECOVERIES,
        selftest=[name for name in ["config/selftest.yaml"] if Path(name).is_file()],
        docs=sorted(map(str, Path("docs").rglob("*.md"))),
        applications=sorted(map(str, Path("config/applications").glob("*.yaml"))),
    output:
        index=f"{RESULTS}/site/index.html",
        provenance=f"{RESULTS}/site/provenance.html",
        verdicts=f"{RESULTS}/site/verdicts.json",
        pages=[f"{RESULTS}/site/{page['name']}.html" for page in config["pages"]],
        reports=[f"{RESULTS}/site/report-{name}.html" for name in config["reports"]],
    log:
        f"{RESULTS}/logs/site.log",
    conda:
        "../../environment.yml"
    threads: 1
    params:
        commit=project.commit(Path()),
        folder=lambda wildcards, output: Path(output.index).parent,
        contents=digest_of_contents(),
        recovered=[f"--recovered={name}" for name in RECOVERIES],
        code=code_of(*JUDGE, "provenance", "measure", "site"),
    shell:
        "python -m analysis.site.kernels --log {log} site {input.verdicts} {params.folder}"
        " --commit={params.commit} --config={input.config} {params.recovered}"


rule recovered:
    input:
        verdicts=f"{RESULTS}/verdicts.json",
        config=BUILD,
        site=f"{RESULTS}/site/index.html",  # so a self-test that fails still has its pages
    output:
        table=f"{RESULTS}/recovered.txt",
    log:
        f"{RESULTS}/logs/recovered.log",
    conda:
        "../../environment.yml"
    threads: 1
    params:
        code=code_of(*JUDGE, "site"),
    shell:
        "python -m analysis.site.kernels --log {log} recovered {input.verdicts} {output.table}"
        " --config={input.config}"

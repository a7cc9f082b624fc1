# The analytic model compared with SimGrid (`whatif-check`) and with measurements (`model-validation`), and real codes
# under SimGrid (`simulated`). The report never needs them. What they write is committed, so it is no output that a
# changed module would make out of date.


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
        "python -m benchmarks.model.replay modelled {params.table} --workers={threads} 2>&1 | tee {log:q}"


rule validation:
    name:
        "model-validation"
    input:
        trees=[tree(name) for name in VALIDATED],
        model=sorted(map(str, Path("config/model").rglob("*.yaml"))),
        text="benchmarks/model/validation.md",
    log:
        "results/logs/model-validation.log",
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    params:
        page="docs/model-validation.md",
    shell:
        "python -m benchmarks.model.validation {params.page} 2>&1 | tee {log:q}"


rule codes:
    name:
        "simulated"
    input:
        declared="config/simulation.yaml",
        model=sorted(map(str, Path("config/model").rglob("*.yaml"))),
    log:
        "results/logs/simulated.log",
    localrule: True
    conda:
        "../../environment.yml"
    threads: 2
    params:
        programs=" ".join(
            f"--program {name}={shlex.quote(str(config[name]))}"
            for name in ("hpcg", "lulesh")
            if name in config
        ),
    shell:
        "python -m benchmarks.model.codes {params.programs} --workers={threads} 2>&1 | tee {log:q}"

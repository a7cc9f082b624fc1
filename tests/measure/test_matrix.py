"""The matrix: what it expands to, counted by hand, and what is said where it cannot be."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from analysis.base.errors import ConfigError, Fault
from analysis.measure.cost import cost, print_plan
from analysis.measure.declare import load
from analysis.measure.job import allocate
from analysis.measure.matrix import expand
from analysis.measure.workflow import requested
from analysis.schema.factors import FACTORS

from .conftest import CAMPAIGN, Changed


def test_matrix__expands_to_all_combinations_but_the_excluded(base: Path) -> None:
    plan = expand(load("c", base))
    # 2 cases x 3 node counts x 2 libraries less the large case on one node (2 libraries), 3 repeats.
    assert len(plan.runs) == (2 * 3 * 2 - 2) * 3 == 30
    assert plan.excluded == [(2, "the large case does not fit one node")]
    assert {run.ranks_per_node for run in plan.runs} == {8}
    assert not [run for run in plan.runs if run.case == "large" and run.nodes == 1]
    assert len({run.name for run in plan.runs}) == 30


def test_matrix__order_is_shuffled_by_the_seed_and_stays(changed: Changed) -> None:
    first = [run.name for run in expand(changed()).runs]
    assert first == [run.name for run in expand(changed()).runs]
    assert first != sorted(first)
    other = [run.name for run in expand(changed(("seed: 7", "seed: 8"))).runs]
    assert sorted(other) == sorted(first)
    assert other != first


def test_matrix__runs_keep_name_and_sequence_when_others_are_added(changed: Changed) -> None:
    before = [run.name for run in expand(changed()).runs]
    added = (("repeats: 3", "repeats: 5"), ("nodes: [1, 2, 4]", "nodes: [1, 2, 3, 4]"))
    after = [run.name for run in expand(changed(*added)).runs]
    assert [name for name in after if name in set(before)] == before


def test_matrix__combination_of_two_subsets_runs_once(changed: Changed) -> None:
    again = "\n    - name: again\n      why: to compare with the others\n      application: alpha\n"
    again += "      case: small\n      repeats: 5\n      factors: {nodes: [1, 3], mpi: ompi}\n"
    plan = expand(
        changed(("why: the large case does not fit one node}\n", f"why: the large one is too large}}{again}"))
    )
    # One cell is shared and has 5 repeats instead of 3; one is new and has 5.
    assert (len(plan.runs), plan.shared) == (30 + 2 + 5, 1)


AGAIN = """
    - name: again
      why: which calls the small case makes, and with which messages
      application: alpha
      case: small
      {}
"""
LAST = "why: the large case does not fit one node}\n"


def test_matrix__profiled_subset_is_preloaded_and_not_timed(changed: Changed) -> None:
    again = AGAIN.format("profiled: ipm\n      factors: {nodes: 2, mpi: ompi}")
    plan = expand(changed((LAST, f"why: the large one is too large}}{again}")))
    assert (len(plan.runs), plan.shared) == (30 + 3, 0)
    found = {
        (run.factors["profiler"], run.subset): allocate(plan.declared, run, ["n1", "n2"]).jobs[0]
        for run in plan.runs
        if run.nodes == 2 and run.factors["mpi"] == "ompi" and run.case == "small"
    }
    said = {key: (job.head["timing"], job.head["profile"], job.head["preload"]) for key, job in found.items()}
    assert said == {
        ("none", "scaling"): (True, "", ""),
        ("ipm", "again"): (False, "*.ipm.xml", "/opt/ipm/lib/libipm.so"),
    }
    assert "/opt/ipm/lib/libipm.so" in found["ipm", "again"].command


def test_matrix__run_is_timed_or_profiled_not_both(changed: Changed) -> None:
    timed = AGAIN.format("factors: {profiler: ipm, nodes: 2, mpi: ompi}")
    again = timed + AGAIN.replace("again", "profiles").format(
        "profiled: ipm\n      factors: {nodes: 2, mpi: ompi}"
    )
    with pytest.raises(
        ConfigError, match=r"c.yaml:23: subsets 'again' and 'profiles' share runs, one is 'profiled'"
    ):
        expand(changed((LAST, f"why: the large one is too large}}{again}")))


@pytest.mark.parametrize(
    ("factors", "expected"),
    [
        ("ranks_per_node: [half, all]", {4, 8}),
        ("ranks_per_node: all, placement: half-sockets", {4}),
        ("ranks_per_node: all, concurrent_jobs: 4", {2}),
        ("ranks_per_node: all, threads: 2", {4}),
        ("ranks_per_node: [8, all]", {8}),
    ],
)
def test_matrix__words_for_numbers_of_ranks(changed: Changed, factors: str, expected: set[int]) -> None:
    plan = expand(changed(("ranks_per_node: all", factors)))
    assert {run.ranks_per_node for run in plan.runs} == expected


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("cluster: paper", "cluster: papier", 5, "unknown cluster 'papier'; is 'paper' meant? known: paper"),
        ("[ompi, mpich]", "[ompi, impi]", 14, "unknown mpi 'impi'; is 'ompi' meant? known: ompi, mpich"),
        ("interconnect: ib", "interconnect: myri", 8, "unknown interconnect 'myri'; known: ib, eth"),
        ("cpu: new", "placement: spread", 8, "unknown placement 'spread'; known: all-cores, half-sockets"),
        ("[small, large]", "[small, huge]", 13, "alpha has no case 'huge'; known: small, large"),
        ("application: alpha", "application: gamma", 12, "unknown application 'gamma'; known: alpha, beta"),
        ("[1, 2, 4]", "[1, 2, 8]", 10, "8 nodes; the cluster has 4; ask for fewer"),
        (
            "ranks_per_node: all",
            "ranks_per_node: 9",
            10,
            "9 ranks and threads on a node; all-cores gives it 8",
        ),
        ("case: large, nodes: 1}", "case: large, nodes: 7}", 16, "excludes nothing"),
        ("case: large, nodes: 1}", "kase: large}", 16, "'kase' is no factor"),
        ("interconnect: ib, ", "", 10, "does not say which interconnect; choose: ib, eth"),
        ("cpu: new", "profiler: ipm+mpip", 8, "never two in one run"),
        ("cpu: new", "profiler: mpip", 8, "unknown profiler 'mpip'; known: none, ipm"),
        ("repeats: 3\n  factors", "repeats: 3\n  profiled: ipm\n  factors", 8, "unknown key 'profiled'"),
        (
            "case: [small, large]",
            "case: small\n      profiled: mpip",
            14,
            "unknown profiler 'mpip'; known: none",
        ),
        (
            "case: [small, large]",
            "case: small\n      profiled: none",
            14,
            "profiled: 'none' is not allowed here",
        ),
        ("factors: {nodes", "profiled: ipm\n      factors: {profiler: ipm, nodes", 14, "keep the factor if"),
        ("cpu: new", "tuning: fca-mxm", 10, "tuning 'fca-mxm' is not for mpich"),
        ("repeats: 3", "repeats: 0", 7, "matrix.repeats"),
        ("repeats: 3", "repeats: 3.0", 7, "matrix.repeats: 3.0 is not allowed here"),
        ("repeats: 3", "repeats: {within: 0%}", 7, "matrix.repeats.within: '0%' does not match"),
        ("repeats: 3", "repeats: {within: 5%, most: 7, least: 8}", 7, "at least 8 repeats, and at most 7"),
        ("repeats: 3", "repeats: 3\n  minutes: 1000000", 8, "matrix.minutes: 1000000 is greater than"),
        # As many nodes as there are is no number that one can compare; it must not become 1 silently.
        ("[1, 2, 4]", "all", 14, "nodes: 'all' is not allowed here; a whole number above 0"),
        ("ranks_per_node: all", "threads: all", 14, "threads: 'all' is not allowed here"),
        ("nodes: [1, 2, 4]", "nodse: 1", 14, "unknown key 'nodse'; is 'nodes' meant?"),
        ("{case: large, nodes: 1}", "{case: large, nodes: yes}", 16, "nodes: true is not allowed here"),
        ("  seed: 7", "  exclude:\n    - {when: {case: lagre}, why: it is misspelt}", 7, "excludes nothing"),
        ("name: scaling", f"name: {'x' * 81}", 10, "is too long"),
        ("title: A campaign on paper", 'title: "\\e[31mA"', 1, "title: holds a control character"),
        ("why: how far the larger case goes on with more nodes", "why: so", 11, "one sentence why"),
        ("name: scaling", 'name: "a; rm -rf /"', 10, "does not match"),
        ("name: scaling", 'name: "scaling\\n"', 10, "holds a control character"),
        ("ranks_per_node: all", "concurrent_jobs: 16", 10, "16 jobs at once on 8 cores"),
    ],
)
def test_matrix__names_file_line_and_remedy(
    changed: Changed, old: str, new: str, line: int, said: str
) -> None:
    with pytest.raises(ConfigError) as error:
        expand(changed((old, new)))
    fault = error.value.faults[0]
    assert fault.source.endswith("config/campaigns/c.yaml")
    assert (fault.line, said in str(fault)) == (line, True), str(error.value)


def test_matrix__template_that_a_case_cannot_fill_is_named(changed: Changed) -> None:
    with pytest.raises(
        ConfigError, match=r"c.yaml:13: alpha needs \$\{depth\}, which case 'small' does not give"
    ):
        expand(changed(("--size=${size}", "--size=${depth}"), file="applications/alpha"))
    with pytest.raises(ConfigError, match=r"alpha.yaml:8: .*a dollar sign that stands for nothing"):
        changed(("--size=${depth}", "--size=$(id)"), file="applications/alpha")


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("  threads: true", '  thread_arguments: ["$(id)"]', 9),
        ('arguments: ["--long"]', 'files: {alpha.in: "$(id)"}', 14),
    ],
)
def test_matrix__every_template_is_looked_at(changed: Changed, old: str, new: str, line: int) -> None:
    with pytest.raises(ConfigError, match=rf"alpha.yaml:{line}: .*a dollar sign that stands for nothing"):
        changed((old, new), file="applications/alpha")


def first_fault(changed: Changed, old: str, new: str, file: str) -> Fault:
    """Return the first fault of a declaration with a change in one file; it is of that file."""
    with pytest.raises(ConfigError) as caught:
        expand(changed((old, new), file=file))
    fault = caught.value.faults[0]
    assert fault.source.endswith(f"config/{file}.yaml")
    return fault


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("engine: proxy", "engine: proxxy", 2, "there is no reader 'proxxy'"),
        ("files: {alpha.in:", "files: {stdout.txt:", 11, "'stdout.txt' is Benchbook's own name"),
        ("values: {size: 3,", "values: {size: 3, nodes: 9,", 13, "'nodes' is Benchbook's own name"),
        ("local_size: 16", "local_size: big", 13, "local_size: 'big' is not of type 'integer'"),
        ("seconds: 10,", "seconds: .nan,", 13, "seconds: nan is not of type 'number'"),
    ],
)
def test_matrix__names_what_an_application_gets_wrong(
    changed: Changed, old: str, new: str, line: int, said: str
) -> None:
    fault = first_fault(changed, old, new, "applications/alpha")
    assert (fault.line, said in fault.found) == (line, True), str(fault)


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ('["0-3", "4-7"]', '["0-3", "3-7"]', 7, "core 3 was given before (socket 0)"),
        ('["0-3", "4-7"]', '["3-0"]', 7, "'3-0' runs backwards"),
        ('["0-3", "4-7"]', '["0-99999999999"]', 7, "cores.0: '0-99999999999' does not match"),
        ("nodes: 4", "nodes: 1000000000000000", 6, "nodes: 1000000000000000 is greater than the maximum"),
        ("nodes: 4", "nodes: 4.0", 6, "nodes: 4.0 is not of type 'integer'"),
        ("start_up: 4", "start_up: .inf", 10, "start_up: inf is not of type 'number'"),
        ("{UCX_NET_DEVICES: eth0}", "{no: 1}", 18, "the key false is no text"),
        ("start: mpirun, ", "start: mpirrun, ", 14, "'mpirrun' is not one of"),
        (
            "name: MPICH 4.0.2",
            "name: Open MPI 4.1.4",
            15,
            "'ompi' (mpirun) and 'mpich' (srun-pmi2) are both called 'Open MPI 4.1.4': their runs would be",
        ),
    ],
)
def test_matrix__names_what_a_cluster_gets_wrong(
    changed: Changed, old: str, new: str, line: int, said: str
) -> None:
    fault = first_fault(changed, old, new, "clusters/paper")
    assert (fault.line, said in fault.found) == (line, True), str(fault)
    assert "\n" not in str(fault)


def test_matrix__libraries_of_one_name_are_fine_where_no_two_cells_are_alike(changed: Changed) -> None:
    named = ("name: MPICH 4.0.2", "name: Open MPI 4.1.4")
    changed(("mpi: [ompi, mpich]", "mpi: ompi"))
    assert len(expand(changed(named, file="clusters/paper")).runs) == 15


def test_matrix__cells_may_differ_in_threads_alone(changed: Changed) -> None:
    """4 ranks on each node, with 1 or 2 threads: twice the cells, and each record says which."""
    plan = expand(changed(("ranks_per_node: all", "ranks_per_node: 4, threads: [1, 2]")))
    assert len(plan.runs) == 2 * 30
    assert {(run.ranks_per_node, run.factors["threads"]) for run in plan.runs} == {(4, 1), (4, 2)}
    heads = [allocate(plan.declared, run, ["n"] * run.nodes).jobs[0].head for run in plan.runs]
    told = Counter(tuple(head[name] for name in (*FACTORS, "repeat") if name in head) for head in heads)
    assert max(told.values()) == 1
    other = ("ranks_per_node: 4, threads: [1, 2]", "ranks_per_node: all, threads: [1, 2]")
    assert {run.ranks_per_node for run in expand(changed(other)).runs} == {4, 8}


FREQUENCIES = """\
  frequency:
    "2.0": {environment: {SLURM_CPU_FREQ_REQ: 2000000}}
    "2.25": {environment: {SLURM_CPU_FREQ_REQ: 2250000}, constraint: boost}
  cpu:
"""


def test_matrix__a_frequency_is_a_level_of_the_cluster(changed: Changed) -> None:
    before = expand(changed()).runs
    # Where no campaign asks for one, runs keep their names: what was measured is not measured again.
    plan = expand(changed(("  cpu:\n", FREQUENCIES), file="clusters/paper"))
    assert [run.name for run in plan.runs] == [run.name for run in before]
    assert {run.factors["frequency"] for run in plan.runs} == {""}
    head = allocate(plan.declared, plan.runs[0], ["n"] * plan.runs[0].nodes).jobs[0].head
    assert head["frequency"] is None
    plan = expand(changed(("cpu: new}", "cpu: new, frequency: [2.0, 2.25]}")))
    assert len(plan.runs) == 2 * len(before)
    run = next(run for run in plan.runs if run.factors["frequency"] == 2.25)
    allocation = allocate(plan.declared, run, ["n"] * run.nodes)
    assert allocation.jobs[0].head["frequency"] == 2.25
    assert allocation.environment["SLURM_CPU_FREQ_REQ"] == "2250000"
    assert requested(plan.declared, run)["constraint"] == "quiet&haswell&boost"


def test_matrix__a_frequency_that_the_cluster_has_not_is_refused(changed: Changed) -> None:
    with pytest.raises(ConfigError, match=r"c.yaml:8: unknown frequency 3.0; known: none; the cluster's"):
        expand(changed(("cpu: new}", "cpu: new, frequency: 3.0}")))


def test_matrix__a_number_of_gpus_is_a_level_of_the_cluster(changed: Changed) -> None:
    levels = '  gpus:\n    "1": {}\n    "8": {environment: {CUDA_VISIBLE_DEVICES: "0,1,2,3"}}\n  cpu:\n'
    before = expand(changed(("  cpu:\n", levels), file="clusters/paper")).runs
    plan = expand(changed(("cpu: new}", "cpu: new, gpus: 8, nodes: 2}")))
    run = next(run for run in plan.runs if run.factors["gpus"] == 8)
    allocation = allocate(plan.declared, run, ["n"] * run.nodes)
    assert (allocation.jobs[0].head["gpus"], type(allocation.jobs[0].head["gpus"])) == (8, int)
    assert allocation.environment["CUDA_VISIBLE_DEVICES"] == "0,1,2,3"
    assert requested(plan.declared, run)["slurm_extra"].endswith(" --gpus-per-node=4")
    assert "gpus" not in str(requested(plan.declared, before[0]))
    with pytest.raises(ConfigError, match="1 GPU on 2 nodes"):
        expand(changed(("gpus: 8, nodes: 2}", "gpus: 1, nodes: 2}")))


def test_matrix__general_exclusion_counts_over_all_subsets_and_is_told_once(changed: Changed) -> None:
    second = (
        CAMPAIGN[CAMPAIGN.index("    - name: scaling") :]
        .replace("scaling", "again")
        .split("      exclude")[0]
    )
    rule = "  exclude:\n    - {when: {mpi: mpich, nodes: 4}, why: it hangs there on this machine}"
    plan = expand(changed(("  seed: 7", rule), ("one node}\n", f"one node}}\n{second}")))
    # In each subset both cases lose one combination to it: one rule, four times.
    assert plan.excluded == [
        (2, "the large case does not fit one node"),
        (4, "it hangs there on this machine"),
    ]


def test_matrix__adaptive_cells_start_with_the_least(changed: Changed) -> None:
    plan = expand(changed(("repeats: 3", "repeats: {within: 5%, least: 7, most: 12}")))
    assert len(plan.runs) == 10 * 7
    first = plan.runs[0]
    assert plan.adaptive[first.cell] == (0.05, 12)
    assert plan.run(f"{first.cell}-r12").repeat == 12
    with pytest.raises(ConfigError, match="the matrix has no run"):
        plan.run(f"{first.cell}-r13")


def test_matrix__costs_what_a_list_schedule_costs(base: Path) -> None:
    plan = expand(load("c", base))
    price = cost(plan, plan.runs)
    # small: 1, 2, 4 nodes at 10 + 4 s; large: 2, 4 nodes at 100 + 4 s; two libraries, three repeats.
    assert price.node_hours == pytest.approx(6 * (7 * 14 + 6 * 104) / 3600)
    assert price.node_hours_limit == pytest.approx(6 * (7 + 6) * 10 / 60)
    # Two 2-node runs side by side, then one of 4 nodes that waits for both.
    two = [run for run in plan.runs if run.case == "small" and run.nodes == 2][:2]
    four = [run for run in plan.runs if run.case == "large" and run.nodes == 4][:1]
    assert cost(plan, [*two, *four]).duration == 14 + 104


def test_matrix__5000_runs_are_planned_in_seconds(changed: Changed) -> None:
    declared = changed(("repeats: 3", "repeats: 500"))
    begin = time.perf_counter()
    plan = expand(declared)
    cost(plan, plan.runs)
    assert len(plan.runs) == 5000
    assert time.perf_counter() - begin < 5


def test_matrix__the_shipped_campaigns_are_good() -> None:
    assert len(expand(load("local")).runs) >= 30


def test_show__plan_of_a_campaign_that_was_changed_after_half_its_runs(
    base: Path, changed: Changed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(base)
    for run in expand(load("c", base)).runs:  # 5 cells of 2 libraries, 3 repeats: 30 runs
        folder = base / "data/raw/c/runs" / run.name
        folder.mkdir(parents=True)
        (folder / "run.json").touch()
    adaptive = ("repeats: 3", "repeats: {within: 5%, most: 30}")
    changed(adaptive, ("[ompi, mpich]", "mpich"))
    assert print_plan("c") == 0
    out = capsys.readouterr().out.splitlines()
    # Of one library 5 cells stay: 6 repeats each at first, 3 of them are there, and 15 runs of the other.
    assert "measured: 15 of 30 runs" in out
    assert "in addition: 15 runs that the matrix does not declare; they count like the others" in out
    # Small on 1, 2, 4 nodes for 10 + 4 s, large on 2, 4 for 100 + 4 s: 7 x 14 + 6 x 104 = 722 node seconds;
    # 13 nodes of 10 minutes at the limits.
    (said,) = [line for line in out if "until the median" in line]
    assert said == (
        "5 combinations: repeated until the median is known, at most 30 times;"
        " with all of that 150 runs, 6.02 node hours expected"
    )
    assert next(line for line in out if line.startswith("left: ")).startswith(
        "left: 15 runs, 0.60 node hours expected, 6.50 at the time limits"
    )
    assert out[-1] == "start: snakemake --profile slurm measure --config measure=c"
    changed(("scheduler: slurm", "scheduler: none"), file="clusters/paper")
    assert print_plan("c") == 0
    assert capsys.readouterr().out.endswith("start: snakemake --cores all measure --config measure=c\n")

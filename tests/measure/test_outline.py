"""A new campaign: nodes as Slurm lists them, files that pass the plan."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from analysis import cli
from analysis.base import project
from analysis.base.errors import ConfigError
from analysis.measure import declare, matrix, nodes, outline, prepare, record

ROOT = Path(__file__).parents[2]
# Slurm 22.05.8's `scontrol show node`, with the host's and the release's name of the kernel shortened.
NODE = """\
NodeName={name} Arch=x86_64 CoresPerSocket={cores} 
   CPUAlloc=0 CPUEfctv=8 CPUTot=8 CPULoad=11.39
   AvailableFeatures={features}
   ActiveFeatures={features}
   Gres={gres}
   NodeAddr=10.77.0.1 NodeHostName={name} Version=22.05.8
   OS=Linux 6.18.44 #1 SMP PREEMPT_DYNAMIC @0 
   RealMemory=4000 AllocMem=0 FreeMem=17857 Sockets=2 Boards=1
   State={state} ThreadsPerCore={threads} TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   Partitions={partitions} 
   BootTime=2026-11-22T14:00:24 SlurmdStartTime=2026-11-22T18:07:49
   CfgTRES=cpu=8,mem=4000M,billing=8
   AllocTRES=
   ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s

"""  # noqa: W291
PLAIN = {
    "cores": 4,
    "features": "(null)",
    "gres": "(null)",
    "state": "IDLE",
    "threads": 1,
    "partitions": "batch",
}


def listed(*changed: dict[str, Any], one_line: bool = False) -> str:
    """Write nodes as Slurm does, in the form of ``-o`` too."""
    blocks = [NODE.format(**{"name": f"n{at}", **PLAIN, **one}) for at, one in enumerate(changed, 1)]
    if one_line:
        blocks = [" ".join(block.split("\n")).replace("   ", " ").rstrip() + "\n" for block in blocks]
    return "".join(blocks)


@pytest.mark.parametrize("one_line", [False, True])
def test_nodes__alike_nodes_make_a_kind(one_line: bool) -> None:
    text = listed(
        {"features": "haswell,ib"},
        {"features": "haswell,ib", "state": "MIXED"},
        {"features": "haswell,ib", "state": "DOWN*+DRAIN"},
        {"cores": 16, "threads": 2, "gres": "gpu:a100:4(S:0-1)", "partitions": "gpu,long"},
        one_line=one_line,
    )
    many, few = nodes.kinds(text, "nodes.txt")
    assert (many.nodes, many.sockets, many.cores, many.threads, many.memory) == (2, 2, 4, 1, 4000)
    assert (many.features, many.gres, many.partitions) == (("haswell", "ib"), "", ("batch",))
    assert many.numbers == ["0-3", "4-7"]
    assert (few.nodes, few.cores, few.threads, few.gres) == (1, 16, 2, "gpu:a100:4(S:0-1)")
    assert few.partitions == ("gpu", "long")
    assert [kind.partitions for kind in nodes.kinds(text, "nodes.txt", "long")] == [("long",)]


def test_nodes__memory_that_slurm_keeps_for_itself_is_not_for_jobs() -> None:
    (kind,) = nodes.kinds(listed({}).replace("RealMemory=4000", "RealMemory=4000 MemSpecLimit=500"), "-")
    assert kind.memory == 3500
    (kind,) = nodes.kinds(listed({}).replace("RealMemory=4000", "RealMemory=400 MemSpecLimit=500"), "-")
    assert kind.memory == 1


def test_nodes__a_feature_that_is_asked_for_is_all_that_counts() -> None:
    text = listed({"features": "ivb,single"}, {"features": "ivb,dual"}, {"features": "hsw,dual"})
    assert len(nodes.kinds(text, "-")) == 3
    (kind,) = nodes.kinds(text, "-", feature="ivb")
    assert (kind.nodes, kind.features) == (2, ("ivb",))


@pytest.mark.parametrize(
    ("text", "partition", "said"),
    [
        ("", "", "nodes.txt: no node; give the output of `scontrol show node`"),
        ("slurm_load_node error: Unable to contact\n", "", "nodes.txt: no node;"),
        (listed({}), "debug", "nodes.txt: no node with partition 'debug'; there are batch"),
        (listed({"state": "DRAIN"}), "", "1 nodes, all down or drained"),
        ("\n" + listed({}, {"cores": ""}), "", "nodes.txt:17: node n2 has no CoresPerSocket"),
    ],
)
def test_nodes__what_cannot_be_read_is_said(text: str, partition: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        nodes.kinds(text, "nodes.txt", partition)
    assert said in str(error.value)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(ROOT / "config", tmp_path / "config")
    (tmp_path / "nodes.txt").write_text(listed({}, {}, {}, {}, {}))
    monkeypatch.chdir(tmp_path)
    # The machine that the tests run on is like no other, and slow to describe.
    here = nodes.Kind(
        1, 1, 1, 1, 1000, facts=({"what": "CPU", "value": "Xeon", "source": "lscpu"},), slurm=False
    )
    monkeypatch.setattr(nodes, "here", lambda: here)
    return tmp_path


def planned(name: str, base: Path) -> matrix.MatrixPlan:
    return matrix.expand(declare.load(name, base))


def test_new_campaign__our_own_program_has_a_compiler_and_the_plan_refuses_one_without(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there = {"mpicc.openmpi": "/opt/mpi/bin/mpicc.openmpi", "mpicc": "/usr/bin/mpicc"}
    monkeypatch.setattr(shutil, "which", there.get)
    assert cli.main(["new-campaign", "mine", "--yes", "--mpi", "Open MPI 4.1.4,MPICH 4.0.2"]) == 0
    libraries = declare.load("mine", elsewhere).launch.mpi
    assert [one.compiler for one in libraries.values()] == ["/opt/mpi/bin/mpicc.openmpi", "/usr/bin/mpicc"]
    path = elsewhere / "config/clusters/mine.yaml"
    path.write_text(path.read_text().replace("      compiler: /usr/bin/mpicc\n", ""))
    lines = path.read_text().splitlines()
    at = next(number for number, line in enumerate(lines, 1) if line == "    MPICH-4.0.2:")
    with pytest.raises(ConfigError, match=rf"mine.yaml:{at}: MPICH-4.0.2 names no compiler; add 'compiler:"):
        planned("mine", elsewhere)
    capsys.readouterr()
    there.clear()
    assert cli.main(["new-campaign", "bare", "--yes"]) == 0
    todo = "config/clusters/bare.yaml: where the compiler of Open MPI is, for /path/to/mpicc"
    assert f"fill in: {todo}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name",
    [
        "cp2k",
        "gromacs",
        "hpl",
        "ior",
        "lammps",
        "lulesh",
        "namd",
        "nwchem",
        "openfoam",
        "quantum-espresso",
        "stream",
    ],
)
def test_new_campaign__known_programs_need_no_file(elsewhere: Path, name: str) -> None:
    flags = ["--yes", "--application", name, "--binary", "/opt/run", "--nodes", "1"]
    assert cli.main(["new-campaign", "mine", *flags]) == 0
    assert len(planned("mine", elsewhere).runs) == 6
    assert not list((elsewhere / "config/applications").glob("*-mine.yaml"))


def test_new_campaign__the_input_is_a_file_or_a_folder(
    elsewhere: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--yes", "--nodes", "1", "--binary", "/opt/run", "--application"]
    deck = tmp_path / "h2o.nw"
    assert cli.main(["new-campaign", "mine", *flags, "nwchem", "--input", str(deck)]) == 1
    assert f"--input: there is no {deck}" in capsys.readouterr().err
    deck.write_text("start h2o")
    assert cli.main(["new-campaign", "mine", *flags, "nwchem", "--input", str(deck)]) == 0
    assert "/path/to" not in capsys.readouterr().out
    launch = project.load_yaml(elsewhere / "config/clusters/mine.yaml")["launch"]
    assert launch["applications"]["nwchem"]["inputs"] == {"input": {"path": str(deck)}}
    assert cli.main(["new-campaign", "foam", *flags, "openfoam", "--input", str(tmp_path)]) == 0
    launch = project.load_yaml(elsewhere / "config/clusters/foam.yaml")["launch"]
    assert launch["applications"]["openfoam"]["inputs"] == str(tmp_path)


def test_new_campaign__an_input_is_measured_and_never_left_out(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """LAMMPS has cases of its own, of which the first was measured in place of the input."""
    (elsewhere / "in").mkdir()
    deck = elsewhere / "in/melt.in"
    deck.write_text("run 1", encoding="utf-8")
    flags = ["--yes", "--nodes=1", "--binary=/opt/run", f"--input={deck}"]
    assert cli.main(["new-campaign", "mine", *flags, "--application=lammps"]) == 0
    (run, *_) = planned("mine", elsewhere).runs
    assert run.case == "input"
    (job,) = prepare.now(elsewhere, "mine", run.name, ["n1"], [])["jobs"]
    assert job["command"][-2:] == ["-in", str(deck)]
    for others, why in {
        ("lammps", "--case=lj"): "--input: lammps takes no input for lj; give --case input",
        ("hpcc",): "--input: hpcc takes no input; leave it out, or name it in --arguments",
        ("namd",): f"--input: {deck} is a file, and namd needs its folder; ",
        ("lammps", "--arguments=-in other.in"): "--input: no word of --arguments is this file; name melt.in",
    }.items():
        name, *more = others
        assert cli.main(["new-campaign", "other", *flags, f"--application={name}", *more]) == 1
        assert why in capsys.readouterr().err
    own = [*flags, "--application=lammps", "--arguments=-in melt.in"]
    assert cli.main(["new-campaign", "own", *own]) == 0
    (run, *_) = planned("own", elsewhere).runs
    (job,) = prepare.now(elsewhere, "own", run.name, ["n1"], [])["jobs"]
    assert job["command"][-2:] == ["-in", str(deck)]
    assert cli.main(["new-campaign", "folder", *own, f"--input={deck.parent}"]) == 0
    (run, *_) = planned("folder", elsewhere).runs
    (job,) = prepare.now(elsewhere, "folder", run.name, ["n1"], [])["jobs"]
    assert (job["command"][-1], job["links"]) == ("melt.in", str(deck.parent))


@pytest.mark.parametrize("flag", ["--binary=/opt/other", "--input=nodes.txt"])
def test_new_campaign__a_program_or_input_is_not_left_out_where_the_cluster_has_its_own(
    elsewhere: Path, capsys: pytest.CaptureFixture[str], flag: str
) -> None:
    flags = ["--yes", "--nodes=1", "--binary=/opt/lmp", "--input=nodes.txt", "--application=lammps"]
    assert cli.main(["new-campaign", "mine", *flags]) == 0
    flags = ["--yes", "--nodes=1", "--cluster=mine", "--application=lammps", "--case=input"]
    assert cli.main(["new-campaign", "other", *flags, flag]) == 1
    name = flag.partition("=")[0]
    why = (
        f"{name}: config/clusters/mine.yaml has the program and its input, and stays as it is; leave the flag"
    )
    assert why in capsys.readouterr().err
    assert cli.main(["new-campaign", "other", *flags]) == 0


def test_new_campaign__a_program_that_is_linked_to_another_library_is_named(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(outline, "library_of", lambda path: "Open MPI 4.1.4")
    flags = ["--yes", "--nodes=1", "--binary=/opt/hpcc", "--application=hpcc"]
    assert cli.main(["new-campaign", "mine", *flags, "--mpi=MPICH 4.0.2"]) == 0
    why = "check: /opt/hpcc is linked to Open MPI 4.1.4, and MPICH 4.0.2 is to start it\n"
    assert why in capsys.readouterr().out
    assert cli.main(["new-campaign", "own", *flags, "--mpi=Open MPI 4.1.5"]) == 0
    assert "check: " not in capsys.readouterr().out


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that alone is in PATH, with programs that do nothing; they are linked to no library."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("lmp", "nwchem.mpich", "nwchem.openmpi", "icoFoam", "mpirun.openmpi", "osu_bw", "wave"):
        (folder / name).write_text("#!/bin/sh\n", encoding="ascii")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.mark.parametrize(
    ("flags", "program"),
    [
        ("--application lammps", "lmp"),
        ("--application nwchem", "nwchem.openmpi"),  # as Debian calls it
        ("--application nwchem --mpi MPICH~4.2", "nwchem.mpich"),
        ("--application openfoam --input case", "icoFoam"),  # as the input says
        ("--application osu --case bw", "osu_${case}"),
        ("--application wave --done all~done", "wave"),  # as it is called; no reader knows its output
        ("--application lammps --done all~done", "lmp"),  # another way to start a known one
        ("--application lammps --binary /opt/lmp", "/opt/lmp"),
        ("--application gromacs", "/path/to/gromacs"),
        ("--application lammps --scontrol nodes.txt", "/path/to/lammps"),  # of another machine
    ],
)
def test_new_campaign__takes_the_program_in_path(
    elsewhere: Path, programs: Path, capsys: pytest.CaptureFixture[str], flags: str, program: str
) -> None:
    (elsewhere / "case/system").mkdir(parents=True)
    (elsewhere / "case/system/controlDict").write_text("application     icoFoam;\n", encoding="ascii")
    given = [word.replace("~", " ") for word in flags.split()]
    assert cli.main(["new-campaign", "mine", "--yes", "--nodes", "1", *given]) == 0
    said = capsys.readouterr().out
    launch = project.load_yaml(elsewhere / "config/clusters/mine.yaml")["launch"]
    ((_, site),) = launch["applications"].items()
    assert site["program"] == (program if program.startswith("/") else f"{programs}/{program}")
    found = "/" not in program
    assert ("which is in PATH; --binary gives another" in said) == found
    assert ("where the program is" in said) == (program.startswith("/path/to"))
    (library,) = launch["mpi"].values()
    own = "scontrol" not in flags and library["family"] == "openmpi"
    assert library.get("launcher") == ("mpirun.openmpi" if own else None)
    assert len(planned("mine", elsewhere).runs) == 6


@pytest.mark.parametrize(
    ("said", "name"),
    [
        # As MPI_Get_library_version answers here, and by the manuals of the last two.
        (
            "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022",
            "Open MPI 4.1.4",
        ),
        ("MPICH Version:      4.0.2\nMPICH Release date: Thu Apr  7 12:34:45 CDT 2022", "MPICH 4.0.2"),
        (
            "MVAPICH2 Version      :\t2.3.7\nMVAPICH2 Release date :\tWed March 02 22:00:00 EST 2022",
            "MVAPICH 2.3.7",
        ),
        ("Intel(R) MPI Library 2021.6 for Linux* OS\n", "Intel MPI 2021.6"),
        ("HMPT 2.4", ""),
        ("", ""),
    ],
)
def test_outline__a_library_has_its_family_and_version(
    programs: Path, monkeypatch: pytest.MonkeyPatch, said: str, name: str
) -> None:
    monkeypatch.setattr(record, "linked", lambda program, _: {"libmpi.so.40": program})
    monkeypatch.setattr(record, "mpi_library", lambda libraries, _: {"version": said})
    assert outline.library_of(f"{programs}/lmp") == name
    assert outline.library_of(f"{programs}/missing") == ""


def test_new_campaign__flags_count_for_a_known_program_too(elsewhere: Path) -> None:
    flags = [
        "--yes",
        "--application",
        "gromacs",
        "--binary",
        "/opt/gmx",
        "--arguments=mdrun -s x.tpr -g md.log",
    ]
    assert cli.main(["new-campaign", "mine", *flags, "--nodes", "1"]) == 0
    own = project.load_yaml(elsewhere / "config/applications/gromacs-mine.yaml")
    assert (own["engine"], own["figure_of_merit"], own["unit"]) == ("gromacs", "ns/day", "ns/day")
    assert own["launch"]["arguments"] == ["mdrun", "-s", "x.tpr", "-g", "md.log"]
    assert own["launch"]["result"] == {"file": "md.log", "text": "Finished mdrun"}
    assert {run.application for run in planned("mine", elsewhere).runs} == {"gromacs-mine"}


def test_new_campaign__another_way_to_start_a_program_keeps_its_folder_of_inputs(elsewhere: Path) -> None:
    flags = ["--application=namd", "--arguments=ala.namd", "--input=config", "--binary=/opt/namd2"]
    assert cli.main(["new-campaign", "mine", "--yes", *flags, "--nodes=1"]) == 0
    (run, *_) = planned("mine", elsewhere).runs
    (job,) = prepare.now(elsewhere, "mine", run.name, ["n1"], [])["jobs"]
    assert job["links"] == str(elsewhere / "config")
    assert job["command"][-2:] == ["/opt/namd2", "ala.namd"]


def test_new_campaign__a_variable_is_in_the_script_and_the_record_of_each_run(elsewhere: Path) -> None:
    flags = ["--application=nwchem", "--input=nodes.txt", "--scontrol=nodes.txt", "--nodes=1,2"]
    flags += ["--env=UCX_TLS=tcp,self", "--env", "NOTE=it's = 1"]
    assert cli.main(["new-campaign", "mine", "--yes", *flags]) == 0
    for run in planned("mine", elsewhere).runs:
        found = prepare.now(elsewhere, "mine", run.name, ["n1", "n2"][: run.nodes], [])
        expected = {"UCX_TLS": "tcp,self", "NOTE": "it's = 1"}
        assert expected.items() <= found["environment"].items()
        assert """export UCX_TLS=tcp,self\nexport NOTE='it'"'"'s = 1'\n""" in found["script"]
        # Slurm gives the other nodes no environment: Open MPI has to.
        (job,) = found["jobs"]
        assert " -x UCX_TLS " in " ".join(job["command"])


def test_new_campaign__variables_are_the_campaigns_where_the_cluster_is_there(elsewhere: Path) -> None:
    before = (elsewhere / "config/clusters/local.yaml").read_text()
    assert cli.main(["new-campaign", "mine", "--yes", "--cluster=local", "--env=A=1", "--env=A2=b c"]) == 0
    assert project.load_yaml(project.declaration("mine", elsewhere))["matrix"]["environment"] == {
        "A": "1",
        "A2": "b c",
    }
    assert (elsewhere / "config/clusters/local.yaml").read_text() == before
    (run, *_) = planned("mine", elsewhere).runs
    found = prepare.now(elsewhere, "mine", run.name, ["n1"], [])
    assert {"A": "1", "A2": "b c"}.items() <= found["environment"].items()


@pytest.mark.parametrize(
    ("program", "folder"),
    [
        ("usr/bin/icoFoam", "usr/share/openfoam"),
        ("foam/platforms/gcc/bin/icoFoam", "foam"),
        ("b/icoFoam", ""),
    ],
    ids=["Debian", "from source", "unknown"],
)
def test_new_campaign__openfoams_folder_is_found_from_where_its_program_is(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, program: str, folder: str
) -> None:
    monkeypatch.delenv("WM_PROJECT_DIR", raising=False)
    for name in (program, "usr/share/openfoam/etc/controlDict", "foam/etc/controlDict"):
        (elsewhere / name).parent.mkdir(parents=True, exist_ok=True)
        (elsewhere / name).touch(mode=0o755)
    flags = ["--application=openfoam", f"--binary={elsewhere / program}", "--input=config"]
    assert cli.main(["new-campaign", "mine", "--yes", *flags, "--scontrol=nodes.txt", "--nodes=2"]) == 0
    (run, *_) = planned("mine", elsewhere).runs
    found = prepare.now(elsewhere, "mine", run.name, ["n1", "n2"], [])
    assert found["environment"].get("WM_PROJECT_DIR", "") == (str(elsewhere / folder) if folder else "")
    assert found["jobs"][0]["command"].count("WM_PROJECT_DIR") == 1


@pytest.mark.parametrize(
    ("flags", "cells", "cluster"),
    [
        ("", 1, {"scheduler": "none", "cores": "auto", "nodes": 1}),
        ("--scontrol nodes.txt", 3, {"scheduler": "slurm", "nodes": 5, "cores": ["0-3", "4-7"]}),
        ("--scontrol nodes.txt --nodes 1,2,5 --interconnect ib,eth --mpi MPICH~4.2,Open~MPI~5.0", 12, {}),
        ("--scontrol nodes.txt --nodes 1 --case nx16,nx104", 2, {"partition": "batch"}),
        ("--scontrol nodes.txt --application osu --ranks-per-node 1 --nodes 2", 1, {}),
        ("--scontrol nodes.txt --application ls-dyna", 3, {}),
        ("--scontrol nodes.txt --application wave --engine stream --done all~done --arguments=-n~5$", 3, {}),
        ("--cluster local --ranks-per-node all", 1, {}),
    ],
    ids=["here", "slurm", "a matrix", "cases", "osu", "input files", "a new application", "a cluster"],
)  # fmt: skip
def test_new_campaign__files_pass_the_plan(
    elsewhere: Path, capsys: pytest.CaptureFixture[str], flags: str, cells: int, cluster: dict[str, Any]
) -> None:
    given = [word.replace("~", " ") for word in flags.split()]
    assert cli.main(["new-campaign", "mine", "--yes", *given]) == 0
    told = capsys.readouterr().out
    plan = planned("mine", elsewhere)
    assert len(plan.runs) == 6 * cells
    path = elsewhere / "config/clusters/mine.yaml"
    assert path.is_file() == ("--cluster" not in flags)
    if cluster:
        launch = project.load_yaml(path)["launch"]
        assert {key: launch[key] for key in cluster} == cluster
    for left in ("/path/to" in path.read_text() if path.is_file() else False,):
        assert left == ("where the program is" in told)
    assert (elsewhere / "data/raw/mine/runs").is_dir()
    assert "benchbook plan mine" in told


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (
            "--nodes 4",
            "--nodes: asks for 4; there is 1 of this kind; ask for fewer, or take other nodes with --from-",
        ),
        ("--cluster local --nodes 4", "4 nodes; the cluster has 1; ask for fewer"),
        ("--nodes two", "--nodes: 'two' is no count"),
        ("--application graph500", "nothing says how to start 'graph500'"),
        ("--application wave", "no application is called 'wave'; give --done TEXT"),
        ("--application hpcg --case nx9", "hpcg has no case 'nx9'; known: nx16"),
        ("--env UCX_TLS", "--env: 'UCX_TLS' sets no variable; write it like UCX_TLS=tcp,self"),
        ("--env 1X=2", "--env: '1X=2' sets no variable"),
        ("--scontrol missing.txt", "missing.txt: No such file"),
        ("--scontrol nodes.txt --partition big", "there are batch"),
    ],
)
def test_new_campaign__refuses_and_leaves_nothing(
    elsewhere: Path, capsys: pytest.CaptureFixture[str], flags: str, said: str
) -> None:
    before = sorted(elsewhere.rglob("*.yaml"))
    assert cli.main(["new-campaign", "mine", "--yes", *flags.split()]) == 1
    assert said in capsys.readouterr().err
    assert sorted(elsewhere.rglob("*.yaml")) == before
    assert not project.raw("mine", elsewhere).exists()


def test_new_campaign__asks_on_a_terminal_for_what_no_flag_says(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (elsewhere / "nodes.txt").write_text(listed({}, {"cores": 8}, {"cores": 8}))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    answers = {
        "which of them": "2",
        "application": "hpcg",
        "case": "nx64",
        "MPI": "MPICH 4.2",
        "path": "/opt/x",
    }
    asked: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        return next((said for begin, said in answers.items() if question.startswith(begin)), "")

    monkeypatch.setattr("builtins.input", answer)
    assert cli.main(["new-campaign", "mine", "--scontrol", "nodes.txt"]) == 0
    launch = project.load_yaml(elsewhere / "config/clusters/mine.yaml")["launch"]
    assert launch["cores"] == ["0-3", "4-7"]  # the second kind
    assert launch["applications"] == {"hpcg": {"program": "/opt/x"}}
    assert list(launch["mpi"]) == ["MPICH-4.2"]
    assert {run.case for run in planned("mine", elsewhere).runs} == {"nx64"}
    assert asked[0].startswith("which of them")


def test_new_campaign__this_machine_is_described_by_its_own_facts() -> None:
    kind = nodes.here()
    assert not kind.slurm
    assert kind.memory > 100
    assert all(fact["source"] for fact in kind.facts)

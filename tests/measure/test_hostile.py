"""A campaign from a stranger: its values reach no shell as code, and its YAML makes no objects."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from analysis.base.errors import ConfigError
from analysis.measure import layout, workflow
from analysis.measure.declare import load
from analysis.measure.job import allocate
from analysis.measure.matrix import expand

HOSTILE = (
    "x; touch pwned",
    "$(touch pwned)",
    "`touch pwned`",
    "x\ntouch pwned",
    "x\n",
    "x' touch pwned '",
    'x" touch pwned "',
    "x && touch pwned",
    "x > pwned",
    "--wrap=touch pwned",
    "-x",
    "../../x",
    "x y",
    "{x}",
    "x\\",
    "\u202ex",
    "",
)

# Each place from which a value gets into a command line of sbatch, a path or a line of a shell: the file,
# and the text before and after it.
FIELDS = {
    "partition": ("clusters/paper", "  partition: ", "batch"),
    "constraint": ("clusters/paper", "  constraint: ", "quiet"),
    "account": ("clusters/paper", "  account: ", None),
    "level's partition": ("clusters/paper", "eth: {partition: ", "slow"),
    "level's constraint": ("clusters/paper", "new: {constraint: ", "haswell"),
    "level": ("campaigns/c", "cpu: ", "new"),
    "cluster": ("campaigns/c", "cluster: ", "paper"),
    "subset": ("campaigns/c", "name: ", "scaling"),
    "application": ("campaigns/c", "application: ", "alpha"),
    "case": ("campaigns/c", "case: [", "small"),
    "MPI": ("campaigns/c", "mpi: [", "ompi"),
}


def put(base: Path, field: str, value: str) -> None:
    """Write a value into a field of one of the three files, as YAML's own quoted text."""
    file, before, old = FIELDS[field]
    path = base / f"config/{file}.yaml"
    text = path.read_text(encoding="utf-8")
    new = before + json.dumps(value)
    if old is None:
        text = text.replace("  partition: batch\n", f"  partition: batch\n{new}\n", 1)
    else:
        assert before + old in text
        text = text.replace(before + old, new, 1)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("file", ["clusters/paper", "campaigns/c"])
@pytest.mark.parametrize("value", HOSTILE)
def test_hostile__values_of_slurm_and_names_are_refused_with_their_line(
    base: Path, file: str, value: str
) -> None:
    fields = [field for field in FIELDS if FIELDS[field][0] == file]
    for field in fields:
        put(base, field, value)
    lines = (base / f"config/{file}.yaml").read_text(encoding="utf-8").splitlines()
    wanted = {at for at, line in enumerate(lines, 1) if json.dumps(value) in line}
    with pytest.raises(ConfigError) as caught:
        expand(load("c", base))
    assert {fault.line for fault in caught.value.faults if fault.source.endswith(f"{file}.yaml")} >= wanted


@pytest.mark.parametrize("field", ["partition", "constraint", "account", "level's constraint"])
@pytest.mark.parametrize("value", ["a&b", "a|b*2", "gpu:v100", "1x"])
def test_hostile__what_slurm_itself_understands_is_passed_on(base: Path, field: str, value: str) -> None:
    put(base, field, value)
    workflow.plan.cache_clear()
    run = workflow.plan("c", base).runs[0]
    asked = workflow.resources.__wrapped__("c", run.name, base)
    assert value in " ".join(map(str, asked.values()))
    # The one value that the executor takes as it is holds numbers of ours only.
    assert asked["slurm_extra"] == "--exclusive --ntasks-per-node=8"


@pytest.mark.parametrize("file", ["clusters/paper", "campaigns/c", "applications/alpha"])
def test_hostile__yaml_makes_no_objects(base: Path, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(base)
    path = base / f"config/{file}.yaml"
    tag = "title: !!python/object/apply:os.system ['touch pwned']"
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("title: ")
    path.write_text("\n".join([tag, *lines[1:]]) + "\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"config/{file}.yaml:1: .*python/object"):
        load("c", base)
    assert not (base / "pwned").exists()


def test_hostile__output_of_a_job_does_not_reach_the_folder_of_inputs(base: Path, tmp_path: Path) -> None:
    inputs, work = tmp_path / "inputs", tmp_path / "work"
    for folder in (inputs, work):
        folder.mkdir()
    for name in ("in.k", "stdout.txt", "run.json"):
        (inputs / name).write_text("theirs", encoding="utf-8")
    declared = load("c", base)
    run = expand(declared).runs[0]
    job = allocate(declared, run, ["n1", "n2", "n3", "n4"][: run.nodes]).jobs[0]
    jobs = [asdict(replace(job, links=str(inputs)))]
    layout.lay_out(work, {"script": "", "jobs": jobs}, {})
    assert [path.name for path in (work / "1").iterdir() if path.is_symlink()] == ["in.k"]

"""What README.md and docs/ show: commands run, Python executes, YAML is loaded, and paths exist."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from analysis import cli, readers
from analysis.claims.model import load_report
from analysis.measure.power import config as power

from .importing import trees
from .test_house import ORDER

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WRITTEN = [*PAGES, ROOT / "CONTRIBUTING.md"]

# Pages whose blocks build on each other are run as a whole: tests/test_tutorial.py, tests/test_extend.py.
AS_A_WHOLE = ("tutorial.md", "extend.md")
# Commands that are not started here, each with the file that runs or checks it and how it says so.
ELSEWHERE = {
    "snakemake --profile slurm -n": ("tests/workflow/test_workflow.py", '"-n", "--profile", "slurm"'),
    "snakemake --cores 2 whatif-check": ("tests/workflow/test_workflow.py", '"whatif-check"'),
    "snakemake --cores 2 simulated --config hpcg=PATH": ("tests/workflow/test_workflow.py", '"simulated"'),
    "snakemake --profile slurm measure --config measure=NAME": (
        "tests/slurm/campaigns.py",
        '"--config", "measure=',
    ),
    "python benchmarks/study_disturbances.py --disturbances 40 --runs 40 --seed 31": (
        "tests/slurm/test_disturbances.py",
        'loaded("study_disturbances")',
    ),
    "benchbook try NAME": ("tests/slurm/test_try.py", '"try", "few"'),
    "benchbook meters CLUSTER --nodes n[01-02]": ("tests/cli/test_meters.py", '"meters"'),
    "benchbook meter-simulator": ("tests/measure/power/test_simulator.py", '"meter-simulator", "--port"'),
    "benchbook meters local": ("tests/measure/power/test_simulator.py", '"meters", "here"'),
    "python3 -m venv tools && . tools/bin/activate && pip install dist/benchbook-*.whl": (
        ".ci/run",
        "tests/wheel.sh",
    ),
    "benchbook init mycluster && cd mycluster": ("tests/wheel.sh", "benchbook init mine"),
    "conda env create -f environment.yml && conda activate benchbook": (
        "tests/test_environment.py",
        "environment.yml",
    ),
    "pip install --no-build-isolation --no-deps -e .": ("Makefile", "--no-build-isolation --no-deps -e ."),
}


@dataclass(frozen=True)
class Block:
    """A fenced block: where it stands, its language, its text."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks(*languages: str) -> list[Block]:
    found = []
    for page in PAGES:
        if languages and page.name in AS_A_WHOLE:
            continue
        text = page.read_text(encoding="utf-8")
        for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
            line = 1 + text[: match.start()].count("\n")
            found.append(Block(page, line, match[1], match[2]))
    return [block for block in found if not languages or block.language in languages]


def commands() -> list[tuple[str, str]]:
    """Return each line of the blocks for a shell, with its place, without its comment."""
    found = []
    for block in blocks("sh"):
        for number, line in enumerate(block.text.splitlines(), start=block.line + 1):
            plain = re.sub(r"(^|\s)#.*", "", line).strip().replace(".venv/bin/", "")
            found += [(f"{block.page.name}:{number}", plain)] if plain else []
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project in which commands may write."""
    base = tmp_path_factory.mktemp("docs") / "project"
    for name in ("config", "workflow", "slurm"):
        shutil.copytree(ROOT / name, base / name)
    for name in ("vm-hpcg", "vm-profiles"):
        shutil.copytree(ROOT / "data/raw" / name, base / "data/raw" / name, copy_function=hard_link)
    rest = [path.relative_to(ROOT) for path in (ROOT / "data/raw").iterdir()]
    for name in ("src", "notebooks", "data/processed", *map(str, rest)):
        if not (base / name).exists():
            (base / name).symlink_to(ROOT / name)
    for name in ("environment.yml", "CITATION.cff", "Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, base)
    profile = next((base / "data/raw/vm-profiles/runs/osu-allreduce-n8-ipm").glob("*.xml"))
    shutil.copy(profile, base / "app.ipm.xml")
    shutil.copy(next((base / "data/raw/vm-profiles/runs/hpcg-ipm-n8").glob("*.xz")), base / "whatever.xz")
    trees.folders(base / "last-month", trees.good()[:3])
    return base


def hard_link(source: str, target: str) -> None:
    try:
        Path(target).hardlink_to(source)
    except OSError:  # another file system
        shutil.copy2(source, target)


def test_docs__every_block_is_of_a_kind_that_is_checked() -> None:
    unknown = [f"{block}: {block.language!r}" for block in blocks() if block.language not in KINDS]
    assert unknown == []
    assert {block.language for block in blocks()} == KINDS


KINDS = {"sh", "python", "yaml", "text", "toml"}


def test_docs__entry_point_of_a_format_is_of_the_group_that_is_read() -> None:
    (block,) = (block for block in blocks() if block.language == "toml")
    points = tomllib.loads(block.text)["project"]["entry-points"]
    assert points == {readers.GROUP: {"solver": "my_package.solver:FORMAT"}}


@pytest.mark.datasets("vm-hpcg", "vm-profiles", "published", "modelled", "syn-nightly")
@pytest.mark.parametrize(("where", "command"), [pytest.param(*one, id=one[0]) for one in commands()])
def test_docs__command_works(
    where: str, command: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    program, *rest = shlex.split(command)
    if command in ELSEWHERE:
        file, text = ELSEWHERE[command]
        assert text in (ROOT / file).read_text(encoding="utf-8")
    elif program == "make":
        # What it would do; what it does is the workflow's and continuous integration's to test.
        done = subprocess.run(["make", "-n", *rest], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert re.search(rf"^{rest[0]}:.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE), where
    elif program == "benchbook":
        arguments = [path for one in rest for path in (sorted(map(str, Path().glob(one))) or [one])]
        if rest[0] in ("new-campaign", "import"):  # README and a page name the same one
            name = rest[rest.index("--as") + 1] if "--as" in rest else rest[1]
            shutil.rmtree(f"data/raw/{name}", ignore_errors=True)
            Path(f"config/campaigns/{name}.yaml").unlink(missing_ok=True)
        # Something became worse in the campaign that is generated so.
        status = 3 if "syn-nightly" in command and "last-week" not in command else 0
        assert cli.main(arguments) == status, capsys.readouterr().err
        assert capsys.readouterr().out
    else:
        pytest.fail(f"{where}: no rule runs or checks {command!r}")


@pytest.mark.datasets("vm-hpcg", "vm-profiles", "published", "modelled")
@pytest.mark.parametrize("block", blocks("python"), ids=str)
def test_docs__python_executes(block: Block, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    found: dict[str, object] = {}
    exec(compile(block.text, str(block), "exec"), found)
    assert found.keys() - {"__builtins__"}, "the block makes nothing that a reader could look at"


@pytest.mark.parametrize("block", blocks("yaml"), ids=str)
def test_docs__yaml_is_taken(
    block: Block, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = yaml.safe_load(block.text)
    file = tmp_path / "example.yaml"
    file.write_text(block.text, encoding="utf-8")
    monkeypatch.chdir(place)
    if isinstance(content, list):
        header = "report: {title: ours, publisher: us, date: November 2026}\nclaims:\n"
        file.write_text(header + block.text, encoding="utf-8")
        assert [claim.id for claim in load_report(file).claims] == [one["id"] for one in content]
    elif "meters" in content.get("power", {}):
        power.check(file, several=True)
        assert len(power.load(file, ["n01", "n02"]).meters) >= len(content["power"]["meters"])
    elif "matrix" in content:
        shutil.copy(file, "config/campaigns/example.yaml")
        cluster = next(one.text for one in blocks("yaml") if one.text.startswith("title: Our cluster"))
        cluster_file = Path("config/clusters", f"{content['matrix']['cluster']}.yaml")
        cluster_file.write_text(cluster, encoding="utf-8")
        assert cli.main(["plan", "example"]) == 0
    elif "profiled_on" in content:
        assert cli.main(["whatif", "--profile", "app.ipm.xml", "--on", str(file)]) == 0
    elif "launch" in content:
        assert faults("cluster", content) == []
    elif content.keys() == {"dask"}:
        assert faults("cluster", {"title": "x", "facts": [], **content}) == []
    elif content.keys() == {"pages"}:
        assert faults("config", content) == []
    elif content.keys() in ({"power"}, {"views"}):
        assert faults("campaign", {"title": "x", "evidence": "measured", "hardware": "x", **content}) == []
    else:
        assert faults("campaign", content) == []


def faults(schema: str, content: Any) -> list[str]:
    path = ROOT / "workflow" / "schemas" / f"{schema}.schema.yaml"
    found = Draft202012Validator(yaml.safe_load(path.read_text())).iter_errors(content)
    return [error.message for error in found]


def test_docs__paths_and_links_exist() -> None:
    missing = []
    for page in WRITTEN:
        text = page.read_text(encoding="utf-8")
        links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
        missing += [f"{page.name}: {link}" for link in links if not (page.parent / link).exists()]
        paths = re.findall(r"`((?:src|config|workflow|tests|data/raw|notebooks|slurm)/[\w./-]*)[` *<]", text)
        if page.name == "extend.md":  # its files are made there
            continue
        missing += [f"{page.name}: {one}" for one in paths if "mine" not in one and not (ROOT / one).exists()]
    assert missing == []


def test_docs__readme_is_short_and_leads_to_every_page() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) < 100
    pages = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert {name for name in pages if f"(docs/{name})" not in readme} == set()


def test_docs__design_and_contributing_open_with_the_same_picture() -> None:
    """Every room is in one part of the picture, and stands in the table of rooms in the order of imports."""
    design, contributing = ((ROOT / name).read_text() for name in ("docs/design.md", "CONTRIBUTING.md"))
    head = re.search(r"\n\nThe package has six parts: .+?\n\nThe \[walk-through\]", design, re.DOTALL)
    assert head is not None
    assert head[0] in contributing
    parts = re.findall(r"^\| (measure|check|read|join|ask|say) \| .+ \| (.+) \|$", head[0], re.MULTILINE)
    assert len(parts) == 6
    rooms = [room for _, names in parts for room in re.findall(r"`(\w+)`", names)]
    assert sorted([*rooms, "base", "cli"]) == sorted(ORDER)
    assert re.findall(r"^\| `(\w+)/` \|", contributing, re.MULTILINE) == ORDER
    picture = head[0].partition("```text\n")[2].partition("```")[0]
    assert set(rooms) | {part.upper() for part, _ in parts} <= set(re.findall(r"\w+", picture))

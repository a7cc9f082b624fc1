"""What is built goes out of date with every module that can reach it, and with no other."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from analysis.base import project
from analysis.estimates import asking
from analysis.readers import ENGINES

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/analysis"
STAGES = PACKAGE / "cli/stages.py"
RULES = "\n".join(path.read_text() for path in sorted((ROOT / "workflow/rules").glob("*.smk")))


def file_of(module: str) -> Path | None:
    path = ROOT / "src" / Path(*module.split("."))
    found = [one for one in (path.with_suffix(".py"), path / "__init__.py") if one.is_file()]
    return found[0] if found else None


@cache
def imports(path: Path) -> frozenset[str]:
    return frozenset(_imports(ast.parse(path.read_text())))


def _imports(tree: ast.AST) -> Iterator[str]:
    """All that is imported, inside functions too, and modules named by a string to be imported by name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module
            assert not node.level
            yield node.module
            yield from (f"{node.module}.{one.name}" for one in node.names)
        elif isinstance(node, ast.Constant) and re.fullmatch(r"analysis(\.\w+)+", str(node.value)):
            yield str(node.value)


def reached(entries: set[str]) -> set[Path]:
    """Follow imports, those of the packages above each module too."""
    seen: set[Path] = set()
    todo = list(entries)
    while todo:
        module = todo.pop()
        path = file_of(module) if module.startswith("analysis") else None
        if path is None or path in seen:
            continue
        seen.add(path)
        parts = module.split(".")
        todo += [".".join(parts[:end]) for end in range(1, len(parts))]
        todo += imports(path)
        todo += ENGINES.values() if module == "analysis.readers" else ()  # imported by what their names make
    return seen


def room(path: Path) -> str:
    inner = path.relative_to(PACKAGE)
    return "site/kernels" if inner.parts[:2] == ("site", "kernels") else inner.parts[0]


def entries_of(stage: str) -> set[str]:
    """Return what a stage's function imports, and for pages what the notebooks do."""
    (function,) = (
        node
        for node in ast.parse(STAGES.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name == stage
    )
    found = set(_imports(function)) | set(imports_at_the_top())
    if stage == "page":
        for path in (ROOT / "notebooks").glob("*.ipynb"):
            for cell in json.loads(path.read_text())["cells"]:
                source = "".join(cell["source"])
                if cell["cell_type"] == "code" and "import" in source:
                    found |= set(_imports(ast.parse(re.sub(r"(?m)^%.*$", "", source))))
    return found


def imports_at_the_top() -> Iterator[str]:
    for node in ast.parse(STAGES.read_text()).body:
        if isinstance(node, ast.ImportFrom | ast.Import):
            yield from _imports(node)


def listed() -> dict[str, set[str]]:
    """Return the rooms that the rule of each stage watches."""
    names = {"READ": project.READ}
    for line in re.findall(r"^[A-Z]+ = \(.*\)$", RULES, re.MULTILINE):
        if '"base"' in line or "*READ" in line:
            exec(line, names)
    found = {}
    for block in re.split(r"\n(?=rule )", RULES)[1:]:
        stage = re.search(r"kernels --log \{log\}[\s\"]*(\w+) ", block)
        if stage:
            code = re.search(r"code=code_of\((.*?)\)", block, re.DOTALL)
            assert code, f"the rule of stage {stage[1]} watches no code"
            found[stage[1]] = set(eval(f"({code[1]},)", names))
    return found


@pytest.mark.parametrize("stage", ["synthesis", "ingest", "verdicts", "collect", "page", "site"])
def test_rules__watch_the_rooms_that_their_code_reaches(stage: str) -> None:
    files = [path for path in reached(entries_of(stage)) if len(ast.parse(path.read_text()).body) > 1]
    assert listed()[stage] == {room(path) for path in files} - {"cli"}


def test_rules__each_stage_is_run_by_one_rule() -> None:
    functions = {
        node.name
        for node in ast.parse(STAGES.read_text()).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }
    assert set(listed()) == functions - {"declare", "run", "ordered", "foreseen"}


def test_code_files__are_those_that_no_import_shows_too() -> None:
    core = PACKAGE / "readers/core/core.wasm"
    assert core in project.code_files(PACKAGE / "readers")
    assert not [path for path in project.code_files(PACKAGE / "site") if "kernels" in path.parts]
    assert project.code_files(PACKAGE / "site/kernels")
    assert not [path for path in project.code_files(PACKAGE) if "__pycache__" in path.parts]


def test_closure__follows_lazy_imports_and_names() -> None:
    # `readers` imports its formats by name, `measure.workflow` the rounds inside a function.
    found = {str(path.relative_to(PACKAGE)) for path in reached({"analysis.readers", "analysis.measure"})}
    assert {"readers/hpcg.py", "readers/mpip/__init__.py", "base/errors.py"} <= found
    assert PACKAGE / "measure/rounds.py" in reached({"analysis.measure.workflow"})


def test_kept_answers__watch_the_code_that_they_follow_from() -> None:
    files = reached({"analysis.estimates.asking"})
    assert PACKAGE / "schema/factors.py" in files
    watched = {path for room in asking._CODE for path in project.code_files(PACKAGE / room)}
    assert not [path for path in files - watched if len(ast.parse(path.read_text()).body) > 1]

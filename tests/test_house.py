"""The house of `src/analysis`, held: who may import whom, how many rooms there are, how long a module is."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from analysis.schema.factors import FACTORS

SOURCE = Path(__file__).parents[1] / "src" / "analysis"
# A room imports only rooms to its left. CONTRIBUTING.md says what each of them is for.
ROOMS = """
base schema readers energy provenance model datasets importing estimates claims findings pages site decks
measure synthesis cli
"""
ORDER = ROOMS.split()
# These import base alone, though more stands to their left.
BASE_ONLY = ("synthesis", "site.kernels")
# `analysis.storage` is the old name of `analysis.schema.storage`, kept for one release.
BESIDE_THE_ROOMS = {"__init__", "storage"}
LONGEST = 600  # lines; most modules are far below 500

# What breaks a rule today. An entry that is no longer true fails too: these lists only become shorter.
KNOWN_ARROWS: set[tuple[str, str]] = set()
KNOWN_CIRCLES: set[frozenset[str]] = set()
KNOWN_LONG: set[str] = set()
# Public classes that two rooms call alike.
KNOWN_NAMESAKES: set[str] = set()
# Modules that list five factors or more, apart from the table itself; the search lists topics.
KNOWN_LISTS: set[str] = {
    "importing.scheduler", "measure.job", "site.search",
}  # fmt: skip
MOST_ARROWS = 69  # imports between rooms
SHORT, MOST_SHORT = 60, 2  # lines; modules below that, formats aside
# Short modules that are no format: names that others rely on, and a process of its own.
KNOWN_SHORT: set[str] = {"readers.engines", "readers.merits.darshan_log"}

FILES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in SOURCE.rglob("*.py")
}
TEXTS = {name: path.read_text(encoding="utf-8") for name, path in FILES.items()}


@cache
def imports(name: str) -> set[str]:
    """Return the modules of the package that one imports, at its top or inside a function."""
    package = ["analysis", *name.split(".")][: None if FILES[name].name == "__init__.py" else -1]
    found = set()
    for node in ast.walk(ast.parse(TEXTS[name])):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            outer = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*outer, node.module] if node.module else outer)
            # What is imported from a package is a module of it or a name in its __init__.
            names = {f"{module}.{one.name}" for one in node.names}
            found |= {one if one.removeprefix("analysis.") in FILES else module for one in names}
    return {one.removeprefix("analysis.") for one in found} & FILES.keys() - {name}


def room(name: str) -> str:
    return name.split(".")[0]


def reached(name: str) -> set[str]:
    """Return the modules that one imports itself or over others."""
    seen: set[str] = set()
    todo = {name}
    while todo:
        todo = set().union(*map(imports, todo)) - seen
        seen |= todo
    return seen


def test_house__a_room_imports_only_rooms_to_its_left() -> None:
    inside = FILES.keys() - BESIDE_THE_ROOMS
    arrows = {(room(one), room(other)) for one in inside for other in imports(one)}
    wrong = {(one, other) for one, other in arrows if ORDER.index(other) > ORDER.index(one)}
    assert wrong == KNOWN_ARROWS
    assert len({(one, other) for one, other in arrows if one != other}) <= MOST_ARROWS
    for part in BASE_ONLY:
        beyond = {other for one in FILES if f"{one}.".startswith(f"{part}.") for other in imports(one)}
        assert {other for other in beyond if not f"{other}.".startswith((f"{part}.", "base."))} == set()


def test_house__no_module_imports_itself_over_others() -> None:
    reach = {name: reached(name) for name in FILES}
    circles = {
        frozenset(other for other in seen if name in reach[other])
        for name, seen in reach.items()
        if name in seen
    }
    assert circles == KNOWN_CIRCLES


def test_house__has_few_rooms_and_no_long_module() -> None:
    rooms = {room(name) for name in FILES} - BESIDE_THE_ROOMS
    assert rooms == set(ORDER)
    assert len(rooms) <= 17
    assert {name for name, text in TEXTS.items() if len(text.splitlines()) > LONGEST} == KNOWN_LONG


def test_house__few_modules_are_short() -> None:
    own = {name for name in FILES.keys() - BESIDE_THE_ROOMS if not FILES[name].stem.startswith("__")}
    short = {name for name in own if len(TEXTS[name].splitlines()) < SHORT}
    own_short = {
        name for name in short if ".formats." not in name
    }  # a format is one file, however many there are
    assert len(own_short) <= MOST_SHORT
    assert own_short == KNOWN_SHORT


def test_house__a_public_class_name_has_one_owner() -> None:
    owners: dict[str, set[str]] = {}
    for name, text in TEXTS.items():
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                owners.setdefault(node.name, set()).add(name)
    assert {name for name, found in owners.items() if len(found) > 1} == KNOWN_NAMESAKES


def listed(node: ast.AST) -> set[str]:
    """Return the factors that one list, mapping or call of keywords spells."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        strings = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant))
    elif isinstance(node, ast.Dict):
        strings = (one.value for one in node.keys if isinstance(one, ast.Constant))
    elif isinstance(node, ast.Call):
        strings = (one.arg for one in node.keywords)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "|" in node.value:
        strings = (line.split("|")[0].strip(" *?") for line in node.value.splitlines())
    else:
        return set()
    return {word for text in strings if isinstance(text, str) for word in (text, *text.split())} & set(
        FACTORS
    )


def test_house__only_the_table_lists_factors() -> None:
    found = {
        name
        for name, text in TEXTS.items()
        if any(len(listed(node)) >= 5 for node in ast.walk(ast.parse(text)))
    }
    assert found == KNOWN_LISTS | {"schema.factors"}

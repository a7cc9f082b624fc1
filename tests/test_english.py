"""Plain English: words that are German in meaning or must be read twice stay out of what users read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
import yaml

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "analysis"
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += sorted((ROOT / "docs").rglob("*.md"))
# Keys of the configuration whose values are shown on pages, or read by whoever edits the file.
SHOWN = ("title", "about", "method", "hardware", "notes", "differs", "why", "note", "what", "ylabel", "axis")

# What must not be written -> what to write instead.
BANNED = {
    r"\b(?:hold|holds|held|holding)\b[^.;:|]{0,60}?\bagainst\b": "compare with, check against",
    r"\bsaid\b": "is stated, shows, reports (of data); only people said something",
    r"\btold\b": "is listed, is printed, is distinguished",
    r"\bbeside\b": "next to, in addition to, while ... runs",
    r"\bapart\b(?! from\b)": "separate, different; `differ by 10 %`",
    r"\b(?:speak|speaks|spoke|speaking) (?:to|for)\b": "is evidence for, tests, applies to",
    r"\bmend(?:s|ed|ing)?\b": "fix, repair",
    r"\btwo[- ]hump(?:s|ed)?\b": "bimodal",
    r"\b(?:stand|stands|stood)\b(?! for\b| out\b| alone\b)": "is, is listed, is given; is significant",
    r"\b(?:come|comes|came) to nothing\b": "shows no clear result",
    r"\bat which place\b": "where",
    r"\bof which nobody\b": "that nobody",
    r"\bfor ever\b": "forever; `hangs` of a program",
    r"(?<!each )(?<!one )(?<!most )\bof which\b": "whose, where; or a sentence of its own",
    r"\bbe it\b": "also if, whether ... or",
    r"\b(?:is|are|was|were) to be\b": "must be, will be; or the active verb",
    r"\b(?:put|puts|putting) (?:\w+ ){0,2}together\b": "pool, combine, group",
    r"\bsays? of\b": "states about, records; `Slurm's records`",
    r"(?<!there )\b(?:is|are) (?-i:none)\b(?! of\b)": "is not one",
    r"\b(?:is|are) of\b(?! kinds?\b)": "has, is from, belongs to",
    r"\bfor want of\b|\bbut for\b": "without, except",
    # "run a job" is English, so a verb is no count.
    r"\b(?:ranks?|jobs|watts?|bytes?|cores|threads?) an? (?:node|rank|run|message|day|year|job|socket|core)\b"
    r"|\bruns an? (?:side|cell|level|day)\b"
    r"|\d (?:W|Wh|kWh|B|GB|MB|GB/s) an? (?:node|rank|core|job|message)\b": "`ranks per node`",
}


def banned(text: str) -> list[str]:
    """Return each banned phrase of a text with what to write instead."""
    text = " ".join(text.split())
    return [
        f"{text[max(found.start() - 30, 0) : found.end() + 20]!r}: {instead}"
        for pattern, instead in BANNED.items()
        for found in re.finditer(pattern, text, re.IGNORECASE)
    ]


def prose(markdown: str) -> str:
    """Return a page without its code: fenced blocks, spans, targets of links, HTML."""
    text = re.sub(r"^```.*?^```$", "", markdown, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"(`+).+?\1", "`code`", text)
    return re.sub(r"<!--.*?-->|\]\([^)]*\)|<[^>]+>", " ", text, flags=re.DOTALL)


def seen_by_users(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the texts of a module that users see, each with its line: prose in strings, public docstrings."""
    private = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            inside = (one for one in ast.walk(node) if node.name.startswith("_") and is_docstring(one))
            private |= {id(one.value) for one in inside if isinstance(one, ast.Expr)}
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                plain(
                    "".join(
                        str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values
                    )
                ),
            )
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and " " in node.value.strip()
            and id(node) not in private | inner
        ):
            yield node.lineno, plain(node.value)


def plain(text: str) -> str:
    """Return a text without its spans of code."""
    return re.sub(r"``.+?``|`.+?`", "`code`", text)


def is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the texts of a file of the package, each with its line."""
    if path.suffix == ".py":
        yield from seen_by_users(ast.parse(path.read_text(encoding="utf-8")))
    else:  # a template of the site
        yield 1, re.sub(r"\{[{%#].*?[}%#]\}|<[^>]+>", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def in_room(room: str) -> list[str]:
    """List the banned words of a room."""
    paths = sorted((SOURCE / room).rglob("*")) if (SOURCE / room).is_dir() else [SOURCE / f"{room}.py"]
    return [
        f"{path.relative_to(SOURCE)}:{line}: {found}"
        for path in paths
        if path.suffix in (".py", ".j2")
        for line, text in texts_of(path)
        for found in banned(text)
    ]


def strings(content: object) -> Iterator[str]:
    """Yield what a file of the configuration shows: the values of `SHOWN` at any depth."""
    if isinstance(content, dict):
        for key, value in content.items():
            if key in SHOWN:
                shown = value if isinstance(value, list) else [value]
                yield from (one for one in shown if isinstance(one, str))
            yield from strings(value)
    elif isinstance(content, list):
        for one in content:
            yield from strings(one)


def in_config(path: Path) -> list[str]:
    """List the banned words in the comments and shown values of a file."""
    text = path.read_text(encoding="utf-8")
    comments = " ".join(re.findall(r"(?:^|\s)#(?!\s*-{3})(.*)$", text, re.MULTILINE))
    return [found for one in (prose(comments), *strings(yaml.safe_load(text))) for found in banned(one)]


def test_banned__finds_words_and_leaves_normal_english() -> None:
    wrong = [
        "The table is held\nagainst the ranges.",
        "Hold one part of it against another.",
        "It has gaps, as said.",
        "an mpi that cannot be told",
        "sacct.txt beside runs/",
        "two humps 30 % apart",
        "runs that speak to it",
        "what was mended",
        "what stands in the file",
        "What came to nothing",
        "cells of which nothing is known",
        "a number, be it a text",
        "what is to be run",
        "Put them together, or put together again",
        "what Slurm says of a job",
        "NaN if it is none",
        "its record is of 4 nodes",
        "left out for want of time",
    ]
    assert [len(banned(text)) for text in wrong] == [1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1]
    fine = [
        "The verdict holds. It argues against that.",
        "A number stands for every value that rounds to it.",
        "apart from one file",
        "besides, it stands out",
        "we understand the standard",
        "None if there is none; four, one of which is none of ours; a dataset is of kind `power`",
    ]
    assert [banned(text) for text in fine] == [[]] * len(fine)
    assert prose("a `beside` b\n```sh\ntold\n```\n[x](apart.md)\n") == "a `code` b\n\n[x \n"


def test_seen_by_users__are_messages_and_public_docstrings() -> None:
    code = '"""Module doc."""\ndef f(x):\n    """Public doc."""\n    raise E(f"at {x} it fails")\n'
    code += 'def _g():\n    """Private doc."""\n    return "key", "some words", {"one": "a b"}\n'
    found = [text for _, text in seen_by_users(ast.parse(code))]
    assert sorted(found) == ["Module doc.", "Public doc.", "a b", "at … it fails", "some words"]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_pages__are_in_plain_english(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert banned(prose(text.partition("\n## 0.1.0")[0] if page.name == "CHANGELOG.md" else text)) == []


@pytest.mark.parametrize("path", sorted((ROOT / "config").glob("*.yaml")), ids=lambda path: path.name)
def test_config__is_in_plain_english(path: Path) -> None:
    assert in_config(path) == []


FOLDERS = ("applications", "audit", "campaigns", "claims", "clusters", "model", "synthesis")


@pytest.mark.parametrize("folder", FOLDERS)
def test_folder_of_config__is_in_plain_english(folder: str) -> None:
    paths = sorted((ROOT / "config" / folder).glob("*.yaml"))
    assert paths
    assert [f"{path.name}: {found}" for path in paths for found in in_config(path)] == []


def test_notebooks__are_in_plain_english() -> None:
    notebooks = [nbformat.read(path, as_version=4) for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]
    cells = [cell for notebook in notebooks for cell in notebook.cells]
    texts = [prose(cell.source) for cell in cells if cell.cell_type == "markdown"]
    assert len(texts) > len(notebooks) > 10
    code = [ast.parse(cell.source) for cell in cells if cell.cell_type == "code"]
    texts += [text for tree in code for _, text in seen_by_users(tree)]
    assert [found for text in texts for found in banned(text)] == []


ROOMS = sorted(
    {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in SOURCE.rglob("*.py")} - {"__init__"}
)


@pytest.mark.parametrize("room", ROOMS)
def test_room__is_in_plain_english(room: str) -> None:
    assert len(ROOMS) >= 16
    assert in_room(room) == []

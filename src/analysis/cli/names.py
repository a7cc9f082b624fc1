"""``benchbook list`` and completion: the names that commands take, read from files without slow imports."""

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from argcomplete.shell_integration import shellcode

from analysis.base import project
from analysis.base.words import table
from analysis.base.yaml import read
from analysis.cli import FINE

_ID = re.compile(r"^ *(?:- )?id: *([\w.-]+)", re.MULTILINE)
_NO_REPORT = "not_testable"  # claims of several reports that nothing can test
_LONGEST = 90  # characters of a title on a terminal


class Named(NamedTuple):
    """A name that commands take, and what it stands for in one line."""

    name: str
    title: str


def names(kind: str, base: Path | None = None) -> list[str]:
    """Return the names of a kind (``campaigns``, ``reports``, ``claims``, ...), without their titles."""
    base = base or project.root()
    folder, pattern = _FILES[kind]
    files = sorted((base / folder).glob(pattern))
    if kind == "claims":
        return [one for path in files for one in _ID.findall(path.read_text(encoding="utf-8"))]
    return [path.stem for path in files if path.stem != _NO_REPORT]


def print_names(kind: str, *, as_json: bool) -> int:
    """Print the names of a kind with their titles; `ConfigError` if a file of theirs cannot be read."""
    found = list(_KINDS[kind](project.root()))
    if as_json:
        print(json.dumps([one._asdict() for one in found], indent=1, ensure_ascii=False))
    elif found:
        print(table([[one.name, _short(one.title)] for one in found]))
    else:
        print(f"no {kind} yet", file=sys.stderr)
    return FINE


def print_completion(shell: str) -> int:
    """Print what a shell runs to complete ``benchbook``."""
    print(shellcode(["benchbook"], shell=shell))
    return FINE


def _short(title: str) -> str:
    return title if len(title) <= _LONGEST else f"{title[: _LONGEST - 1].rstrip()}…"


def _titled(kind: str, key: str) -> Callable[[Path], Iterator[Named]]:
    """Make the lister of files whose key is their title, such as ``title`` of a campaign."""

    def titled(base: Path) -> Iterator[Named]:
        folder, _ = _FILES[kind]
        for name in names(kind, base):
            content = read(str(base / folder / f"{name}.yaml"))[0]
            yield Named(name, _at(content, key))

    return titled


def _at(content: object, key: str) -> str:
    """Return the text at a dotted key; empty where there is none."""
    for part in key.split("."):
        content = content.get(part, "") if isinstance(content, Mapping) else ""
    return str(content)


def _claims(base: Path) -> Iterator[Named]:
    for path in sorted((base / "config" / "claims").glob("*.yaml")):
        content = read(str(path))[0]
        for claim in content.get("claims") or () if isinstance(content, Mapping) else ():
            yield Named(str(claim.get("id", "")), str(claim.get("statement", "")))


def _pages(base: Path) -> Iterator[Named]:
    from analysis.estimates.contents import load_config, title_of

    for page in load_config(base)["pages"]:
        yield Named(page["name"], title_of(page, base))


def _notebooks(base: Path) -> Iterator[Named]:
    from analysis.estimates.contents import heading

    for path in sorted((base / "notebooks").glob("*.ipynb")):
        yield Named(path.stem, heading(path))


_FILES = {
    "campaigns": ("config/campaigns", "*.yaml"),
    "clusters": ("config/clusters", "*.yaml"),
    "reports": ("config/claims", "*.yaml"),
    "claims": ("config/claims", "*.yaml"),
}
_KINDS: dict[str, Callable[[Path], Iterator[Named]]] = {
    "campaigns": _titled("campaigns", "title"),
    "clusters": _titled("clusters", "title"),
    "reports": _titled("reports", "report.title"),
    "claims": _claims,
    "pages": _pages,
    "notebooks": _notebooks,
}

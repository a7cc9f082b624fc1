"""JUBE's result tables (``result.dat``), pretty or CSV: a result for each row, a figure for each number."""

import re

import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.format import Format
from analysis.readers.merits.output import Output
from analysis.readers.text import is_number

FORMAT = Format(engine="jube", kind="merits", tool="JUBE", marks=(b"jube_wp_",), near=r"(?i)\bjube")
_TITLE = re.compile(r"(?P<name>[\w.-]+):")
_RULE = re.compile(r"\|?-[-|+]*")
_UNIT = re.compile(r"(?P<name>.*)[\[(](?P<unit>[^\[\]()]*+)[\])]")


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether it begins with a table's name, headings and a rule of dashes; or as a CSV of JUBE."""
    lines = head.decode(errors="replace").split("\n", 4)[:4]
    pretty = (
        len(lines) > 3
        and _TITLE.fullmatch(lines[0].rstrip()) is not None
        and "|" in lines[1]
        and "-" in lines[2]
        and _RULE.fullmatch(lines[2].strip()) is not None
    )
    return pretty or re.match(r"(?:[^\n]*[,;])?jube_(?:wp|benchmark|res|step)_\w+[,;]", lines[0]) is not None


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read every number of a table: kind ``merits``; ``case`` has the row's texts and whole numbers.

    Parameters and results look alike in the table, so that every number is a figure too. A unit is what a
    heading has in brackets, as JUBE writes it.
    """
    if not sniff(data):
        raise ReadError.at(source, 1, "no table of JUBE", "give a result.dat, pretty or csv")
    output = Output(data, source)
    heads: list[str] = []
    at = -1
    first = output.text.split("\n", 1)[0]
    mark = "" if _TITLE.fullmatch(first.rstrip()) else ";" if ";" in first else ","
    lines = output.text.split("\n")[:-1]
    # JUBE ends a pretty table without a line's end; its rows are all of one length.
    if len(lines) > 2 and len(output.rest.rstrip()) == len(lines[1].rstrip()):
        lines.append(output.rest)
    elif output.rest.strip():
        output.faults.damage(len(lines) + 1, "the last line is cut", "not used")
    for line, text in enumerate(lines, 1):
        cells = [cell.strip() for cell in (text.split(mark) if mark else text.strip().strip("|").split("|"))]
        if not text.strip() or (
            not mark and (_TITLE.fullmatch(text.strip()) or _RULE.fullmatch(text.strip()))
        ):
            heads = heads if text.strip().startswith(("|-", "-")) else []
            continue
        if not heads:
            heads = cells
            continue
        if len(cells) != len(heads):
            output.faults.damage(line, f"{len(cells)} cells under {len(heads)} headings", "left out")
            continue
        at += 1
        _row(output, dict(zip(heads, cells, strict=True)), line, at)
    return output.dataset(FORMAT)


def _row(output: Output, row: dict[str, str], line: int, result: int) -> None:
    case = " ".join(f"{name}={text}" for name, text in row.items() if not is_number(text) or text.isdigit())
    for head, text in row.items():
        if is_number(text):
            found = _UNIT.fullmatch(head)
            name, unit = (found["name"].rstrip(), found["unit"]) if found else (head, "")
            output.add(name, text, unit, line, result=result, case=case)

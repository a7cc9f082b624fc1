"""What a number takes with it when it leaves the site: its table, its picture, its notebook, its citation."""

import csv
import hashlib
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from markupsafe import Markup

from analysis.base.words import displayed, significant
from analysis.claims.verdict import Verdict
from analysis.site import forest
from analysis.site.board import ClaimRow
from analysis.site.provenance import Provenance

_NUMBERS = (
    "estimate", "low", "high", "level", "n", "n_baseline", "expected", "expected_low", "expected_high",
)  # fmt: skip
_COLUMNS = ("claim", "report", "statement", "campaign", "evidence", "distance", "verdict", "unit", *_NUMBERS)
_COMPUTED = re.compile(r"-?\d+\.\d{3,}")  # and no release, as 22.11
_WIDTH, _PLOT, _TOP = 760, 400, 64  # px of a picture: all of it, its plot, and what is above that


@dataclass(frozen=True, slots=True)
class Passport:
    """Links and texts to use a row of the scoreboard elsewhere; `svg` is empty without marks."""

    csv: str
    svg: str
    notebooks: tuple[str, ...]
    citation: str


def of_row(row: ClaimRow, axis: forest.Axis, facts: Provenance, marks: str) -> Passport:
    """Make the passport of a row; `marks` are the shapes that its picture uses."""
    drawn = picture(row, axis, marks)
    pages = tuple(dict.fromkeys(one.page for one in row.verdicts if one.page))
    svg = f"data:image/svg+xml,{quote(drawn)}" if drawn else ""
    return Passport(f"data:text/csv;charset=utf-8,{quote(row_csv(row, facts))}", svg, pages, cite(row, facts))


def cite(row: ClaimRow, facts: Provenance) -> str:
    """Cite a row: its claim, its verdict with the number, the commit and its date, and its address."""
    lead, claim = row.lead, row.claim
    number = f", {lead.estimate_text}" if lead.tested and lead.estimate_text else ""
    on = f" ({lead.evidence})" if lead.evidence and lead.tested else ""
    report = f" ({claim.report_title})" if claim.report_title else ""
    found = f"{displayed(lead.verdict)}{number}{on}"
    return f"“{claim.statement}”{report}: {found}. {facts.citation}, index.html#{row.anchor}."


def row_csv(row: ClaimRow, facts: Provenance) -> str:
    """Write the verdicts of a row as CSV, one a line, with unit, interval, its level, n and a checksum.

    The checksum is the SHA-256 of the list that ``sha256sum`` prints of the raw files. Lines that begin with
    ``#`` cite the row.
    """
    return write(
        [cite(row, facts)],
        (*_COLUMNS, "checksum"),
        ((*(getattr(one, name) for name in _COLUMNS), checksum(one)) for one in row.verdicts),
    )


def write(notes: Sequence[str], columns: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Write CSV with notes above it; None is an empty field."""
    out = io.StringIO()
    for note in notes:
        out.write(f"# {' '.join(note.split())}\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue()


def read(text: str) -> list[dict[str, str]]:
    """Read CSV as `write` writes it; its notes are left out."""
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("# ")))


def checksum(verdict: Verdict) -> str:
    """Return the SHA-256 of the list of a verdict's raw files as ``sha256sum`` prints it; empty without."""
    lines = sorted(f"{one.get('sha256', '')}  {one['path']}\n" for one in verdict.inputs)
    return hashlib.sha256("".join(lines).encode()).hexdigest() if lines else ""


# The colours of the page by day: a picture has no page around it.
_STYLE = """text{font:13px sans-serif;fill:#15191e}text.small{font-size:11px;fill:#58626d}
.forest .grid{stroke:#d5dade}.forest .one{stroke:#58626d}.forest .rail,#tick{stroke:#d5dade;stroke-width:1.5}
.forest text{font-size:10.5px;fill:#58626d;text-anchor:middle}.scale text{font-size:10.5px;text-anchor:middle}
rect.claimed{fill:#15191e;opacity:.07}line.claimed{stroke:#15191e;stroke-dasharray:2 3}
#claimed{fill:#fff;stroke:#15191e;stroke-width:1.6}
.mark{color:#00696f}.mark use,.mark .whisker{stroke:currentColor;stroke-width:2;fill:currentColor}"""


def picture(row: ClaimRow, axis: forest.Axis, marks: str) -> str:
    """Draw a row as a picture: the claim, its marks on their axis, each estimate; empty without marks."""
    if row.plot is None:
        return ""
    high = forest.LANE * len(row.shown) + 8
    labels = Markup("").join(
        Markup('<text x="{}" y="{}">{} {}</text>').format(
            _PLOT + 16, _TOP + forest.LANE * (at + 0.5) + 9, one.evidence, one.estimate_text
        )
        for at, one in enumerate(row.shown)
    )
    scale = forest.scale(axis) if row.claim.scale == "ratio" else Markup("")
    body = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}">'
        '<style>{style}</style><rect width="{w}" height="{h}" fill="#fff"/>{marks}'
        '<text x="16" y="24">{statement}</text><text class="small" x="16" y="42">claimed {claimed}</text>'
        '<svg y="46" width="{plot}" height="20">{scale}</svg>'
        '<svg y="{top}" width="{plot}" height="{high}">{drawn}</svg>{labels}</svg>'
    )
    return str(
        body.format(
            w=_WIDTH,
            h=_TOP + high + 24,
            style=Markup(_STYLE),
            marks=Markup(marks),
            top=_TOP,
            plot=_PLOT,
            high=high,
            statement=row.claim.statement,
            claimed=row.claim.expected_text or "in words",
            scale=scale,
            drawn=row.plot,
            labels=labels,
        )
    )


def _read_out(cell: str) -> str:
    """Spell a computed number, as ``0.08230804``, as a page does; the CSV has all digits."""
    return significant(float(cell)) if _COMPUTED.fullmatch(cell) else cell


def table(rows: Sequence[Mapping[str, str]], most: int = 200) -> Markup:
    """Show the rows of a CSV as a table, without columns that are empty, at most some of them."""
    names = [name for name in (rows[0] if rows else ()) if any(one[name] for one in rows)]
    head = Markup("").join(Markup("<th>{}</th>").format(name) for name in names)
    body = Markup("").join(
        Markup("<tr>{}</tr>").format(
            Markup("").join(Markup("<td>{}</td>").format(_read_out(one[name])) for name in names)
        )
        for one in rows[:most]
    )
    more = Markup("<p>The CSV has all {} points.</p>").format(len(rows)) if len(rows) > most else Markup("")
    return Markup(
        '<div class="table" tabindex="0"><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>{}'
    ).format(head, body, more)

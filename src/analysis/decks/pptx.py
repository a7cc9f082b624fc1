"""A deck as PowerPoint: titles, text, tables and charts that stay editable, the same bytes every time."""

import datetime
import io
import re
import zipfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from PIL import ImageFont
from pptx import Presentation
from pptx.enum.shapes import MSO_SHAPE
from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
from pptx.opc.constants import RELATIONSHIP_TYPE
from pptx.oxml import parse_xml
from pptx.oxml.ns import nsdecls
from pptx.util import Inches, Length, Pt

from analysis.base import files
from analysis.decks import charts, figure
from analysis.decks.charts import rgb
from analysis.decks.slide import Deck, Slide
from analysis.pages.figures.style import GREY, INK, LINE

WIDTH, HEIGHT = 13.333, 7.5  # in
LEFT, RIGHT = 0.7, 12.633
ACCENT, GROUND = "#006b75", "#f4f6f8"
_TITLE_ONLY = 5  # of python-pptx's own template
FONT = "Arial"
POINTS_AN_INCH, LINE_HEIGHT = 72.0, 1.22
Box = tuple[float, float, float, float]  # left, top, width, height, in
_EPOCH = (1980, 1, 1, 0, 0, 0)  # of an entry in a zip, whose dates begin there
SMALLEST = {"headline": 18, "text": 12, "table": 9, "footnote": 9}


def write(deck: Deck, path: Path) -> None:
    """Write a deck as a file of PowerPoint.

    Text, tables and charts are native. Text that does not fit its box at the smallest size ends in "…"; the
    slide's notes have all of it. The bytes depend on the deck alone.
    """
    found = Presentation()
    found.slide_width, found.slide_height = Inches(WIDTH), Inches(HEIGHT)
    _lay_out(found)
    styles = figure.styles(deck)
    for number, one in enumerate(deck.slides, start=1):
        _slide(found, one, number, styles)
    _properties(found, deck)
    buffer = io.BytesIO()
    found.save(buffer)
    path.parent.mkdir(parents=True, exist_ok=True)
    with files.replacing(path) as target:
        target.write_bytes(stable(buffer.getvalue(), _date(deck)))


def _date(deck: Deck) -> datetime.datetime:
    day = deck.date[:10] if re.match(r"\d{4}-\d{2}-\d{2}", deck.date) else "2000-01-01"
    return datetime.datetime.fromisoformat(day)


def _properties(found: Any, deck: Deck) -> None:
    core = found.core_properties
    core.title, core.subject, core.author = deck.title, deck.subject, "Benchbook"
    core.last_modified_by, core.revision, core.keywords = "Benchbook", 1, ""
    core.created = core.modified = core.last_printed = _date(deck)


def _lay_out(found: Any) -> None:
    """Give the template the shape of the page and our fonts; other layouts of it are taken out."""
    master, layout = found.slide_master, found.slide_layouts[_TITLE_ONLY]
    theme = master.part.part_related_by(RELATIONSHIP_TYPE.THEME)
    theme._blob = re.sub(rb'(<a:latin typeface=")[^"]*(")', rb"\g<1>" + FONT.encode() + rb"\2", theme.blob)
    for other in list(found.slide_layouts):
        if other.name != layout.name:
            found.slide_layouts.remove(other)
    for owner in (master, layout):
        for shape in list(owner.placeholders):
            if shape.placeholder_format.idx != 0:
                shape._element.getparent().remove(shape._element)
            else:
                _place(shape, LEFT, 0.62, RIGHT - LEFT, 1.25)


def _place(shape: Any, left: float, top: float, width: float, height: float) -> None:
    shape.left, shape.top, shape.width, shape.height = map(Inches, (left, top, width, height))


def _slide(found: Any, one: Slide, number: int, styles: charts.Styles) -> None:
    slide = found.slides.add_slide(found.slide_layouts[0])
    cut: list[str] = []
    opening = one.kind == "title"
    if opening:
        _bar(slide)
    elif one.topic:
        _text(slide, one.topic, (LEFT, 0.32, 9.0, 0.36), 13, cut, colour=ACCENT, bold=True)
    top = _headline(slide.shapes.title, one, cut)
    _label(slide, one)
    bottom = 6.55
    if one.points is not None and len(one.points):
        wide = 7.9 if one.bullets else RIGHT - LEFT
        box = (Inches(LEFT), Inches(top), Inches(wide), Inches(bottom - top))
        charts.add(slide, one.points, box, styles)
        if one.bullets:
            left = LEFT + wide + 0.3
            _bullets(slide, one.bullets, (left, top + 0.15, RIGHT - left, bottom - top - 0.15), cut)
    elif one.bullets:
        high = 0.3 * len(one.bullets) + 0.5 if one.table else bottom - top
        _bullets(slide, one.bullets, (LEFT, top, RIGHT - LEFT, high), cut)
        top += high + 0.1
    if one.table:
        _table(slide, one.table, (LEFT, top, RIGHT - LEFT, bottom - top), cut)
    _foot(slide, one, number, cut)
    notes = "\n\n".join(filter(None, (one.headline, one.footnote, *cut)))
    slide.notes_slide.notes_text_frame.text = notes


def _headline(shape: Any, one: Slide, cut: list[str]) -> float:
    """Write the headline; return where the space below it begins, in."""
    opening = one.kind == "title"
    box = (LEFT, 1.9, RIGHT - LEFT, 1.6) if opening else (LEFT, 0.62, RIGHT - LEFT, 1.25)
    _place(shape, *box)
    size, text = fit(one.headline, box[2], box[3], 40 if opening else 28, SMALLEST["headline"], bold=True)
    if text != one.headline:
        cut.append(one.headline)
    _write(shape.text_frame, text, size, bold=True, anchor=MSO_ANCHOR.BOTTOM if opening else MSO_ANCHOR.TOP)
    shape.text_frame.paragraphs[0].alignment = PP_ALIGN.LEFT
    lines = len(wrapped(text, box[2], size, bold=True))
    return 3.6 if opening else max(1.5, box[1] + lines * size * LINE_HEIGHT / POINTS_AN_INCH + 0.2)


def _write(
    frame: Any, text: str, size: int, *, colour: str = INK, bold: bool = False, anchor: Any = MSO_ANCHOR.TOP
) -> None:
    """Write a text of one paragraph into a frame, without margins."""
    frame.text = text
    _flush(frame, anchor)
    _style(frame.paragraphs[0], size, colour=colour, bold=bold)


def _flush(frame: Any, anchor: Any = MSO_ANCHOR.TOP) -> None:
    frame.word_wrap, frame.vertical_anchor = True, anchor
    frame.margin_left = frame.margin_right = frame.margin_top = frame.margin_bottom = 0


def _style(paragraph: Any, size: int, *, colour: str = INK, bold: bool = False) -> None:
    for font in [run.font for run in paragraph.runs] or [paragraph.font]:
        font.size, font.bold, font.color.rgb = Pt(size), bold, rgb(colour)


def _bar(slide: Any) -> None:
    bar = slide.shapes.add_shape(MSO_SHAPE.RECTANGLE, *map(Inches, (0, 0, 0.22, HEIGHT)))
    bar.fill.solid()
    bar.fill.fore_color.rgb = rgb(ACCENT)
    bar.line.fill.background()
    bar.name, bar.shadow.inherit = "Bar", False


def _label(slide: Any, one: Slide) -> None:
    """Put the class of evidence into the upper right corner; that of generated data is hatched."""
    if not one.label:
        return
    width = 0.35 + 0.1 * len(one.label)
    box = map(Inches, (RIGHT - width, 0.28, width, 0.32))
    chip = slide.shapes.add_shape(MSO_SHAPE.ROUNDED_RECTANGLE, *box)
    chip.name, chip.shadow.inherit = "Evidence", False
    chip.line.color.rgb = rgb(GREY)
    if one.label.startswith("synthetic"):
        chip.fill.patterned()
        chip.fill.fore_color.rgb, chip.fill.back_color.rgb = rgb(LINE), rgb("#ffffff")
    else:
        chip.fill.solid()
        chip.fill.fore_color.rgb = rgb("#ffffff")
    _write(chip.text_frame, one.label, 11, anchor=MSO_ANCHOR.MIDDLE)
    chip.text_frame.paragraphs[0].alignment = PP_ALIGN.CENTER


def _text(
    slide: Any, text: str, box: Box, size: int, cut: list[str], *, colour: str = INK, bold: bool = False
) -> None:
    points, fitted = fit(text, box[2], box[3], size, SMALLEST["footnote"], bold=bold)
    if fitted != text:
        cut.append(text)
    _write(slide.shapes.add_textbox(*map(Inches, box)).text_frame, fitted, points, colour=colour, bold=bold)


def _bullets(slide: Any, bullets: tuple[str, ...], box: Box, cut: list[str]) -> None:
    _, _, width, height = box
    gap, kept = 0.12, list(bullets)
    size = 18
    while size > SMALLEST["text"] and _height(kept, width - 0.3, size, gap) > height:
        size -= 1
    while len(kept) > 1 and _height(kept, width - 0.3, size, gap) > height:
        cut.append(kept.pop())
        kept[-1] = kept[-1].removesuffix(" …") + " …"
    frame = slide.shapes.add_textbox(*map(Inches, box)).text_frame
    _flush(frame)
    for place, text in enumerate(kept):
        paragraph = frame.paragraphs[0] if place == 0 else frame.add_paragraph()
        paragraph.text = text
        paragraph.space_after = Pt(gap * POINTS_AN_INCH)
        properties = paragraph._p.get_or_add_pPr()
        properties.set("marL", str(Inches(0.22)))
        properties.set("indent", str(-Inches(0.22)))
        properties.append(parse_xml(f'<a:buFont {nsdecls("a")} typeface="{FONT}"/>'))
        properties.append(parse_xml(f'<a:buChar {nsdecls("a")} char="•"/>'))
        _style(paragraph, size)


def _height(texts: list[str], width: float, size: int, gap: float) -> float:
    """Measure paragraphs, in."""
    return sum(len(wrapped(text, width, size)) * size * LINE_HEIGHT / POINTS_AN_INCH + gap for text in texts)


def _table(slide: Any, rows: tuple[tuple[str, ...], ...], box: Box, cut: list[str]) -> None:
    left, top, width, height = box
    widths, kept = columns(rows, width), list(rows)
    size = 14
    while size > SMALLEST["table"] and _tall(kept, widths, size) > height:
        size -= 1
    while len(kept) > 2 and _tall(kept, widths, size) > height:
        cut.append(" · ".join(kept.pop()))
    place = map(Inches, (left, top, width, min(height, 0.3 * len(kept))))
    frame = slide.shapes.add_table(len(kept), len(rows[0]), *place)
    table = frame.table
    # The plain style: our own lines and fills.
    style = frame._element.graphic.graphicData.tbl.tblPr
    style.find(".//{*}tableStyleId").text = "{2D5ABB26-0587-4C30-8999-92F81FD0307C}"
    style.set("bandRow", "0")
    for at, one in enumerate(widths):
        table.columns[at].width = Inches(one)
    for row, cells in enumerate(kept):
        table.rows[row].height = Length(Inches(_row(cells, widths, size)))
        for column, text in enumerate(cells):
            _cell(table.cell(row, column), text, size, head=row == 0, even=row % 2 == 0)


def _cell(cell: Any, text: str, size: int, *, head: bool, even: bool) -> None:
    cell.text = text
    cell.margin_left = cell.margin_right = Inches(0.08)
    cell.margin_top = cell.margin_bottom = Inches(0.03)
    cell.vertical_anchor = MSO_ANCHOR.MIDDLE
    cell.fill.solid()
    cell.fill.fore_color.rgb = rgb(LINE if head else GROUND if even else "#ffffff")
    for paragraph in cell.text_frame.paragraphs:
        _style(paragraph, size, bold=head)


def columns(rows: tuple[tuple[str, ...], ...], width: float) -> list[float]:
    """Share a table's width (in) among its columns: short ones get what they need, long ones the rest."""
    font = _font(14, bold=True)
    wanted = [
        max(font.getlength(row[at]) for row in rows if at < len(row)) / POINTS_AN_INCH + 0.3
        for at in range(len(rows[0]))
    ]
    given = [0.0] * len(wanted)
    left, open_ = width, sorted(range(len(wanted)), key=wanted.__getitem__)
    for place, at in enumerate(open_):
        given[at] = min(wanted[at], left / (len(open_) - place))
        left -= given[at]
    given[open_[-1]] += left
    return given


def _row(cells: tuple[str, ...], widths: list[float], size: int) -> float:
    lines = max(
        len(wrapped(text, width - 0.18, size, bold=True)) for text, width in zip(cells, widths, strict=False)
    )
    return lines * size * LINE_HEIGHT / POINTS_AN_INCH + 0.08


def _tall(rows: Sequence[tuple[str, ...]], widths: list[float], size: int) -> float:
    return sum(_row(cells, widths, size) for cells in rows)


def _foot(slide: Any, one: Slide, number: int, cut: list[str]) -> None:
    if one.footnote:
        _text(slide, one.footnote, (LEFT, 6.68, RIGHT - LEFT - 0.8, 0.62), 11, cut, colour=GREY)
    if one.kind == "title":
        return
    shape = slide.shapes.add_textbox(*map(Inches, (RIGHT - 0.6, 7.0, 0.6, 0.3)))
    shape.name = "Slide number"
    frame = shape.text_frame
    _flush(frame, MSO_ANCHOR.TOP)
    paragraph = frame.paragraphs[0]
    paragraph.alignment = PP_ALIGN.RIGHT
    field = parse_xml(
        f'<a:fld {nsdecls("a")} id="{{B6F15528-21DE-4FAA-801E-634DDDAF4B2B}}" type="slidenum">'
        f'<a:rPr lang="en-GB" sz="1100"><a:solidFill><a:srgbClr val="{rgb(GREY)}"/></a:solidFill></a:rPr>'
        f"<a:t>{number}</a:t></a:fld>"
    )
    paragraph._p.insert(0, field) if paragraph._p.pPr is None else paragraph._p.pPr.addnext(field)


# ---- How much room a text takes. DejaVu Sans is wider than Arial: what fits in it fits.


@cache
def _font(size: int, *, bold: bool) -> ImageFont.FreeTypeFont:
    import matplotlib as mpl

    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(str(Path(mpl.get_data_path()) / "fonts" / "ttf" / name), size)


@cache
def wrapped(text: str, width: float, size: int, *, bold: bool = False) -> tuple[str, ...]:
    """Break a text into lines of at most `width` inches at `size` points; a long word is broken too."""
    font, room = _font(size, bold=bold), width * POINTS_AN_INCH
    lines = [""]
    for word in text.split():
        line = f"{lines[-1]} {word}".strip()
        if font.getlength(line) <= room:
            lines[-1] = line
            continue
        if lines[-1]:
            lines.append("")
        for letter in word:
            if font.getlength(lines[-1] + letter) > room and lines[-1]:
                lines.append("")
            lines[-1] += letter
    return tuple(lines)


def fit(
    text: str, width: float, height: float, size: int, least: int, *, bold: bool = False
) -> tuple[int, str]:
    """Find the size (points) at which a text fits a box (in), and the text, cut if none does."""
    for points in range(size, least - 1, -1):
        room = int(height * POINTS_AN_INCH / (points * LINE_HEIGHT))
        lines = wrapped(text, width, points, bold=bold)
        if len(lines) <= room:
            return points, text
    return least, " ".join(lines[: max(room, 1)])[:-1].rstrip() + "…"


# ---- The same bytes every time.


def stable(data: bytes, date: datetime.datetime) -> bytes:
    """Rewrite an Office file, and the workbooks in it, without the dates of its entries."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith(".xlsx"):
                content = stable(content, date)
            elif name == "docProps/core.xml":
                content = re.sub(
                    rb"(<dcterms:(created|modified)[^>]*>)[^<]*",
                    rb"\g<1>" + f"{date:%Y-%m-%dT%H:%M:%SZ}".encode(),
                    content,
                )
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
            new.writestr(entry, content)
    return out.getvalue()

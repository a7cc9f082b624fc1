"""A slide as plain content, before it becomes HTML or PowerPoint."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import pandas as pd

Kind = Literal["title", "facts", "question", "summary", "method", "list"]


@dataclass(frozen=True)
class Slide:
    """One slide.

    `headline` is what it says in a sentence, `topic` the small line above it; `bullets` stand beside the
    figure, or alone. `shown` is the figure, rows of points with intervals as `findings.conclusion.Conclusion`
    has them (columns ``series x median low high n``; attrs ``unit xlabel ylabel``), None without one.
    `table` has its headings as the first row. `footnote` is what the numbers rest on, `label` the class of
    evidence, empty where nothing was measured.
    """

    kind: Kind
    headline: str
    topic: str = ""
    bullets: tuple[str, ...] = ()
    shown: pd.DataFrame | None = field(default=None, repr=False)
    table: tuple[tuple[str, ...], ...] = ()
    footnote: str = ""
    label: str = ""


@dataclass(frozen=True)
class Deck:
    """Slides in their order; `title`, `subject` and `date` (ISO, of the last run) describe the file."""

    title: str
    subject: str
    date: str
    slides: tuple[Slide, ...]

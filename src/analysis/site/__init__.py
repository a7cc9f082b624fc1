"""The static site: a scoreboard, one page a notebook, provenance; it loads nothing from anywhere."""

from analysis.site.build import build
from analysis.site.page import PageInput

__all__ = ["PageInput", "build"]

"""Published figures as evidence: other people's runs as a campaign, held against the claims."""

from __future__ import annotations

from analysis.published.evaluate import evaluate
from analysis.published.ingest import ingest, load_sources
from analysis.published.views import View, load_views, seen

__all__ = ["View", "evaluate", "ingest", "load_sources", "load_views", "seen"]

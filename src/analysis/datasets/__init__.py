"""From a raw campaign folder to datasets: `ingest` reads every run and writes one tree."""

from analysis.datasets.campaign import ingest
from analysis.datasets.doubts import doubts, doubts_of_tables

__all__ = ["doubts", "doubts_of_tables", "ingest"]

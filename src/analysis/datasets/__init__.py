"""From a raw campaign folder to datasets: `ingest` reads every run and writes one tree."""

from analysis.datasets.campaign import ingest
from analysis.datasets.doubts import doubts

__all__ = ["doubts", "ingest"]

"""From a raw campaign folder to datasets: `ingest` reads every run and writes one tree."""

from analysis.datasets.campaign import doubts, ingest

__all__ = ["doubts", "ingest"]

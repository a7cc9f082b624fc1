"""Claims: published sentences as data, evaluated on campaigns, with verdicts."""

from analysis.claims.evaluate import Verdict, evaluate, verdict_table
from analysis.claims.model import Claim, Report, load_report

__all__ = [
    "Claim",
    "Report",
    "Verdict",
    "evaluate",
    "load_report",
    "verdict_table",
]

"""Claims: published sentences as data, evaluated on campaigns, with verdicts.

What needs pandas is imported when it is first asked for: who only reads verdicts does not wait for it.
"""

from typing import TYPE_CHECKING, Any

from analysis.claims.verdict import Verdict, read_verdicts, write_verdicts

if TYPE_CHECKING:
    from analysis.claims.evaluation import evaluate, verdict_table
    from analysis.claims.model import Claim, Report, load_report

__all__ = [
    "Claim", "Report", "Verdict", "evaluate", "load_report", "read_verdicts", "verdict_table",
    "write_verdicts",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from analysis.claims import evaluation, model

    return getattr(evaluation if hasattr(evaluation, name) else model, name)

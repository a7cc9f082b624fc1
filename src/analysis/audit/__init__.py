"""The audit: whether a report's own statements agree with each other, within their rounding."""

from __future__ import annotations

from analysis.audit.arithmetic import Expression, ExpressionError, Span
from analysis.audit.evaluate import Outcome, audit_path, evaluate, evaluate_report, outcome
from analysis.audit.model import Audit, Figure, Relation, load_audit, span_of

__all__ = [
    "Audit",
    "Expression",
    "ExpressionError",
    "Figure",
    "Outcome",
    "Relation",
    "Span",
    "audit_path",
    "evaluate",
    "evaluate_report",
    "load_audit",
    "outcome",
    "span_of",
]

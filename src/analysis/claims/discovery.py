"""False discoveries: of many verdicts tested at once, some are clear by chance alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from analysis.claims.verdict import Verdict

# Of the verdicts that stand, so many may be false.
RATE = 0.05


def controlled(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Say of each verdict whether it stands among those of its report and evidence class.

    `q` is the p-value by Benjamini and Hochberg (1995), over all that were tested, what could not be told
    included; above 5 % `discovery` says so. The word stays: it is that of the claim's own test, and which
    verdicts it stands with is the choice of who reads them.
    """
    families: dict[tuple[str, str], list[int]] = {}
    for at, one in enumerate(verdicts):
        if one.p is not None:
            families.setdefault((one.report, one.evidence), []).append(at)
    out = [replace(one, q=None, discovery="") for one in verdicts]
    for family in families.values():
        p_values = [verdicts[at].p or 0.0 for at in family]
        for at, p, q in zip(family, p_values, adjusted(p_values), strict=True):
            text = f"would not stand among {len(family)} tested at {RATE:.0%} false discoveries"
            out[at] = replace(out[at], q=q, discovery=text if p < 1 and q > RATE else "")
    return out


def adjusted(p_values: Sequence[float]) -> list[float]:
    """Return the least rate of false discoveries at which each of some p-values stands.

    As scipy's `false_discovery_control`, which a stage that only joins verdicts need not load.
    """
    descending = sorted(range(len(p_values)), key=lambda at: p_values[at], reverse=True)
    out, least = [1.0] * len(p_values), 1.0
    for above, at in enumerate(descending):
        least = min(least, p_values[at] * len(p_values) / (len(p_values) - above))
        out[at] = least
    return out

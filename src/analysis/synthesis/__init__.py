"""Synthetic campaigns: raw files in the tools' own formats, written around a declared truth.

They test the pipeline and are no evidence: what comes out at its other end should be what was put in.
Nothing here is shared with the readers, so that an error of one cannot hide in the other.
"""

from analysis.synthesis.campaign import build
from analysis.synthesis.truth import Truth, load_truth

__all__ = ["Truth", "build", "load_truth"]

"""Readers of figures of merit: one module per program in `formats`, one contract, the rest shared.

A format is a module with ``sniff(head, name)`` and ``parse(data, source)``. Where lines of a known form are
all there is to it, an `output.Format` is the whole of it; CONTRIBUTING.md shows one.
"""

from __future__ import annotations

from pathlib import Path

# A directory listing, so that adding a format is adding a file.
FORMATS = tuple(sorted(p.stem for p in (Path(__file__).parent / "formats").glob("[a-z]*.py")))

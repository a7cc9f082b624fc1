"""Readers of power logs: one module per format in `formats`, one contract, the rest shared.

A format is a module with ``sniff(head, name)``, which tells from the first 64 KiB whether the
bytes are of it, and ``parse(data, source, **options)``. `rows.reads` makes the latter from a
function that turns a log into readings; CONTRIBUTING.md shows one whole.
"""

from __future__ import annotations

from pathlib import Path

# A directory listing, so that adding a format is adding a file.
FORMATS = tuple(sorted(p.stem for p in (Path(__file__).parent / "formats").glob("[a-z]*.py")))

"""Readers of power logs: one module per format in `formats`, one contract, the rest shared.

A format is a module with ``sniff(head, name)``, which tells from the first 64 KiB whether the
bytes are of it, and ``parse(data, source, **options)``. `rows.reads` makes the latter from a
function that turns a log into readings; CONTRIBUTING.md shows one whole.
"""

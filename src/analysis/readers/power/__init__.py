"""Readers of power logs: one module per format in `formats`, one contract, the rest shared.

A format is a module with ``sniff(head, name)``, which recognises the format from the first 64 KiB, and
``parse(data, source, **options)``. `rows.reads` makes the latter from a function that turns a log into
readings; CONTRIBUTING.md has a complete example.
"""

"""Readers of power logs: one module per format, one contract (`analysis.readers.power.base`).

A new format is one file with ``sniff(head, name)`` and ``parse(data, source, **options)``, a line in
`analysis.readers.ENGINES`, a class in `analysis.readers.power.engines` and a line in
``pyproject.toml``. A CSV needs only the patterns of its headings::

    HEADINGS = Headings(time=(r"^zeit",), power=r"^leistung", meter=r"^dose")

    def parse(data, source="<memory>", **options):
        log = PowerLog(data, source, options)
        return log.dataset(csvtable.read(log, HEADINGS), tool="Zähler", location="outlet")

Any other text becomes stamps, meters and watts, and two calls do the rest::

    time = Clock(log).utc(stamps, lines)
    return log.dataset(readings_of(time, meters, watts), tool="…", location="…")

`readings_of` takes ``mean=True`` for means since the reading before; for counters `Readings` has the
fields ``counter`` and ``wrap``. `ptdaemon`, `powerstat` and `wattsup` are examples of each under 70 lines.
"""

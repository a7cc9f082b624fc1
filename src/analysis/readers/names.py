"""The formats by name, in the order in which they are tried: a new one is a new file.

Standard library only: the build of the package reads this file to name them as engines of xarray.
"""

from __future__ import annotations

from pathlib import Path

_PROFILES = ("mpip", "tau", "caliper", "hpctoolkit")
_TOOLS = ("hpcg", "hpcc", "osu", "imb", "lsdyna", "openatom", "proxy", "published", "run", "sacct", "table")
# The former takes any table with times and powers; the latter's banner is in the output of any program.
LAST = ("power_csv", "ipm")


def modules() -> dict[str, str]:
    """Return the module of each format below this package; those of `LAST` come last."""
    found = {name: name for name in (*_PROFILES, *_TOOLS, *LAST)}
    for folder in ("merits", "power"):
        stems = sorted(path.stem for path in (Path(__file__).parent / folder / "formats").glob("[a-z]*.py"))
        found |= {stem: f"{folder}.formats.{stem}" for stem in stems}
    return {name: found[name] for name in (*(one for one in found if one not in LAST), *LAST)}

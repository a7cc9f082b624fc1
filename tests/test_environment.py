"""One list of dependencies in three places: pyproject.toml, environment.yml, requirements.lock."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13")

# What conda calls a package differently: there the plain names bring graphical toolkits, a cluster
# scheduler or storage back ends along that PyPI's do not.
CONDA = {"dask": "dask-core", "matplotlib": "matplotlib-base", "snakemake": "snakemake-minimal"}
# Only conda has to be told.
CONDA_ONLY = {"python", "pip"}


def declared() -> dict[str, SpecifierSet]:
    """Return name -> bounds of pyproject.toml, the extra dev included."""
    project = project_table()
    listed = [Requirement(line) for line in project["dependencies"] + project["optional-dependencies"]["dev"]]
    assert not [one for one in listed if one.marker or one.url or one.extras]
    return {canonicalize_name(one.name): one.specifier for one in listed}


def project_table() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return table


def conda() -> dict[str, SpecifierSet]:
    """Return name -> bounds of environment.yml."""
    found = {}
    *lines, from_pip = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    for line in [*lines, *from_pip["pip"]]:
        match = re.fullmatch(r"([a-z0-9][a-z0-9._-]*)((?:[<>=!]=?[^<>=!]+)*)", line)
        assert match, f"environment.yml: {line!r} is not name and bounds"
        found[match[1]] = SpecifierSet(match[2])
    return found


def locked() -> dict[str, list[tuple[Version, Marker | None, int]]]:
    """Return name -> (version, marker, number of hashes) of requirements.lock."""
    found: dict[str, list[tuple[Version, Marker | None, int]]] = {}
    text = (ROOT / "requirements.lock").read_text()
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for entry in lines.replace("\\\n", " ").splitlines():
        if not entry.strip():
            continue
        plain, *hashes = re.split(r"\s+--hash=", entry.strip())
        one = Requirement(plain)
        (pin,) = one.specifier
        assert pin.operator == "==", entry
        versions = found.setdefault(canonicalize_name(one.name), [])
        versions.append((Version(pin.version), one.marker, len(hashes)))
    return found


def test_environment__conda_has_the_same_packages_with_the_same_bounds() -> None:
    wanted = {CONDA.get(name, name): bounds for name, bounds in declared().items()}
    have = conda()
    assert have.keys() - CONDA_ONLY == wanted.keys()
    assert {name: str(have[name]) for name in wanted} == {
        name: str(bounds) for name, bounds in wanted.items()
    }


def test_environment__conda_has_the_same_pythons_and_no_other_channels() -> None:
    assert conda()["python"] == SpecifierSet(project_table()["requires-python"])
    channels = yaml.safe_load((ROOT / "environment.yml").read_text())["channels"]
    # Snakemake is on bioconda only; nodefaults keeps the channels out that need a licence.
    assert channels == ["conda-forge", "bioconda", "nodefaults"]


def test_environment__pythons_are_those_that_the_makefile_looks_for() -> None:
    bounds = SpecifierSet(project_table()["requires-python"])
    assert [python for python in ("3.10", *PYTHONS, "3.14") if bounds.contains(python)] == list(PYTHONS)
    assert "(3, 11) <= sys.version_info < (3, 14)" in (ROOT / "workflow/scripts/find_python.sh").read_text()


@pytest.mark.parametrize("python", PYTHONS)
def test_environment__lock_satisfies_pyproject(python: str) -> None:
    lock = locked()
    machine = {"python_version": python, "python_full_version": f"{python}.1", "sys_platform": "linux"}
    machine |= {"platform_system": "Linux", "os_name": "posix", "platform_machine": "x86_64"}
    for name, bounds in declared().items():
        pins = [
            version for version, marker, _ in lock.get(name, []) if not marker or marker.evaluate(machine)
        ]
        assert len(pins) == 1, f"{name}: {len(pins)} pins for Python {python}; run make lock"
        assert bounds.contains(pins[0]), f"{name}: {pins[0]} is outside {bounds}; run make lock"


def test_environment__lock_has_hashes_and_names_no_host() -> None:
    text = (ROOT / "requirements.lock").read_text()
    assert [name for name, pins in locked().items() for _, _, hashes in pins if hashes < 1] == []
    assert re.findall(r"[a-z]+://|--(?:extra-)?index-url|--find-links|@ ", text.split("\n", 3)[3]) == []
    assert not re.search(r"://", text)


def test_environment__locked_versions_are_the_installed_ones() -> None:
    from importlib.metadata import version

    differ = {}
    for name in declared():
        pins = [str(pin) for pin, marker, _ in locked()[name] if not marker or marker.evaluate()]
        if [str(Version(version(name)))] != pins:
            differ[name] = (version(name), pins)
    assert differ == {}

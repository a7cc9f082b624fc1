"""The part ``power`` of a cluster, as far as a campaign has to do with it before its jobs run."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.base.errors import ConfigError
from analysis.measure.declare import load
from analysis.measure.job import allocate
from analysis.measure.matrix import expand
from analysis.measure.script import render

POWER = """\
power:
  meters:
    - {type: ipmitool, name: "{node}", host: "{node}-bmc", user: u, password: {env: BMC_PASSWORD}}
"""


def power(base: Path, text: str) -> Path:
    (path,) = (base / "config/clusters").glob("*.yaml")
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")
    return path


def test_power__a_mistake_is_found_with_the_declaration(base: Path) -> None:
    path = power(base, POWER.replace("host:", "hots:"))
    line = path.read_text(encoding="utf-8").splitlines().index("  meters:") + 2
    with pytest.raises(ConfigError, match=rf":{line}: power\.meters\.0"):
        load("c", base)


def test_power__a_local_meter_of_many_nodes_needs_their_names(base: Path) -> None:
    power(base, "power: {meters: [{type: powercap, name: cpu}]}\n")
    with pytest.raises(ConfigError, match=r"every node of a job has one of its own; write \{node\} in"):
        load("c", base)


def test_power__secrets_are_taken_from_the_programs_and_the_end_is_short_after_a_signal(base: Path) -> None:
    path = power(base, POWER)
    declared = load("c", base)
    run = next(run for run in expand(declared).runs if run.nodes == 2)
    text = render(allocate(declared, run, ["n1", "n2"]), declared.launch, path)
    order = [
        f"analysis.measure.power start {path} 1/power.csv --nodes n1,n2 --until-pid $$ ||",
        "unset BMC_PASSWORD",
    ]
    order += [
        "\n    job 1 ",
        "analysis.measure.power stop 1/power.csv --jobs 1 ${killed:+--patience 3} ||",
        "\nrecord end .",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)

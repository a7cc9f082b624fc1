"""Which runs would test a claim: worked out by hand from the claim's own file."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.base import project
from analysis.claims.model import load_report
from analysis.claims.needed import Needed, needed

HEAD = """\
report: { title: A report, publisher: Us, date: today }
defaults:
  select: { application: ls-dyna, case: 3cars, mpi: platform-mpi, placement: all-cores, profiler: none }
  conditions: { version: R7, ranks_per_node: 20, tuning: not stated }
claims:
"""


def of(folder: Path, body: str) -> Needed:
    path = folder / "some.yaml"
    path.write_text(
        HEAD + "  - { id: one, topic: things, statement: So it is, " + body + "}\n", encoding="utf-8"
    )
    return needed(load_report(path).claim("one"))


def test_needed__a_comparison_at_one_count(tmp_path: Path) -> None:
    body = "quantity: speedup, select: { nodes: 32 }, compare: { factor: interconnect, treatment: ib-fdr, "
    body += "baseline: [10gbe, 1gbe] }, expect: { relation: about, value: 5, tolerance: 10% }"
    found = of(tmp_path, body)
    where = "ls-dyna 3cars, on 32 nodes with 20 ranks on each"
    assert found.line == f"{where}, ib-fdr, 10gbe and 1gbe, platform-mpi, 6 repeats of each"
    assert (found.repeats, found.profile, found.energy) == (6, False, False)


def test_needed__scaling_doubles_the_nodes(tmp_path: Path) -> None:
    body = "quantity: trend, compare: { factor: nodes, order: { min: 1, max: 24 }, varying: [ranks] }, "
    found = of(tmp_path, body + "expect: { relation: rising }")
    assert found.levels["nodes"] == (1, 2, 4, 8, 16, 24)
    assert "on 1, 2, 4, 8, 16 and 24 nodes with 20 ranks on each" in found.line


def test_needed__what_a_profile_counts_is_needed_once(tmp_path: Path) -> None:
    body = "quantity: level, variable: rank_bytes, scale: 1.0e-9, select: { nodes: 2 }, "
    found = of(tmp_path, body + "expect: { relation: about, value: 10, tolerance: 10% }")
    assert found.line.endswith("platform-mpi, once, under IPM or mpiP")


def test_needed__money_needs_a_meter_and_silence_is_said(tmp_path: Path) -> None:
    body = "quantity: speedup, variable: energy_per_job, compare: { factor: tuning, treatment: tuned, "
    found = of(tmp_path, body + "baseline: untuned }, expect: { relation: at-least, value: 1 }")
    assert "on any number of nodes" in found.line
    assert "tuning tuned and untuned" in found.line
    assert found.line.endswith("with a power meter on each node")


@pytest.mark.parametrize("report", ["hpcg2014", "lsdyna2009", "lsdyna2014", "openatom2010", "sharp2019"])
def test_needed__every_claim_has_its_line(report: str) -> None:
    claims = load_report(project.claims(report)).claims
    assert len(claims) >= 9
    for claim in claims:
        found = needed(claim)
        assert found.application
        assert "\n" not in found.line
        assert "not stated" not in found.line, claim.id


def test_needed__doubles_up_to_1024_nodes(tmp_path: Path) -> None:
    body = "quantity: trend, compare: { factor: nodes, order: { min: 256, max: 9000 }, varying: [ranks] }, "
    found = of(tmp_path, body + "expect: { relation: rising }")
    assert found.levels["nodes"] == (256, 512, 1024, 9000)

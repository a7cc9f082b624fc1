"""Numbers that no machine, record or job can have: lies of many kinds in one copy, all named."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from .test_witnesses import Copy, base, config, said

__all__ = ["base", "config"]

# Of one run each: the keys that lead to a number, the lie, and what must be said of it.
LIES: list[tuple[str, Any, str]] = [
    ("load_before", -3.0, "says load_before -3, which is no load"),
    ("load_before", 1e9, r"says load_before 1e\+09, which is no load"),
    ("order", -7, "says order -7, which is no count"),
    ("repeat", -2, "says repeat -2, which is no count"),
    ("concurrent_jobs", 0, "says concurrent_jobs 0, which is no count"),
    ("threads", 0, "says threads 0, which is no count"),
    ("frequency", 0.0, "says frequency 0 GHz, which no processor has"),
    ("frequency", 250.0, "says frequency 250 GHz, which no processor has"),
    ("exit_code", 300, "says exit_code 300, which is neither a code nor a signal"),
    ("accounting/user", -2.281, r"says accounting/user -2\.281, which is below zero"),
    ("accounting/user", 5000.0, r"says user 500\d s with system, 2 processors had [\d.]+ s"),
    ("allocation/nodes", -1, "says allocation/nodes -1, which is below zero"),
    ("binary/bytes", -5, "says binary/bytes -5, which is below zero"),
    ("limits/locked_memory", -9, "says limits/locked_memory -9, which is no limit"),
    ("facts/facts/clock.now/value", {"lowest": 0, "highest": 0}, "says clock.now 0 to 0 MHz"),
    ("facts/facts/clock.now/value", {"lowest": 3e3, "highest": 2e3}, "says clock.now 3000 to 2000 MHz"),
    ("facts/facts/memory.total/value", 0, r"says memory\.total 0, which no node has"),
    ("facts/facts/memory.per_numa_node/value", 97558600, "KiB, of a node with 2.46"),
    ("facts/facts/cpu.Socket(s)/value", 4, "says cpu.CPU.s. 2, and 4 × 2 × 1 sockets, cores and threads"),
    ("facts/facts/cpu.CPU(s)/value", -2, "says cpu.CPU.s. -2, which no node has"),
    ("facts/facts/nic.eth0.mtu/value", -1400, r"says nic\.eth0\.mtu -1400, which is below zero"),
]


def processor_time(copy: Copy, row: str, seconds: str) -> None:
    """Write another TotalCPU into a row of Slurm's records."""
    heads, *_ = (copy.folder / "sacct.txt").read_text().splitlines()
    at = heads.split("|").index("TotalCPU")
    copy.edit("sacct.txt", rf"^({re.escape(row)}\|(?:[^|]*\|){{{at - 1}}})[^|]*", rf"\g<1>{seconds}")


def test_verify__names_each_number_that_cannot_be(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = Copy.of("vm-lulesh", base)
    records = [one for one in copy.records(exit_code=0) if "facts" in one]
    told: dict[str, str] = {}
    for record, (path, value, phrase) in zip(records, LIES, strict=False):
        *keys, last = path.split("/")
        place = record
        for key in keys:
            place = place[key]
        place[last] = value
        copy.write(f"runs/{record['run']}/run.json", json.dumps(record, indent=1))
        told[record["run"]] = phrase
    assert len(told) == len(LIES)
    processor_time(copy, "8", "00:01.000")
    processor_time(copy, "7.batch", "00:02.478")
    copy.edit("sacct.txt", r"^(7\|(?:[^|]*\|){9})\d+", r"\g<1>3")
    code, lines = said(copy, capsys)
    assert code == 1
    for run, phrase in told.items():
        assert any(f"{run}/run.json" in line and re.search(phrase, line) for line in lines), phrase
    text = "\n".join(lines)
    assert re.search(r"its job 8 has a TotalCPU of 1 s, the shells of its runs noted more", text)
    assert "says 3 nodes and lists 1 of 7;" in text
    assert re.search(r"says a TotalCPU of 24\.78 s of job 7, its steps have 2\.478 s", text)


def test_verify__notes_a_job_that_kept_fewer_processors_busy_than_its_repeats(
    base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All rows of the job say a tenth of 90.125 s, so that its steps agree with it; it took 46 s."""
    copy = Copy.of("vm-hpcg", base)
    processor_time(copy, "40", "00:09.012")
    processor_time(copy, "40.batch", "00:09.012")
    code, lines = said(copy, capsys)
    (line,) = [line for line in lines if "processors by its TotalCPU" in line]
    assert (code, "012/run.json" in line) == (0, True)
    assert "its job 40 used 0.196 processors" in line


def test_verify__notes_a_report_of_a_batch_system_that_its_repeats_deny(
    base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As an imported tree has them: 400 s of processor time in 200 s, 1 GiB; two liars; and short jobs."""
    copy = Copy.of("vm-hpcg", base)
    records = {one["job_id"]: one for one in copy.records(exit_code=0)}
    for job, record in records.items():
        facts = {"walltime": 200.0, "cpu_time": 400.0, "memory": float(1 << 30)}
        facts |= {40: {"cpu_time": 40.0}, 41: {"memory": float(20 << 30)}}.get(job, {})
        # Whole seconds, and no look at its memory or more than one, are all that is odd about these.
        facts |= {42: {"walltime": 1.0, "cpu_time": 40.0}, 43: {"walltime": 119.0, "memory": 2.0**40}}.get(
            job, {}
        )
        record["imported"] = {"facts": facts}
        copy.write(f"runs/{record['run']}/run.json", json.dumps(record, indent=1))
    _, lines = said(copy, capsys)
    told = [line for line in lines if "by its batch system" in line]
    assert len(told) == 2, told
    assert re.search(
        r"its job 40 used 0\.2 processors by its batch system, those of its \d+ repeats 2 to 2;", told[0]
    )
    assert re.search(
        r"its job 41 had 20 GiB by its batch system, those of its \d+ repeats at most 1 GiB;", told[1]
    )

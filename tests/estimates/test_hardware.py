"""The line that says whose hardware was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analysis.estimates.campaign import hardware


def record(folder: Path, name: str, **facts: object) -> None:
    values = {key: {"value": value, "source": "/x"} for key, value in facts.items()}
    (folder / name).mkdir(parents=True)
    text = json.dumps({"run": name, "facts": {"format": 1, "facts": values}})
    (folder / name / "run.json").write_text(text, encoding="utf-8")


def cpu(model: str, threads: int, per_core: int, kib: int | None = None) -> dict[str, object]:
    facts: dict[str, object] = {
        "cpu.Model name": model,
        "cpu.CPU(s)": threads,
        "cpu.Thread(s) per core": per_core,
    }
    return facts if kib is None else {**facts, "memory.total": kib}


def test_hardware__is_what_the_runs_say(tmp_path: Path) -> None:
    # 24,684,084 KiB are 23.54 GiB.
    record(tmp_path, "r1", **cpu("Xeon X", 2, 1, 24_684_084))
    record(tmp_path, "r2", **cpu("Xeon X", 2, 1, 24_684_084))
    assert hardware("${machine};\n  more", tmp_path) == "2 cores of Xeon X, 24 GiB; more"
    record(tmp_path, "r3", **cpu("EPYC Y", 256, 2))
    assert hardware("${machine}", tmp_path) == "128 cores of EPYC Y and 2 cores of Xeon X, 24 GiB"


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"facts": null}', '{"facts": {"facts": {}}}'])
def test_hardware__runs_that_do_not_say_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "run.json").write_text(text, encoding="utf-8")
    assert hardware("${machine}", tmp_path) == "a machine that its runs do not name"
    assert hardware("two\n nodes", tmp_path) == "two nodes"

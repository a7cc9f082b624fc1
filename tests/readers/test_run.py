from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from analysis.base.errors import ReadError
from analysis.base.models import schema_of
from analysis.readers import run
from analysis.schema import registry
from analysis.schema.records import RunRecord

CAMPAIGN = Path(__file__).parents[2] / "data/raw/vm-hpcg/runs"
FILE = CAMPAIGN / "001/run.json"

SMALL = {"run": "1", "campaign": "c", "application": "hpcg", "evidence": "measured"}


def record(**changes: Any) -> bytes:
    return json.dumps(SMALL | changes, indent=1).encode()


def test_run__reads_a_measured_run() -> None:
    ds = run.parse(FILE.read_bytes(), "001/run.json")
    assert ds.sizes == {"run": 1}
    got = {name: ds[name].values[0] for name in map(str, ds.variables)}
    assert (got["run"], got["campaign"], got["evidence"]) == ("001", "vm-hpcg", "measured")
    assert (got["local_size"], got["target_time"], got["order"]) == (16, 6.0, 1)
    assert (got["profiler"], got["cpu"], got["timing"]) == ("none", "", True)
    assert (got["job_id"], got["node_list"], got["exit_code"]) == ("28", "n1,n2", 0)
    # date -u -d @1795220851.240648
    assert got["start"] == np.datetime64("2026-11-21T00:27:31.240648")
    assert got["end"] == np.datetime64("2026-11-21T00:27:37.849535")
    assert got["elapsed"] == 1795220857.8495347 - 1795220851.2406485
    assert got["load_before"] == 0.18408203125
    assert (ds.extra, ds.complete, ds.warnings) == ("{}", True, [])


def test_run__reads_every_record_of_the_campaign() -> None:
    read = [run.records(path.read_bytes(), str(path)) for path in sorted(CAMPAIGN.glob("*/run.json"))]
    assert [str(fault) for _, faults in read for fault in faults.faults] == []
    # grep -h '"exit_code"' | sort | uniq -c, the same for the profiler, and awk's sum of end - start
    assert Counter(r["exit_code"] for r, _ in read) == {0: 203, 1: 14, 127: 3, -1: 1}
    assert Counter(r["profiler"] for r, _ in read) == {"none": 194, "mpip": 15, "ipm": 12}
    elapsed = [r["elapsed"] for r, _ in read]
    assert sum(map(math.isnan, elapsed)) == 1
    assert np.nansum(elapsed) == pytest.approx(1801.716442, abs=1e-6)


def test_run__record_holds_every_variable_of_its_kind() -> None:
    values, _ = run.records(FILE.read_bytes())
    assert set(values) == {*registry.declared("run"), "extra"}


def test_run__every_record_that_is_shipped_follows_the_schema() -> None:
    validator = Draft202012Validator(schema_of(RunRecord))
    paths = sorted((CAMPAIGN.parents[1]).glob("vm-*/runs/*/run.json"))
    assert len(paths) == 529
    assert [str(path) for path in paths if list(validator.iter_errors(json.loads(path.read_text())))] == []
    assert not validator.is_valid(SMALL | {"nodes": "two"})
    assert set(registry.declared("run")) <= set(RunRecord.model_fields)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"interconect": "ib"},
            ["x:6: unknown key 'interconect'; is 'interconnect' meant?"],
        ),
        (
            {"ranks_pernode": 4},
            ["x:6: unknown key 'ranks_pernode'; is 'ranks_per_node' meant?"],
        ),
        # Told beside the real one, or near nothing: a key of somebody's own.
        ({"node": "n1", "nodes": 2, "weather": "fine", "threads": 2}, []),
    ],
)
def test_run__misspelt_key_is_named_with_the_nearest(given: dict[str, Any], said: list[str]) -> None:
    values, faults = run.records(record(**given), "x")
    assert [str(fault) for fault in faults.faults] == said
    assert faults.complete
    assert values["interconnect"] == ""


def test_run__missing_keys_are_blank() -> None:
    values, faults = run.records(record())
    assert faults.faults == []
    for name in ("nodes", "ranks", "local_size", "repeat", "exit_code"):
        assert values[name] == -1, name
    assert math.isnan(values["target_time"])
    assert math.isnan(values["elapsed"])
    assert np.isnat(values["start"])
    assert (values["case"], values["cpu"], values["profiler"], values["timing"]) == ("", "", "", True)


def test_run__null_is_blank() -> None:
    values, faults = run.records(
        record(nx=None, target_seconds=None, exit_code=None, profiler=None, start=None)
    )
    assert (values["local_size"], values["exit_code"], values["profiler"]) == (-1, -1, "none")
    assert math.isnan(values["target_time"])
    assert faults.complete is True


def test_run__optional_keys_are_read() -> None:
    values, _ = run.records(record(timing=False, cpu="AMD EPYC", job_id="77_3", nodelist="n1"))
    assert (values["timing"], values["cpu"], values["job_id"], values["node_list"]) == (
        False,
        "AMD EPYC",
        "77_3",
        "n1",
    )


def test_run__unknown_keys_are_kept_as_json() -> None:
    ds = run.parse(record(zeta={"b": [1, None]}, alpha="x"))
    assert ds.extra == '{"alpha": "x", "zeta": {"b": [1, null]}}'


@pytest.mark.parametrize("name", run.REQUIRED)
def test_run__missing_required_key_is_named(name: str) -> None:
    text = json.dumps({key: value for key, value in SMALL.items() if key != name}).encode()
    values, faults = run.records(text, "r.json")
    assert values[name] == ""
    assert faults.complete is False
    assert [str(f) for f in faults.faults] == [
        f"r.json: {name!r} is missing or empty; add it: a record needs it"
    ]


def test_run__evidence_outside_the_classes_is_blank() -> None:
    values, faults = run.records(record(evidence="guessed"), "r.json")
    assert values["evidence"] == ""
    classes = "measured, published, simulated, modelled, reported, synthetic"
    assert str(faults.faults[0]) == f"r.json:5: 'evidence' is \"guessed\", not one of {classes}; left blank"


@pytest.mark.parametrize(
    ("key", "text", "name", "blank"),
    [
        ("nodes", '"two"', "nodes", -1),
        ("nodes", "true", "nodes", -1),
        ("nodes", "1e400", "nodes", -1),
        ("nodes", "9" * 30, "nodes", -1),
        ("nx", "[16, 16, 16]", "local_size", -1),
        ("case", "{}", "case", ""),
        ("timing", '"yes"', "timing", False),
    ],
)
def test_run__value_of_the_wrong_type_is_blank_and_named(
    key: str, text: str, name: str, blank: object
) -> None:
    data = record().replace(b"{\n", b'{\n "' + key.encode() + b'": ' + text.encode() + b",\n", 1)
    values, faults = run.records(data, "r.json")
    assert values[name] == blank
    assert faults.complete is False
    assert str(faults.faults[0]).startswith(f"r.json:2: {key!r} is ")


@pytest.mark.parametrize("number", ["Infinity", "-Infinity", "1e400", "1e301", "-5", "1e12", '"soon"'])
def test_run__time_that_is_none_is_blank_and_named(number: str) -> None:
    data = record().replace(b"{\n", b'{\n "start": ' + number.encode() + b',\n "end": 1795220857,\n', 1)
    values, faults = run.records(data, "r.json")
    assert np.isnat(values["start"])
    assert math.isnan(values["elapsed"])
    assert str(faults.faults[0]).startswith("r.json:2: 'start' is ")


def test_run__nan_is_blank_without_a_fault() -> None:
    values, faults = run.records(record(start=1795220851.5, end=math.nan))
    assert values["start"] == np.datetime64("2026-11-21T00:27:31.5")
    assert np.isnat(values["end"])
    assert faults.faults == []


def test_run__end_before_start_gives_no_elapsed() -> None:
    values, faults = run.records(record(start=10, end=9), "r.json")
    assert math.isnan(values["elapsed"])
    assert values["end"] == np.datetime64(9, "s")
    assert str(faults.faults[0]) == "r.json:7: 'end' is 9, not a time after 'start'; elapsed left blank"


def test_run__key_given_twice_keeps_the_last() -> None:
    data = record(nodes=1).replace(b'"nodes": 1', b'"nodes": 1,\n "nodes": 2')
    values, faults = run.records(data, "r.json")
    assert values["nodes"] == 2
    assert [str(f) for f in faults.faults] == ["r.json:7: 'nodes' is given twice; the last value is kept"]


def test_run__cut_record_keeps_its_whole_keys() -> None:
    text = FILE.read_bytes()
    cut = text.index(b'"start": 17952') + len(b'"start": 17952')
    values, faults = run.records(text[:cut], "r.json")
    assert (values["run"], values["node_list"], values["repeat"]) == ("001", "n1,n2", 1)
    assert values["command"].endswith("--rt=6")
    # The number is cut: half a time is no time.
    assert np.isnat(values["start"])
    assert faults.complete is False
    # grep -n '"start"' is line 27; the parser misses the comma there.
    assert str(faults.faults[0]).startswith("r.json:27: broken JSON (")


def test_run__garbled_line_costs_only_itself() -> None:
    text = FILE.read_bytes().replace(b'"ranks": 2,', b'"ranks": 2x,')
    values, faults = run.records(text, "r.json")
    assert values["ranks"] == -1
    assert (values["nodes"], values["ranks_per_node"], values["exit_code"]) == (2, 1, 0)
    assert str(faults.faults[0]).startswith("r.json:12: broken JSON (")
    assert str(faults.faults[0]).endswith("kept 25 whole keys")


def test_run__number_too_long_for_python_is_survived() -> None:
    values, faults = run.records(
        record(nodes=3).replace(b'"nodes": 3', b'"nodes": ' + b"9" * 5000 + b',\n"ranks": 4')
    )
    assert (values["nodes"], values["ranks"]) == (-1, 4)
    assert faults.complete is False


@pytest.mark.parametrize("data", [b"", b"[1, 2]", b'"run"', b"HPCG", b"{", b'{"run": ' + b"[" * 100_000])
def test_run__other_text_is_refused(data: bytes) -> None:
    with pytest.raises(ReadError, match=r"^r\.json:1: not a JSON object; give the run\.json of a run"):
        run.records(data, "r.json")


def test_run__is_known_by_content_or_name() -> None:
    text = FILE.read_bytes()
    assert run.sniff(text)
    assert run.sniff(text[:40], "run.json.xz")
    assert not run.sniff(text[:5], "other.json")
    assert not run.sniff(b'{"jobs": [], "run": 1}', "sacct.json")
    assert not run.sniff(b"run.json", "run.json")


@pytest.mark.parametrize("key", ["repeat", "nodes", "exit_code"])
@pytest.mark.parametrize(
    ("count", "fits"),
    [
        *((count, True) for count in (-2_147_483_648, -1, 0, 2_147_483_647)),
        *((count, False) for count in (-2_147_483_649, 2_147_483_648)),
    ],
)
def test_run__model_schema_and_reader_agree_on_what_fits_into_32_bits(
    key: str, count: int, fits: bool
) -> None:
    given = SMALL | {key: count}
    validator = Draft202012Validator(schema_of(RunRecord))
    assert validator.is_valid(given) == fits
    refused = [str(one) for one in run.records(record(**{key: count}))[1].faults]
    assert len(refused) == (not fits)
    assert all("not a whole number of 32 bits" in one for one in refused)
    if fits:
        assert getattr(RunRecord.model_validate(given), key) == count
    else:
        with pytest.raises(ValidationError, match=key):
            RunRecord.model_validate(given)

"""One verdict as JSON: what is written is read back, and what is no verdict is named with its file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from analysis.base.errors import ConfigError
from analysis.claims.verdict import Verdict, read_verdicts, write_verdicts


def verdict(**fields: Any) -> Verdict:
    plain = dict.fromkeys(("estimate", "low", "high", "expected", "n"))
    told = {"claim": "one", "report": "r", "evidence": "measured", "verdict": "holds", "unit": "×"}
    return Verdict(**{**plain, **told, "campaign": "c", **fields})


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    both = [verdict(estimate=1.5, n=6, ids=["one", "two"], base={"value": 2.0}), verdict(claim="two")]
    write_verdicts(both, tmp_path / "new" / "verdicts.json")
    assert read_verdicts(tmp_path / "new" / "verdicts.json") == both


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"claimed": 1}, "unknown field 'claimed'"),
        ({"estimate": "1.5"}, "'estimate' is '1.5', not a number or null"),
        ({"n": True}, "'n' is True"),
        ({"ids": "one"}, "'ids' is 'one', not a list of texts"),
        ({"inputs": ["data/raw"]}, "not a list of objects"),
    ],
)
def test_a_field_that_is_none_is_named_with_its_file(change: dict[str, Any], found: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Verdict.from_dict({**verdict().as_dict(), **change}, "verdicts.json")
    assert str(caught.value).startswith("verdicts.json: verdict one")
    assert found in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_each_missing_field_has_a_line() -> None:
    with pytest.raises(ConfigError) as caught:
        Verdict.from_dict({"claim": "one", "report": "r"}, "verdicts.json")
    missing = [line.split("'")[1] for line in str(caught.value).splitlines()]
    assert missing == ["evidence", "verdict", "estimate", "low", "high", "expected", "unit", "n", "campaign"]


def test_a_file_that_is_no_list_is_refused(tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text("{}")
    with pytest.raises(ConfigError, match="no list"):
        read_verdicts(tmp_path / "v.json")
    (tmp_path / "v.json").write_text("[")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_verdicts(tmp_path / "v.json")


def test_reading_verdicts_needs_no_pandas() -> None:
    code = "import sys, analysis.claims.verdict; print({'pandas', 'xarray', 'scipy'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "set()"

"""The study of damaged files: its outcomes add up, and it finds a reader that checks nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from analysis.readers.merits.output import Law, Output
from tests.studies import loaded

from .samples import SAMPLES

SEED = 202648
ENGINES = (
    "castep", "hpl", "hpl_mxp", "io500", "ior", "kripke", "lulesh", "minife", "npb", "perftest",
)  # fmt: skip


@pytest.fixture(scope="module")
def damage() -> Iterator[ModuleType]:
    with loaded("study_damage") as module:
        yield module


def files() -> list[tuple[str, bytes]]:
    return [(engine, SAMPLES[engine]) for engine in ENGINES]


def test_damage__no_figure_is_wrong_against_its_file(damage: ModuleType) -> None:
    found = damage.score(files(), SEED, 3, 40)
    assert set(found) == set(ENGINES)
    for count in found.values():
        # A flip that changes nothing is not counted.
        assert sum(n for name, n in count.items() if name.startswith("cut ")) == 3
        assert 20 <= sum(n for name, n in count.items() if name.startswith("flip ")) <= 40
        assert count["wrong"] == 0
        assert count["flip named"] > 0
    assert damage.score(files(), SEED, 3, 40) == found


def test_damage__reader_without_laws_is_found(damage: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Law, "holds", lambda *_: True)
    monkeypatch.setattr(Output, "verify", lambda *_: None)
    found = damage.score(files(), SEED, 0, 40)
    assert sum(count["wrong"] for count in found.values()) > 5


@pytest.mark.parametrize("engine", ENGINES)
def test_damage__whole_sample_obeys_the_law_of_the_study(damage: ModuleType, engine: str) -> None:
    assert engine in damage.LAWS
    assert not damage.contradicted(engine, SAMPLES[engine].decode())


@pytest.mark.parametrize(
    ("engine", "old", "new"),
    [
        ("hpl_mxp", "= 6.2500e+04", "= 6.2500e+05"),
        ("io500", "TOTAL 11.3", "TOTAL 11.4"),
        ("ior", "Write: 1300", "Write: 1400"),
        ("lulesh", "176.65", "178.65"),
    ],
)
def test_damage__another_figure_breaks_the_law_of_the_study(
    damage: ModuleType, engine: str, old: str, new: str
) -> None:
    text = SAMPLES[engine].decode()
    assert old in text
    assert damage.contradicted(engine, text.replace(old, new))


def test_damage__page_has_the_table_and_no_contradicted_figure() -> None:
    text = Path("docs/readers-damage.md").read_text()
    rows = [line.split("|") for line in text.splitlines() if line.startswith(("| `", "| all"))]
    assert len(rows) > 60
    assert {row[-2].strip() for row in rows} == {"0"}

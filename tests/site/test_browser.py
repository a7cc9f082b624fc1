"""The index in a real browser, from file://, where one is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from analysis.site.build import build
from tests.site import mock as site_mock

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browser")
    build(site_mock.verdicts(), site_mock.pages(folder), site_mock.PROVENANCE, folder / "out")
    return folder / "out" / "index.html"


def dom(index: Path, fragment: str, profile: Path) -> str:
    options = (
        "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync"
    )
    command = [
        str(CHROMIUM),
        *options.split(),
        f"--user-data-dir={profile}",
        "--dump-dom",
        index.as_uri() + fragment,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def shown(text: str) -> list[str]:
    rows = re.findall(r'<li class="row \w+" id="([^"]+)"[^>]*?( hidden="")?>', text)
    return [name for name, hidden in rows if not hidden]


@pytest.mark.parametrize(
    ("fragment", "claims"),
    [
        ("#?verdict=cannot+tell", ["scale-fdr", "mpi-28", "imbalance", "hostile"]),
        pytest.param("#?evidence=synthetic", ["fdr-1gbe", "dyna-fdr"], marks=pytest.mark.slow),
        pytest.param("#?q=allreduce+MPI", ["allreduce-24"], marks=pytest.mark.slow),
        pytest.param(
            "#?report=lsdyna2014&topic=Energy", ["dyna-power", "dyna-watts"], marks=pytest.mark.slow
        ),
    ],
)
def test_board__filters_from_the_address(
    index: Path, tmp_path: Path, fragment: str, claims: list[str]
) -> None:
    text = dom(index, fragment, tmp_path)
    assert shown(text) == claims
    assert f">{len(claims)} of 38</output>" in text


def test_board__link_to_a_row_opens_it(index: Path, tmp_path: Path) -> None:
    text = dom(index, "#wait-49", tmp_path)
    assert len(shown(text)) == 38
    opened = re.findall(r'id="([^"]+)"[^>]*>\s*<details open="">', text)
    assert [name for name in opened if not name.startswith("topic-")] == ["wait-49"]

"""The scoreboard in a real browser, from file://, where one is installed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from analysis.site.build import build
from tests.browser import CHROMIUM, Browser
from tests.site import mock as site_mock

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
SHOWN = "[...document.querySelectorAll('.group:not([hidden]) .row:not([hidden])')].map((row) => row.id)"
COUNT = "document.getElementById('shown').textContent"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("browser")
    build(site_mock.verdicts(), site_mock.pages(folder), site_mock.PROVENANCE, folder / "out")
    return (folder / "out" / "index.html").as_uri()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.mark.parametrize(
    ("fragment", "claims"),
    [
        ("#?verdict=cannot+tell", ["scale-fdr", "mpi-28", "imbalance", "hostile"]),
        ("#?evidence=synthetic", ["fdr-1gbe", "dyna-fdr"]),
        ("#?q=allreduce+MPI", ["allreduce-24"]),
        ("#?report=lsdyna2014&topic=Energy", ["dyna-power", "dyna-watts"]),
    ],
)
def test_board__filters_from_the_address(
    browser: Browser, index: str, fragment: str, claims: list[str]
) -> None:
    browser.open(index + fragment)
    browser.until(f"({SHOWN}).length === {len(claims)}")
    assert browser.run(SHOWN) == claims
    assert browser.run(COUNT) == f"{len(claims)} of 38 rows"
    assert browser.errors == []


def test_board__a_filter_that_nothing_passes_says_what_to_do(browser: Browser, index: str) -> None:
    browser.open(index + "#?report=hpcg2014&topic=Energy")
    browser.until(f"{COUNT}.startsWith('0 of 38')")
    assert browser.run(COUNT) == "0 of 38 rows. No claim passes all filters: clear one of them"
    assert browser.run("document.querySelectorAll('.group:not([hidden])').length") == 0


def test_board__counts_of_topics_follow_the_filter(browser: Browser, index: str) -> None:
    browser.open(index + "#?verdict=cannot+tell")
    browser.until(f"{COUNT}.startsWith('4')")
    many = "[...document.querySelectorAll('.group:not([hidden]) .many')].map((one) => one.textContent)"
    assert browser.run(many) == ["1 of 6", "2 of 8", "1 of 3"]


def test_board__link_to_a_row_opens_it(browser: Browser, index: str) -> None:
    browser.open(index + "#wait-49")
    browser.until("document.querySelector('#wait-49 .detail .record') !== null")
    opened = "[...document.querySelectorAll('.row details[open]')].map((one) => one.closest('.row').id)"
    assert browser.run(f"{opened}.filter((one, at, all) => all.indexOf(one) === at)") == ["wait-49"]

"""JupyterLab itself, driven by a real browser: the start page, the explorer, what saving changes."""

from __future__ import annotations

import difflib
import json
import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from socket import socket

import pytest

from analysis.claims.verdict import Verdict
from analysis.estimates.campaign import load_campaign
from analysis.site.kernels import stable
from benchbook import explorer
from benchbook.explorer import Explorer, answer

from .browser import CHROMIUM, Browser

ROOT = Path(__file__).parents[1]
PARTS = ("config", "data", "results", "src")


@pytest.mark.datasets("vm-hpcg")
def test_explorer__its_table_has_the_ratio_of_the_medians() -> None:
    campaign = load_campaign("vm-hpcg")
    found = answer(campaign, "build", "hpcg")
    (row,) = found.table[found.table["build"] == "-O3"].itertuples()
    runs = campaign.runs[campaign.runs["valid"] & campaign.runs["build"].ne("")]
    alone = runs[(runs["application"] == "hpcg") & (runs["nodes"] == 1) & (runs["profiler"] == "none")]
    medians = (
        alone[alone["run"].isin(_cell(campaign.runs, alone))].groupby("build")["figure_of_merit"].median()
    )
    other = next(level for level in medians.index if level != "-O3")
    assert row.ratio == pytest.approx(medians["-O3"] / medians[other])
    assert (row.n, row.n_baseline) == (6, 6)
    assert found.sentences[0].startswith("Build -O3 is 1.373 times as fast as build -O3 -march=native")


def _cell(runs: object, part: object) -> set[str]:
    """Runs that agree in all else with those of the build that occurs least."""
    rare = part["build"].value_counts().idxmin()
    names = ("case", "mpi", "ranks", "local_size", "target_time", "concurrent_jobs", "placement")
    first = part[part["build"] == rare].iloc[0]
    same = part
    for name in names:
        same = same[same[name] == first[name]]
    return set(same["run"])


@pytest.mark.datasets("vm-hpcg", "vm-profiles")
def test_explorer__a_choice_offers_what_the_campaign_has_and_shows_it() -> None:
    one = Explorer("vm-hpcg", "mpi")
    assert one.factor.value == "mpi"
    assert "no clear difference between MPICH 4.0.2 and Open MPI 4.1.4" in one.last.sentences[0]
    assert list(one.last.table["mpi"].unique()) == ["MPICH 4.0.2"]
    assert ", at 16³, " in Explorer("vm-hpcg", "ranks_per_node").last.sentences[0]  # as the report spells it
    one.measure.value = "elapsed"
    assert set(one.last.table["base_unit"]) == {"s"}
    one.factor.value = "nodes"
    assert one.last.refusal == "no two kinds of run differ in nodes alone, or have a value to compare."
    one.campaign.value = "vm-profiles"  # its times may not be used
    assert one.factor.options == ()
    assert "`vm-hpcg`" in one.contents()[0].data
    one.campaign.value = "vm-hpcg"
    assert one.factor.value == "interconnect"
    one.factor.value = "nodes"
    assert one.contents()[0].data.startswith("No two kinds of run differ in nodes alone, or have a value")
    assert one.contents()[0].data.endswith(". Choose another factor or measure.")


@pytest.mark.datasets("vm-hpcg")
def test_explorer__lists_only_claims_that_the_campaign_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    none = dict.fromkeys(("estimate", "low", "high", "expected", "n"))
    about = {"report": "r", "evidence": "measured", "unit": "", "campaign": "vm-hpcg", "topic": "MPI library"}
    words = ("cannot tell", "not tested", "inside the band")
    records = [Verdict(claim=word, verdict=word, **about, **none) for word in words]
    monkeypatch.setattr(explorer, "read_verdicts", lambda _: records)
    (tmp_path / "results").mkdir()
    (tmp_path / "results/verdicts.json").touch()
    campaign = load_campaign("vm-hpcg")
    monkeypatch.setattr(explorer.project, "root", lambda: tmp_path)
    found = explorer.claims_of(campaign, "mpi")
    assert found["verdict"].tolist() == ["cannot tell", "possible, not confirmed"]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """JupyterLab on a project whose notebooks are copies; its address and the project."""
    project = tmp_path_factory.mktemp("lab") / "project"
    shutil.copytree(ROOT / "notebooks", project / "notebooks", ignore=shutil.ignore_patterns(".*"))
    for name in PARTS:
        (project / name).symlink_to(ROOT / name)
    with closing(socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = project.parent / "home"
    own = {f"JUPYTER_{name}_DIR": str(home / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    server = subprocess.Popen(
        [
            sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--expose-app-in-browser",
            "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}", "--IdentityProvider.token=here",
            "--ServerApp.root_dir=notebooks", *_options(),
        ],
        cwd=project, env=os.environ | own | {"HOME": str(home)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        Browser._wait(lambda: _answers(f"{address}/api/status?token=here"))
        yield address, project
    finally:
        server.terminate()
        server.wait(30)


def _options() -> list[str]:
    """Return the options with which `make lab` starts JupyterLab."""
    said = subprocess.run(
        ["make", "--silent", "--eval", "said: ; @printf '%s\\n' $(LAB)", "said"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return said.stdout.splitlines()


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address) as found:
            return bool(found.status == 200)
    except OSError:
        return False


def _run_all(browser: Browser, address: str, notebook: str) -> None:
    """Open a notebook in the Lab, run all its cells, and wait until the last has ended."""
    browser.open(f"{address}/lab/tree/{notebook}?token=here&reset")
    browser.until("!!window.jupyterapp && !!document.querySelector('.jp-Notebook .jp-CodeCell')")
    kernel = (
        "document.querySelector('.jp-KernelName')?.innerText.startsWith('Python')"
        " && document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status === 'idle'"
    )
    browser.until(kernel)
    browser.run("void window.jupyterapp.commands.execute('notebook:run-all-cells')")
    last = "[...document.querySelectorAll('.jp-Notebook .jp-CodeCell .jp-InputPrompt')].at(-1)?.innerText"
    browser.until(f"/\\[(\\d+|\\s)\\]/.test({last}) && {kernel}")


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
@pytest.mark.datasets("vm-hpcg", "vm-profiles")
def test_lab__explorer_answers_and_a_saved_notebook_differs_little(
    lab: tuple[str, Path], tmp_path: Path
) -> None:
    address, project = lab
    with Browser(tmp_path) as browser:
        browser.size(1360, 3000)  # cells out of sight are not drawn
        _run_all(browser, address, "01-explore.ipynb")
        browser.until("document.querySelectorAll('.jp-OutputArea select').length === 4")
        text = "document.querySelector('.jp-Notebook').innerText"
        browser.until(f"{text}.includes('the open link and the link of 1 Gbit')")
        assert browser.run("document.querySelectorAll('.jp-OutputArea .jp-RenderedSVG').length") >= 1
        # Another campaign, by hand.
        browser.run(
            "(() => { const one = document.querySelectorAll('.jp-OutputArea select')[0];"
            "one.value = 'vm-profiles'; one.dispatchEvent(new Event('change', {bubbles: true})); })()"
        )
        browser.until(f"{text}.includes('No factor of vm-profiles has two levels')")
        browser.run("[...window.jupyterapp.shell.widgets('main')][0].context.save().then(() => true)")
        saved = project / "notebooks/01-explore.ipynb"
        before = (ROOT / "notebooks/01-explore.ipynb").read_text()
        Browser._wait(lambda: saved.read_text() != before)
        assert browser.errors == []
    clean = subprocess.run(
        [sys.executable, "-m", "analysis.site.kernels.commit", "--clean"],
        input=saved.read_text(), capture_output=True, text=True, check=True, cwd=ROOT,
    ).stdout  # fmt: skip
    changed = [line for line in difflib.ndiff(before.splitlines(), clean.splitlines()) if line[0] in "+-"]
    assert len(changed) <= 40, changed


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
@pytest.mark.datasets("vm-hpcg", "vm-profiles")
def test_lab__a_notebook_without_the_runs_says_in_one_line_which_campaigns_have_them(
    lab: tuple[str, Path], tmp_path: Path
) -> None:
    address, project = lab
    path = project / "notebooks/85-energy-and-cost.ipynb"
    content = stable.read(path)
    cell = next(one for one in content.cells if "parameters" in one.metadata.get("tags", ()))
    cell.source = "\n".join(
        'campaign = "vm-hpcg"' if line.startswith("campaign =") else line for line in cell.source.splitlines()
    )
    path.write_text(json.dumps(content))
    with Browser(tmp_path) as browser:
        browser.size(1360, 3000)  # cells out of sight are not drawn
        _run_all(browser, address, "85-energy-and-cost.ipynb")
        text = "document.querySelector('.jp-Notebook').innerText"
        browser.until(f"{text}.includes('Set `campaign` in the first cell to one that has them')")
        shown = browser.run(text)
    assert "Traceback" not in shown
    line = next(one for one in shown.splitlines() if one.startswith("Set `campaign`"))
    assert "syn-openatom2010" in line, line

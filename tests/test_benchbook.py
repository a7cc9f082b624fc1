"""``import benchbook``: campaigns by name, what answers a question, notebooks with small differences."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell

import benchbook
from analysis.base import project
from analysis.base.errors import ConfigError
from analysis.estimates.campaign import NotCoveredError
from analysis.pages import notebook as pages_notebook
from analysis.site.kernels import commit

ROOT = Path(__file__).parents[1]


@pytest.mark.datasets("vm-hpcg")
def test_open__is_a_campaign_that_shows_what_it_is() -> None:
    campaign = benchbook.open("vm-hpcg")
    text = repr(campaign)
    runs = len(list((ROOT / "data/raw/vm-hpcg/runs").glob("*/run.json")))
    assert f"runs: {runs} (203 of them count)" in text
    assert "MPI library: MPICH 4.0.2, Open MPI 4.1.4" in text
    assert "nodes: 1, 2" in text
    # What is not known of a run is no level.
    assert not re.search(r"\bnan\b|: ,|-1\b", text)
    html = campaign._repr_html_()
    assert html.count("<tr>") == len(campaign.overview)
    assert "<strong>vm-hpcg</strong>" in html


def test_open__an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(ConfigError, match="is 'vm-hpcg' meant"):
        benchbook.open("vm-hpgc")


def test_which__lists_campaign_and_notebook_of_a_question() -> None:
    found = benchbook.which("wh per job")
    assert ("archer2-frequency", "21-compare.ipynb") in set(zip(found.campaign, found.notebook, strict=True))
    library = benchbook.which("MPI library")
    assert {"vm-hpcg", "published-openfoam"} <= set(library.campaign)
    assert set(library.campaign) < set(benchbook.which().campaign)
    with pytest.raises(ConfigError, match="no campaign has runs for 'sauna'; known: interconnect"):
        benchbook.which("sauna")
    with pytest.raises(ConfigError, match="for 'interconect'; is 'interconnect' meant"):
        benchbook.which("interconect")
    with pytest.raises(ConfigError, match="for 'enrgy'; is 'energy' meant"):
        benchbook.which("enrgy")
    with pytest.raises(ConfigError, match="for 'libary'; is 'library' meant"):
        benchbook.which("libary")
    assert "spec-memory-ranks" in set(benchbook.which("DIMM rank").page)


def test_read__detects_the_format() -> None:
    assert "latency" in benchbook.read(ROOT / "tests/data/osu/latency_n2.txt")


def test_notebook__a_campaign_without_the_runs_is_one_line_that_names_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = InteractiveShell()
    monkeypatch.setattr(pages_notebook, "get_ipython", lambda: shell)
    monkeypatch.setenv("JPY_SESSION_NAME", "notebooks/45-scaling.ipynb")
    pages_notebook.explain_refusals()
    shell.user_ns["NotCoveredError"] = NotCoveredError
    shell.run_cell("raise NotCoveredError('no run of x stands for nodes 2')")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "no run of x stands for nodes 2."
    assert "published-openfoam" in lines[1]
    assert len(lines) == 2


def test_notebook__a_campaign_with_other_parameters_gets_those_of_its_page(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = InteractiveShell()
    monkeypatch.setattr(pages_notebook, "get_ipython", lambda: shell)
    monkeypatch.setenv("JPY_SESSION_NAME", "notebooks/60-messages.ipynb")
    pages_notebook.explain_refusals()
    shell.user_ns |= {"NotCoveredError": NotCoveredError, "campaign": "vm-hpcg", "reports": ["hpcg2014"]}
    shell.user_ns |= {"topics": ["message sizes"], "runs": ["hpcg-ipm-n8"]}
    shell.run_cell("raise NotCoveredError('vm-hpcg has no run hpcg-ipm-n8')")
    assert capsys.readouterr().err.splitlines()[1:] == [
        "For vm-hpcg, set these in the first cell, too:",
        "runs = ['073']",
    ]
    # With its own parameters another campaign is the only way.
    shell.run_cell("runs = ['073']\nraise NotCoveredError('no messages')")
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("Set `campaign` in the first cell to one that has them: vm-profiles")
    assert "vm-hpcg" not in last


def test_notebook__a_campaign_of_the_wrong_kind_is_one_line_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = InteractiveShell()
    monkeypatch.setattr(pages_notebook, "get_ipython", lambda: shell)
    monkeypatch.setenv("JPY_SESSION_NAME", "notebooks/12-findings.ipynb")
    pages_notebook.explain_refusals()
    shell.run_cell("from analysis.base.errors import ConfigError")
    shell.run_cell("raise ConfigError.at('modelled', 0, 'is modelled', 'compare its bands')")
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[0] == "modelled: is modelled; compare its bands."
    assert "vm-hpcg" in said.err.splitlines()[1]


def test_notebook__a_campaign_that_is_not_built_is_one_line_that_names_those_that_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("published-openfoam", "vm-hpcg"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "campaign.nc").touch()
    monkeypatch.setattr(project, "processed", lambda name, *_: tmp_path / name)
    shell = InteractiveShell()
    monkeypatch.setattr(pages_notebook, "get_ipython", lambda: shell)
    monkeypatch.setenv("JPY_SESSION_NAME", "notebooks/45-scaling.ipynb")
    pages_notebook.explain_refusals()
    shell.run_cell("import benchbook; benchbook.open('syn-lsdyna2014')")
    lines = capsys.readouterr().err.splitlines()
    # `make report` builds no synthetic campaign.
    assert lines[0].endswith("syn-lsdyna2014/campaign.nc: is not there; build it: make datasets.")
    able = "Set `campaign` in the first cell to one that is built: "
    assert lines[1].startswith(able)
    assert set(lines[1].removeprefix(able).removesuffix(".").split(", ")) <= {"published-openfoam", "vm-hpcg"}
    assert "published-openfoam" in lines[1]
    assert len(lines) == 2


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_clean__leaves_a_committed_notebook_as_it_is(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(path.read_text(encoding="utf-8")))
    commit.clean()
    assert capsys.readouterr().out == path.read_text(encoding="utf-8")


def test_clean__takes_out_what_run_all_and_save_adds() -> None:
    path = ROOT / "notebooks/14-holdings.ipynb"
    notebook = nbformat.read(path, as_version=4)
    for count, cell in enumerate(one for one in notebook.cells if one.cell_type == "code"):
        if "verdicts" not in cell.metadata.get("tags", ()):
            cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text="much\n" * 200)]
        cell.execution_count = count + 17
        cell.metadata["execution"] = {"iopub.status.busy": "2026-11-25T20:00:00Z"}
    notebook.metadata["kernelspec"]["display_name"] = "Mine"
    command = [sys.executable, "-m", "analysis.site.kernels.commit", "--clean"]
    done = subprocess.run(
        command, input=nbformat.writes(notebook), capture_output=True, text=True, check=True
    )
    assert done.stdout == path.read_text(encoding="utf-8")


def test_clean__verdicts_that_a_run_did_not_reach_stay_unless_the_code_changed() -> None:
    name = "notebooks/57-mpi-calls.ipynb"
    kept = subprocess.run(
        ("git", "show", f":{name}"), cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    notebook = nbformat.reads(kept, as_version=4)
    code = [one for one in notebook.cells if one.cell_type == "code"]
    for cell in code:
        cell.outputs, cell.execution_count = [], None
    command = [sys.executable, "-m", "analysis.site.kernels.commit", "--clean", name]

    def cleaned() -> str:
        text = nbformat.writes(notebook)
        return subprocess.run(
            command, cwd=ROOT, input=text, capture_output=True, text=True, check=True
        ).stdout

    assert cleaned() == kept
    code[0].source = code[0].source.replace("vm-hpcg", "vm-profiles")
    assert "text/html" not in cleaned()

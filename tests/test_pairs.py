"""Every notebook on every campaign, as in JupyterLab: it runs, or says in plain lines what to set instead."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from analysis.base import project
from analysis.estimates import campaign as campaigns
from analysis.estimates import contents
from analysis.pages import notebook as pages_notebook
from tests.test_notebooks import NOTEBOOKS, ROOT
from tests.test_notebooks import campaigns as named_in_notebooks

CAMPAIGNS = sorted(path.stem for path in (ROOT / "config/campaigns").glob("*.yaml"))
# What `make datasets` builds. Of any other campaign a notebook says that it is not built.
_RULES = (ROOT / "workflow/rules/common.smk").read_text(encoding="utf-8")
EXAMPLES = re.findall(r'"([\w-]+)"', _RULES.partition("EXAMPLES = (")[2].partition(")")[0])
BUILT = {*contents.load_config(ROOT)["campaigns"], *named_in_notebooks(), *EXAMPLES}
ASKED = {"13-compare": "before"}  # every other notebook has a `campaign`
WITHOUT = ("90-audit",)  # of reports alone
ADVICE = ("Set `campaign` in the first cell to one that ", "For {}, set these in the first cell, too:")

QUIET = Config(HistoryManager={"enabled": False})  # or each shell keeps a thread

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.fixture(autouse=True)
def once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Read each campaign and the list of pages once, in the folder of the notebooks; close all figures."""
    for function in (campaigns.load_campaign, contents.load_config):
        kept, name = cache(function), function.__name__
        for module in [one for one in sys.modules.values() if getattr(one, name, None) is function]:
            monkeypatch.setattr(module, name, kept)
    monkeypatch.chdir(ROOT / "notebooks")
    monkeypatch.setattr(plt, "show", lambda *_, **__: None)
    yield
    plt.close("all")


def outcome(
    cells: list[nbformat.NotebookNode],
    called: str,
    campaign: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    given: str = "",
) -> tuple[str, list[str]]:
    """Run the cells of a notebook with a campaign: "ran", "told" or a fault; and the lines of the last cell.

    `given` are lines that are added to the parameters.
    """
    shell = InteractiveShell(config=QUIET)
    monkeypatch.setattr(pages_notebook, "get_ipython", lambda: shell)
    monkeypatch.setenv("JPY_SESSION_NAME", f"notebooks/{called}.ipynb")
    for cell in cells:
        tags, source = cell.metadata.get("tags", ()), cell.source
        if "parameters" in tags:
            source += f"\n{ASKED.get(called, 'campaign')} = {campaign!r}\n{given}"
        result = shell.run_cell(source)
        plt.close("all")
        said = capsys.readouterr()
        lines = said.err.splitlines()
        if not result.success:
            error = result.error_in_exec or result.error_before_exec
            told = "Traceback" not in said.out + said.err and lines[:1] == [f"{error}."]
            return ("told" if told else f"traceback: {error!r}"), lines
        if "answer" in tags and not getattr(result.result, "data", "an answer").strip():
            return "an empty answer", lines
    return "ran", lines


def code(path: Path) -> list[nbformat.NotebookNode]:
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


@pytest.mark.parametrize(
    "campaign",
    [pytest.param(one, marks=pytest.mark.datasets(one) if one in BUILT else ()) for one in CAMPAIGNS],
)
def test_pairs__run_or_say_what_can(
    campaign: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {}
    for path in [one for one in NOTEBOOKS if one.stem not in WITHOUT]:
        cells = code(path)
        word, lines = outcome(cells, path.stem, campaign, monkeypatch, capsys)
        if word == "told" and path.stem not in ASKED:
            advice, *parameters = lines[1:] or lines
            names = advice.startswith(tuple(one.format(campaign) for one in ADVICE)) or "; known: " in advice
            word = "told" if names else str(lines)
            if parameters and names:  # what it says to set is what is missing
                again, _ = outcome(cells, path.stem, campaign, monkeypatch, capsys, "\n".join(parameters))
                word = "ran" if again == "ran" else f"with its advice: {again}"
        found[path.stem] = word
    assert {name: word for name, word in found.items() if word not in ("ran", "told")} == {}
    assert len(found) == len(NOTEBOOKS) - len(WITHOUT)
    unbuilt = not (project.processed(campaign, ROOT) / "campaign.nc").is_file()
    assert ("ran" in found.values()) != unbuilt  # the explorer shows any campaign


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("None", "ran"),
        ("raise NotCoveredError('no run')", "told"),
        ("raise ValueError('no rows')", "traceback: ValueError('no rows')"),
        ("Markdown(' ')", "an empty answer"),
    ],
)
def test_outcome__tells_a_traceback_from_an_explanation(
    source: str, word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    imports = "from analysis.pages.notebook import Markdown, NotCoveredError, explain_refusals"
    first = f"{imports}\nexplain_refusals()"
    cells = [
        nbformat.v4.new_code_cell(first, metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell(source, metadata={"tags": ["answer"]}),
    ]
    assert outcome(cells, "45-scaling", "vm-hpcg", monkeypatch, capsys)[0] == word

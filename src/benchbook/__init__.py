"""Benchbook by name, for notebooks and scripts: open a campaign, read a file, find what answers a question.

>>> import benchbook
>>> benchbook.open("vm-hpcg").evidence
'measured'
>>> benchbook.which("energy").columns.tolist()
['campaign', 'question', 'notebook', 'page']
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

# A project's Snakefile imports this, so each function imports what is slow, such as pandas, itself.
if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from analysis.estimates.campaign import Campaign
    from benchbook.explorer import Explorer

__all__ = ["explore", "open", "read", "which"]


def open(name: str) -> Campaign:  # noqa: A001 - benchbook.open("vm-hpcg") is how a user says it
    """Open a campaign's datasets and declaration.

    Parameters
    ----------
    name : str
        Name of the campaign, as ``benchbook list campaigns`` has it.

    Returns
    -------
    Campaign
        Its ``frame("runs")`` is a table with a row for each run; ``tree`` has the xarray datasets.

    Raises
    ------
    ConfigError
        If there is no such campaign; the message has the nearest name.
    ReadError
        If its datasets are not built: run ``make datasets``.
    """
    from analysis.base import project
    from analysis.base.models import named
    from analysis.estimates.campaign import load_campaign

    _explain()
    named(project.declaration(name), "campaign")
    return load_campaign(name)


def explore(campaign: str = "", factor: str = "") -> Explorer:
    """Show, in a notebook, what a factor does in a campaign, with menus for both.

    Parameters
    ----------
    campaign : str
        A campaign whose datasets are built; by default the first.
    factor : str
        What to compare first, such as ``interconnect``.

    Returns
    -------
    Explorer
        A widget. Its ``last.table`` is the table that it shows, as a data frame.
    """
    from benchbook.explorer import Explorer

    _explain()
    return Explorer(campaign, factor)


def read(path: str | Path) -> xr.Dataset:
    """Read a raw file; its format is detected from the content (see `analysis.readers.open`).

    The dataset can be saved with its `to_netcdf`.
    """
    from analysis import readers
    from analysis.readers.engines import portable

    _explain()
    return portable(readers.open(path))


def which(question: str = "") -> pd.DataFrame:
    """List the campaigns whose runs answer a question, with the notebook and the page of each.

    Parameters
    ----------
    question : str
        Words such as ``energy`` or ``MPI library``. All of them must be in the question, its topic or the
        names of notebook and page. Empty for everything that can be answered.

    Returns
    -------
    pandas.DataFrame
        Columns ``campaign question notebook page``, in the order of the site.

    Raises
    ------
    ConfigError
        If nothing answers it; the message lists the topics that have answers.
    """
    import pandas as pd

    from analysis.base import models, project
    from analysis.base.errors import ConfigError
    from analysis.base.models import known
    from analysis.estimates.contents import load_config, title_of
    from analysis.schema.campaigns import CampaignFile
    from analysis.schema.factors import PROCESSORS

    _explain()
    pages = load_config()["pages"]
    words = re.findall(r"\w+", question.lower())
    asked = [_SAME.get(word, word) for word in words if word not in _EMPTY]
    rows = []
    for page in pages:
        title, topics = title_of(page, project.root()), page.get("topics", [])
        used = project.as_list(page, "campaign")
        text = " ".join([title, *topics, page["name"], page["notebook"]])
        if asked and PROCESSORS & set(topics):  # the processor is what the page is about
            text += " ".join(models.load(CampaignFile, project.declaration(one)).hardware for one in used)
        if all(word in text.lower() for word in asked):
            named = used or [page.get("group", "")]
            rows += [(campaign, title, page["notebook"], page["name"]) for campaign in named]
    if not rows:
        topics = list(dict.fromkeys(topic for page in pages for topic in page.get("topics", ())))
        single = {word: word for topic in topics for word in topic.split()} | _SAME
        remedy = known(question, topics, spellings=single)
        raise ConfigError.at("which", 0, f"no campaign has runs for {question!r}", remedy)
    return pd.DataFrame(rows, columns=["campaign", "question", "notebook", "page"])


def _explain() -> None:
    """In JupyterLab, let a refusal be one line."""
    if os.environ.get("JPY_SESSION_NAME"):
        from analysis.pages.notebook import explain_refusals

        explain_refusals()


# Words of a user -> those of pages; and words that say nothing of a topic.
_SAME = {
    "dimm": "memory",
    "dimms": "memory",
    "wh": "energy",
    "watt": "energy",
    "watts": "energy",
    "joules": "energy",
    "throughput": "placement",
    "clock": "frequency",
}
_EMPTY = frozenset((
    "a", "an", "are", "can", "do", "does", "for", "higher", "how", "i", "in", "is", "it", "job", "much", "of",
    "on", "per", "should", "the", "to", "what", "which", "worth",
))  # fmt: skip

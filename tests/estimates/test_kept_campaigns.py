"""A campaign that a build's warm process keeps is the one that would be loaded."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from analysis.base import project
from analysis.base.errors import ConfigError
from analysis.cli.stages import foreseen
from analysis.estimates import campaign as campaigns
from analysis.estimates.campaign import keep, load_campaign

NAME = "vm-hpcg"
pytestmark = pytest.mark.datasets(NAME)


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with one campaign, of which nothing is kept."""
    monkeypatch.setattr(campaigns, "_KEPT", {})
    for path in (project.declaration(NAME), project.processed(NAME) / "campaign.nc"):
        target = tmp_path / path.relative_to(project.root())
        target.parent.mkdir(parents=True)
        shutil.copy(path, target)
    return tmp_path


def test_kept__is_what_would_be_loaded(base: Path) -> None:
    plain = load_campaign(NAME, base)
    assert load_campaign(NAME, base) is not plain
    foreseen(["page", "a.ipynb", "b.ipynb", f'--parameters={{"campaign": "{NAME}"}}'], str(base))
    kept = load_campaign(NAME, base)
    assert load_campaign(NAME, base) is kept
    assert repr(kept) == repr(plain)
    assert kept.runs.equals(plain.runs)
    assert [one.question for one in kept.doubts] == [one.question for one in plain.doubts]


def test_kept__no_longer_where_a_file_is_another(base: Path) -> None:
    keep(NAME, base)
    path = project.declaration(NAME, base)
    text = path.read_text()
    path.write_text(text.replace("title: ", "title: New ", 1))
    assert load_campaign(NAME, base).title.startswith("New ")
    path.unlink()
    with pytest.raises(ConfigError, match=NAME):
        load_campaign(NAME, base)


def test_kept__not_if_it_is_large(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = (project.processed(NAME, base) / "campaign.nc").stat().st_size
    monkeypatch.setattr(campaigns, "_MOST_KEPT", size)  # the declaration is some bytes more
    keep(NAME, base)
    assert not campaigns._KEPT

"""``benchbook export``: a raw campaign as a zipped RO-Crate."""

from __future__ import annotations

from pathlib import Path

from analysis.base import project
from analysis.cli import FINE
from analysis.cli.verify import declaration, document, locate
from analysis.datasets.applications import load_applications
from analysis.estimates.campaign import hardware
from analysis.provenance import crate
from analysis.provenance.crate import About


def export(campaign: str, out: str, *, licence: str, published: str, force: bool) -> int:
    """Write a campaign that agrees with its manifest as an RO-Crate.

    An empty licence (SPDX) is that of ``CITATION.cff``, an empty day the one on which the last run ended.
    Raises `ConfigError` if the campaign does not agree with its manifest, or the archive cannot be written.
    """
    folder, label = locate(campaign)
    base = project.root()
    declared = declaration(campaign)
    measured_on = hardware(str(declared.get("hardware", "")), folder / "runs")
    texts = [measured_on, *(" ".join(str(note).split()) for note in declared.get("notes", ()))]
    known = load_applications(base / "config" / "applications")
    about = About(
        name=campaign,
        title=str(declared.get("title", campaign)),
        description=" ".join(text if text.endswith(".") else f"{text}." for text in texts if text),
        evidence=str(declared.get("evidence", "")),
        licence=licence or str(document(base / "CITATION.cff").get("license", "")),
        published=published,
        hardware=measured_on,
        clusters={path.stem: document(path).get("facts", ()) for path in _files(base, "clusters")},
        applications={name: one.title for name, one in known.items()},
    )
    files, runs = crate.export(folder, label, Path(out), about, force=force)
    print(f"{out}: {files} files, {runs} runs")
    return FINE


def _files(base: Path, kind: str) -> list[Path]:
    return sorted((base / "config" / kind).glob("*.yaml"))

"""``benchbook report``: the slides of a campaign as HTML, PowerPoint and PDF."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from analysis.base import project
from analysis.base.errors import ConfigError
from analysis.cli import CAMPAIGN, FINE
from analysis.cli.built import built


def report(name: str, *, out: str, title: str, pdf: bool) -> int:
    """Write the slides of a campaign into a folder and print the files."""
    if not CAMPAIGN.fullmatch(name):
        raise ConfigError.at("CAMPAIGN", 0, f"{name!r} is no name of a campaign", "as in config/campaigns")
    folder = Path(out) if out else project.root() / "results" / "reports" / name
    built([name])
    print(f"reading {name} and searching it for conclusions", file=sys.stderr)
    from analysis.decks import html, pptx
    from analysis.decks.content import deck
    from analysis.estimates.campaign import load_campaign

    content = deck(load_campaign(name), title=" ".join(title.split()))
    print(f"drawing {len(content.slides)} slides", file=sys.stderr)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = [folder / f"{name}.{kind}" for kind in ("html", "pptx", "pdf")]
        html.write(content, files[0])
        pptx.write(content, files[1])
        why = html.print_pdf(files[0], files[2]) if pdf else "--no-pdf"
    except OSError as error:
        remedy = "give another folder with --out"
        raise ConfigError.at(str(folder), 0, error.strerror or str(error), remedy) from error
    if why:
        print(f"no PDF was made: {why}", file=sys.stderr)
    for path in files[: 2 if why else 3]:
        print(os.path.relpath(path))
    return FINE

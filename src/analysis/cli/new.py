"""``benchbook new-campaign``: the folders and the declaration that a campaign needs."""

from __future__ import annotations

from analysis.base import project
from analysis.base.errors import ConfigError
from analysis.cli import CAMPAIGN, FINE

_DECLARATION = """\
title: {name}
evidence: measured # measured, published, reported, modelled or synthetic
hardware: one line that names the CPUs, memory and network of the nodes
notes: []
# Which of this campaign's levels stands for a report's level, and how it differs from it.
# levels:
#   interconnect:
#     ib-fdr: {{ is: hdr100, differs: "HDR100 InfiniBand" }}
levels: {{}}
"""

_README = """\
# {name}

What was measured, on what, when, and what the reader must know. Each run is a folder
`runs/<run>/` with `run.json` (see `vm-hpcg` for the keys) and the job's output as it came;
`sacct --parsable2` output beside `runs/` is joined by job id.
"""


def new_campaign(name: str) -> int:
    """Make a campaign's folders."""
    if not CAMPAIGN.fullmatch(name):
        remedy = "use letters, digits, dots, dashes, underscores"
        raise ConfigError.at(name, 0, "is no name for a campaign", remedy)
    base = project.root()
    files = {
        project.declaration(name, base): _DECLARATION,
        project.raw(name, base) / "README.md": _README,
    }
    for path in files:
        if path.exists():
            raise ConfigError.at(str(path.relative_to(base)), 0, "exists already", "choose another name")
    (project.raw(name, base) / "runs").mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        path.write_text(text.format(name=name), encoding="utf-8")
        print(f"wrote {path.relative_to(base)}")
    print(f"next: put runs into data/raw/{name}/runs/, edit config/campaigns/{name}.yaml,")
    print(f"      add {name} to campaigns and reports in config/config.yaml, then: make report")
    return FINE

"""The folder of a run before it starts: its script, and of each job head, input files and links.

All but the names of the nodes is worked out before a job of Slurm is submitted (`prepare.keep`). The job
takes it if the files that it was made from are as they were, and imports no model then.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.base import files
from analysis.base.errors import ConfigError
from analysis.measure import folders

KEPT = ".layouts"  # a folder under that of what runs


def path_of(base: Path, campaign: str, run: str) -> Path:
    """Return the file in which the layout of a run is kept."""
    return folders.running(base, campaign) / KEPT / f"{run}.json"


def host(number: int) -> str:
    """Return what a kept layout has in place of the name of a node, from 1: no shell has to quote it."""
    return f"@node{number}@"


def kept(base: Path, campaign: str, run: str, hosts: Sequence[str]) -> dict[str, Any]:
    """Return the kept layout of a run for some nodes.

    Empty if none was kept, if it is for another number of nodes, or if what it was made from has changed.
    """
    found = files.read_json(path_of(base, campaign, run))
    layout = found.get("layout")
    sources = found.get("sources")
    if not (isinstance(layout, dict) and isinstance(sources, dict)) or layout["nodes"] != len(hosts):
        return {}
    try:
        if any(files.sha256(base / name) != digest for name, digest in sources.items()):
            return {}
    except OSError:
        return {}
    text = json.dumps(layout)
    for number, name in enumerate(hosts, 1):
        text = text.replace(host(number), name)
    made: dict[str, Any] = json.loads(text)
    return made


def lay_out(work: Path, layout: Mapping[str, Any], common: Mapping[str, Any]) -> None:
    """Write a run's folder: its script, and a folder for each job; `common` is in the heads of all jobs."""
    for number, job in enumerate(layout["jobs"], 1):
        folder = work / str(number)
        folder.mkdir()  # not its parent: who finds the job gone has removed it
        (folder / ".binding").mkdir()
        _fill(folder, job["files"], job["links"])
        own = {"command": job["command"], **common, "files": job["files"]}
        folders.write_json(folder / folders.HEAD, {**job["head"], **own})
    (work / "job.sh").write_text(layout["script"], encoding="utf-8")


def _fill(folder: Path, texts: Mapping[str, str], links: str) -> None:
    """Write a job's files into its folder, which holds none of them yet, and link its inputs."""
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
        if text.startswith("#!"):
            (folder / name).chmod(0o755)
    if links:
        if not Path(links).is_dir():
            raise ConfigError.at(links, 0, "is no folder of input files", "fix 'inputs' of the cluster")
        _link(Path(links), folder)


def _link(source: Path, target: Path) -> None:
    """Link files, make folders anew: what a program writes beside its inputs is the run's."""
    for path in sorted(source.iterdir()):
        if path.is_dir():
            (target / path.name).mkdir(exist_ok=True)
            _link(path, target / path.name)
        # Through a link of such a name the job's output would go into the folder of inputs.
        elif path.name not in folders.OURS and not (target / path.name).exists():
            (target / path.name).symlink_to(path.resolve())

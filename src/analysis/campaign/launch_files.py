"""Files of one job in its folder: those that are written for it, and links to its input files."""

from __future__ import annotations

from pathlib import Path

from analysis.campaign import folders
from analysis.campaign.jobs import Job
from analysis.errors import ConfigError


def lay_out(folder: Path, job: Job) -> None:
    """Write a job's files and link its inputs.

    Parameters
    ----------
    folder : Path
        The job's own; it is there and holds none of them yet.
    job : Job

    Raises
    ------
    ConfigError
        If the folder of inputs is not there.
    """
    for name, text in job.files.items():
        (folder / name).write_text(text, encoding="utf-8")
        if text.startswith("#!"):
            (folder / name).chmod(0o755)
    if job.links:
        if not Path(job.links).is_dir():
            raise ConfigError.at(job.links, 0, "is no folder of input files", "mend 'inputs' of the cluster")
        _link(Path(job.links), folder)


def _link(source: Path, target: Path) -> None:
    """Link files, make folders anew: what a program writes beside its inputs is the run's."""
    for path in sorted(source.iterdir()):
        if path.is_dir():
            (target / path.name).mkdir(exist_ok=True)
            _link(path, target / path.name)
        # Through a link of such a name the job's output would go into the folder of inputs.
        elif path.name not in folders.OURS and not (target / path.name).exists():
            (target / path.name).symlink_to(path.resolve())

"""A project of one's own: what Benchbook ships is linked and follows each release.

`init` writes a project, `link` brings its links up to the installed release. The project's own
``workflow/Snakefile`` calls `link`, so nothing is to be merged after an upgrade.
"""

from __future__ import annotations

import shutil
from hashlib import sha256
from pathlib import Path

import analysis
from analysis.base import project
from analysis.base.errors import ConfigError

# What a project has from the release: whole folders, and folders to which users add files of their own.
FOLDERS = ("docs", "config/model", "data/model", "src/proxy")
FILES = (
    "config/questions.yaml", "config/applications/*.yaml", "config/claims/*.yaml", "config/audit/*.yaml",
    "notebooks/*.ipynb", "workflow/scripts/*", "workflow/schemas/*",
)  # fmt: skip
# The claims of the shipped repository's own campaign are no report.
_OWN = ("config/claims/house.yaml",)
MARK = Path("workflow/Snakefile")
_EMPTY = ("config/campaigns", "config/clusters", "config/formats", "data/raw", "data/processed")
_SNAKEFILE = """\
# The rules are those of the installed Benchbook; `link` links its notebooks, applications and claims.
from pathlib import Path

from benchbook.home import link, share

link(Path.cwd())


include: share("workflow/Snakefile")


rule report:
    default_target: True
    input:
        rules.all.input,
"""
_CONFIG = """\
# `make report` builds every campaign in config/campaigns/ that has runs; those named here come first.
# docs/reference/configuration.md has all keys.
campaigns: []
reports: {}
"""
TARGETS = "workflow/scripts/project.mk"
_MAKEFILE = f"""\
# `make report` builds results/site/index.html, `make lab` opens the notebooks. The targets are those of the
# installed Benchbook; add your own below.
include {TARGETS}

{TARGETS}:
\t@echo "the links to Benchbook are broken: run benchbook init ."; exit 1
"""
# What earlier releases wrote, which had the targets in it: the beginnings of sha256.
_OLD_MAKEFILES = ("738d807f04a1258b", "30195e463c33f442", "cb26d721b3b77707")
_README = """\
# {name}

A project of Benchbook. `config/`, `data/raw/`, `slurm/config.yaml` and new notebooks are yours. Links are
files of the installed Benchbook. A new release changes them; there is nothing to merge. To change one,
replace the link by a copy.

    benchbook import FOLDER --as NAME      # a folder of job output becomes a campaign
    benchbook new-campaign NAME            # or a campaign that Slurm measures
    make report                            # results/site/index.html
"""
_IGNORE = """\
.snakemake/
.ipynb_checkpoints/
data/processed/
results/
/log
"""


def share(path: str = "") -> Path:
    """Return where the installed release has a file or folder: in its wheel, or in the repository."""
    package = Path(analysis.__file__).resolve().parent
    repository = package.parents[1]
    inside = package.parent / "benchbook" / "share"
    return (inside if inside.is_dir() else repository) / path


def link(base: str | Path) -> list[Path]:
    """Link what the installed release has into a project; the user's own files stay.

    Parameters
    ----------
    base : str or Path
        Folder of the project.

    Returns
    -------
    list of Path
        The links that were made or changed. Links to what a release no longer has are removed.
    """
    base = Path(base).resolve()
    if base == share().resolve():
        return []  # the repository itself
    wanted = {name: share(name) for name in FOLDERS if share(name).is_dir()}
    for pattern in FILES:
        for path in sorted(share().glob(pattern)):
            name = path.relative_to(share()).as_posix()
            if path.is_file() and name not in _OWN:
                wanted[name] = path
    changed = [base / name for name, path in wanted.items() if _linked(base / name, path)]
    for folder in {(base / name).parent for name in FILES}:
        for one in folder.glob("*") if folder.is_dir() else ():
            if one.is_symlink() and not one.exists():
                one.unlink()
    return changed


def _linked(place: Path, target: Path) -> bool:
    """Make a link unless there is a file of the user's; whether it was made."""
    if place.is_symlink():
        if place.readlink() == target:
            return False
        place.unlink()
    elif place.exists():
        return False
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)
    return True


def init(folder: str | Path) -> Path:
    """Write a new project into a folder that is empty or not there.

    Parameters
    ----------
    folder : str or Path
        Where the project goes; its last part is its name.

    Returns
    -------
    Path
        The folder. Of one that is a project only the links are brought up to the installed release, and a
        Makefile that is missing, or that an earlier release wrote and nobody changed.

    Raises
    ------
    ConfigError
        If the folder has files; none of them is touched.
    """
    base = Path(folder)
    snakefile = base / MARK
    if snakefile.is_file() and "benchbook.home" in snakefile.read_text(encoding="utf-8"):
        link(base)
        makefile = base / "Makefile"
        if not makefile.exists() or sha256(makefile.read_bytes()).hexdigest()[:16] in _OLD_MAKEFILES:
            makefile.write_text(_MAKEFILE, encoding="utf-8")
        return base
    if base.exists() and (not base.is_dir() or any(base.iterdir())):
        raise ConfigError.at(str(folder), 0, "is not empty", "give a new folder; nothing was changed")
    for name in _EMPTY:
        (base / name).mkdir(parents=True, exist_ok=True)
        (base / name / ".gitkeep").touch()
    texts = {
        project.CONFIG: _CONFIG, MARK: _SNAKEFILE, Path("Makefile"): _MAKEFILE,
        Path("README.md"): _README.format(name=base.resolve().name), Path(".gitignore"): _IGNORE,
    }  # fmt: skip
    for path, text in texts.items():
        (base / path).parent.mkdir(parents=True, exist_ok=True)
        (base / path).write_text(text, encoding="utf-8")
    shutil.copytree(share("slurm"), base / "slurm")
    link(base)
    return base

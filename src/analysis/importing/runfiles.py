"""The files of one execution, and what their names have in common."""

import re
from dataclasses import dataclass, field

from analysis.base.files import PACKED
from analysis.importing.detect import Observation, ResultPart

_ENDINGS = re.compile(
    r"(?:[._-](?:out|output|err|error|log|cobaltlog|stats?|info|txt|dat|sh|slurm|sbatch|pbs|job|xml|ipm|mpip|csv|json|o|e"
    rf"|stdout|stderr|power|{PACKED}|(?-i:p?[oe]|i)\d+))+$",  # not in capitals: `.O3` is no job
    re.IGNORECASE,
)


@dataclass
class RunFiles:
    """One execution: the file with its result (or profile), its part of that file, and the other files."""

    main: Observation
    part: ResultPart | None
    number: int = 0  # of the part in its file, from 1; 0 where the file is one
    files: list[Observation] = field(default_factory=list)
    shared: list[Observation] = field(default_factory=list)
    job: str = ""
    alone: bool = True  # whether no other run is of its job

    @property
    def engine(self) -> str:
        """The reader of its result, empty if it has none."""
        return self.part.engine if self.part else ""

    @property
    def of_job(self) -> list[Observation]:
        """The files of its job that it shares with the other results of its output."""
        job, name = self.main.job, stem(self.main.file.base)
        return [one for one in self.shared if (one.job == job if one.job else stem(one.file.base) == name)]

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"{self.main.name} (part {self.number})" if self.number else self.main.name


def stem(name: str) -> str:
    """Return what files of one run have in common: a name without its endings."""
    return _ENDINGS.sub("", name) or name

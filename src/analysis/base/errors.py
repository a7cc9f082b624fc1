"""Errors of bad input: one line each that names file, line, finding and remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

# A damaged file can be wrong on every line; the reader of a message needs the first few.
MAX_FAULTS = 50
LOST = "left out; correct the line"  # what is done with a row of a table that cannot be read


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a source: its 1-based line (0: none), what was found, the remedy."""

    source: str
    line: int
    found: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.source}{f':{self.line}' if self.line else ''}: {self.found}; {self.remedy}"


class BenchbookError(ValueError):
    """A bad input: carries its faults, one line each; the command line exits with 1."""

    def __init__(self, *faults: Fault) -> None:
        self.faults = faults
        super().__init__("\n".join(map(str, faults)))

    @classmethod
    def at(cls, source: str, line: int, found: str, remedy: str) -> BenchbookError:
        """Make the error of a single fault."""
        return cls(Fault(source, line, found, remedy))


class ReadError(BenchbookError):
    """A file that is not of the format it was read as; a damaged one is read as far as it goes."""


class SchemaError(BenchbookError):
    """A dataset that does not follow the registry of variables."""


class ConfigError(BenchbookError):
    """A configuration, campaign or claim that cannot be used."""


@contextmanager
def sparing(source: str) -> Iterator[list[Fault]]:
    """Let what is wrong with a source cost the block and no more; afterwards the list has the faults.

    Nobody foresees every damage that a file can have: an error that is none of ours is a fault of the file
    too, and of the reader that should have named it.
    """
    faults: list[Fault] = []
    try:
        yield faults
    except BenchbookError as error:
        faults += error.faults
    except Exception as error:
        what = " ".join(str(error).split())[:120] or "no message"
        found = f"cannot be used ({type(error).__name__}: {what})"
        faults.append(Fault(source, 0, found, "replace it or leave it out; its reader should have named it"))

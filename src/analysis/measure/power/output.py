"""What a sampler writes: readings as CSV, line by line and whole; and how jobs at once share it."""

import json
import os
import shutil
import threading
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from analysis.base.errors import ConfigError
from analysis.base.files import write_json

# Headings by which the readers of power logs know the columns and their units.
POWER, ENERGY = "power_W", "energy_uj"


def beside(out: Path, what: str) -> Path:
    """Return the path of a file next to the log: ``power.csv`` has ``power.log``."""
    return out.with_name(f"{out.stem}.{what}")


def stamp(nanoseconds: int) -> str:
    """Spell an instant in UTC with microseconds."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest // 1000:06d}Z"


class LogFile:
    """A CSV file of readings, ``time,meter,<value>,note``, that is never overwritten.

    Rows that belong together are written at once, so that a sampler that is killed leaves whole lines. Above
    the headings are, as comments, the `ranges`: µJ at which counters start again from zero.
    """

    def __init__(self, path: Path, heading: str, ranges: Mapping[str, int] | None = None) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._torn = False
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        except FileExistsError:
            raise ConfigError.at(str(path), 0, "exists", "choose another name or move it away") from None
        except OSError as error:
            found = f"cannot be made: {error.strerror}"
            raise ConfigError.at(str(path), 0, found, "check the path") from None
        head = "".join(f"# {name} max_energy_range_uj: {value}\n" for name, value in (ranges or {}).items())
        self._write(f"{head}time,meter,{heading},note\n")

    def add(self, nanoseconds: int, values: Iterable[tuple[str, float | None, str]]) -> None:
        """Write rows of one instant, in ns since 1970: meter, reading (None where there is none) and note.

        An OSError if the disk takes no more; what was written stays whole with the next row.
        """
        when = stamp(nanoseconds)
        rows = (f"{when},{meter},{_cell(value)},{_quoted(note)}\n" for meter, value, note in values)
        self._write("".join(rows))

    def _write(self, text: str) -> None:
        data = text.encode()
        with self._lock:
            if self._torn:  # a full disk took half a line
                data = b"\n" + data
            written = 0
            try:
                while written < len(data):
                    written += os.write(self._fd, data[written:])
            finally:
                self._torn = (self._torn and written == 0) or 0 < written < len(data)

    def close(self) -> None:
        """Bring the rows to the disk and close the file."""
        with self._lock:
            if self._fd < 0:
                return
            os.fsync(self._fd)
            os.close(self._fd)
            # A reading that comes too late must not land in another file that has this number by then.
            self._fd = -1


def _cell(value: float | None) -> str:
    # A counter in µJ has up to 13 digits and no fraction.
    return "" if value is None else f"{value:.0f}" if value == int(value) else repr(value)


def _quoted(note: str) -> str:
    text = " ".join(note.split())
    return '"' + text.replace('"', "'") + '"' if set(text) & set(',;"') else text


def share(out: Path, jobs: Sequence[Path]) -> None:
    """Give each of several jobs the log of their run, which lies in the folder of the first.

    The summaries get ``job`` (number) and ``jobs`` (``start``, ``end`` of each in s since 1970, or null), by
    which what the nodes drew while several ran is split in equal parts.
    """
    windows = [{"start": _seconds(job / ".start"), "end": _seconds(job / ".end")} for job in jobs]
    files = sorted(path for path in out.parent.glob(f"{out.stem}.*") if path.is_file())
    # The first folder comes last: from it the others are copied.
    for number, job in reversed(list(enumerate(jobs, 1))):
        for path in files:
            target = job / path.name
            if path.name.endswith(".summary.json"):
                summary = json.loads(path.read_text(encoding="utf-8"))
                write_json(target, {**summary, "job": number, "jobs": windows})
            elif target.resolve() != path.resolve():
                shutil.copyfile(path, target)


def _seconds(path: Path) -> float | None:
    try:
        return float(path.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return None

"""Room for a run's records, kept while it is measured: a full disk is then a reason, and not a loss."""

from __future__ import annotations

import os
from pathlib import Path

_RESERVE = ".reserve"
# A record's facts, command and environment; a rank's line in it. It is written twice.
_RECORD, _RANK = 65_536, 128
_PROBE = 65_536


def reserve(work: Path, jobs: int, ranks: int) -> None:
    """Take the room that the records of a run will need.

    Parameters
    ----------
    work : Path
        Folder of the run while it is measured.
    jobs : int
        Jobs at once.
    ranks : int
        Ranks of each.

    Raises
    ------
    OSError
        If there is not as much.
    """
    _fill(work / _RESERVE, 2 * jobs * (_RECORD + _RANK * ranks))


def release(work: Path) -> bool:
    """Give the room back.

    Parameters
    ----------
    work : Path

    Returns
    -------
    bool
        True if there was no other room left: what the run wrote last may be cut.
    """
    probe = work / ".probe"
    try:
        _fill(probe, _PROBE)
        return False
    except OSError:  # no space, or no quota
        return True
    finally:
        probe.unlink(missing_ok=True)
        (work / _RESERVE).unlink(missing_ok=True)


def _fill(path: Path, size: int) -> None:
    with path.open("wb") as file:
        # Zeros would take no room where files are compressed; and not before it is on disk is it there.
        file.write(os.urandom(size))
        file.flush()
        os.fsync(file.fileno())

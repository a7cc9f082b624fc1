"""Room for a run's records, on a disk that takes no more: here a limit of the kernel on each file."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from analysis.measure import space


@contextmanager
def limited() -> Iterator[None]:
    """Let no file grow beyond a kilobyte."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_space__reserve_is_given_back(tmp_path: Path) -> None:
    space.reserve(tmp_path, jobs=2, ranks=4096)
    # Each of two jobs: twice 64 KiB and 128 bytes a rank.
    assert [path.stat().st_size for path in tmp_path.iterdir()] == [2 * 2 * (65536 + 128 * 4096)]
    assert space.release(tmp_path) is False
    assert list(tmp_path.iterdir()) == []


def test_space__full_disk_is_told_and_the_reserve_is_given_back(tmp_path: Path) -> None:
    space.reserve(tmp_path, jobs=1, ranks=1)
    with limited():
        assert space.release(tmp_path) is True
    assert list(tmp_path.iterdir()) == []


def test_space__run_is_not_begun_without_room(tmp_path: Path) -> None:
    with limited(), pytest.raises(OSError, match="File too large"):
        space.reserve(tmp_path, jobs=1, ranks=1)

"""The program in src/proxy: what it sums is what its own definition, written again here, gives."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from analysis.readers import proxy

SOURCE = Path(__file__).parents[2] / "src/proxy/proxy.c"
MASK = 2**64 - 1
MPICC = shutil.which("mpicc.mpich") or shutil.which("mpicc.openmpi") or shutil.which("mpicc")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if MPICC is None:
        pytest.skip("no mpicc on this machine")
    target = tmp_path_factory.mktemp("proxy") / "proxy"
    flags = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
    subprocess.run([MPICC, *flags, "-o", str(target), str(SOURCE)], check=True)
    return target


def run(program: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run with one rank, which needs no launcher: it is its own four neighbours."""
    return subprocess.run(
        [program, *arguments], capture_output=True, cwd=program.parent, timeout=60, check=False
    )


def word(rank: int, step: int, place: int) -> int:
    """Splitmix64, in Python's own integers."""
    z = ((rank << 40) + (step << 20) + place + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def block(step: int, words: int) -> int:
    return sum(word(0, step, place) for place in range(words))


# Three timed steps after 3 // 10 + 1 = 1 to warm up.
STEPS = range(4)
EXPECTED = {
    "halo": sum(4 * block(step, 4) for step in STEPS),
    "bcast": sum(block(step, 4) for step in STEPS),
    "master-io": sum(block(step, 4) for step in STEPS),
    "allreduce": sum(word(0, step, 0) ^ word(0, step, 3) for step in STEPS),
    # Of the four steps the first is a tenth and a fiftieth one; the sum of one word is xored with itself.
    "mixed": sum(4 * block(step, 4) for step in STEPS) + 2 * block(0, 4),
}


@pytest.mark.parametrize("pattern", EXPECTED)
def test_proxy_program__checksum(program: Path, pattern: str) -> None:
    done = run(program, f"--pattern={pattern}", "--bytes=32", "--count=3")
    assert done.returncode == 0, done.stderr
    ds = proxy.parse(done.stdout)
    assert ds["checksum"].item() == f"{EXPECTED[pattern] & MASK:016x}"
    assert (ds["ranks"].item(), ds["bytes"].item(), ds["count"].item()) == (1, 32, 3)
    assert 0 <= ds["io_time"].item() <= ds["time"].item()


def test_proxy_program__master_writes_the_last_block(program: Path) -> None:
    assert run(program, "--pattern=master-io", "--bytes=32", "--count=3").returncode == 0
    written = np.fromfile(program.parent / "proxy.dat", dtype=np.uint64)
    assert written.tolist() == [word(0, 3, place) for place in range(4)]


def test_proxy_program__work_enters_the_checksum(program: Path) -> None:
    done = run(program, "--pattern=bcast", "--bytes=8", "--count=1", "--work=5")
    expected = sum(block(step, 5) + block(step, 1) for step in range(2)) & MASK
    assert proxy.parse(done.stdout)["checksum"].item() == f"{expected:016x}"


def test_proxy_program__exchange_checks_every_batch_of_every_size(program: Path) -> None:
    done = run(program, "--pattern=exchange", "--partners=3", "--bytes=32", "--count=20")
    assert done.returncode == 0, done.stderr
    ds = proxy.parse(done.stdout)
    assert ds["size"].values.tolist() == [8, 16, 32]
    assert ds["iterations"].values.tolist() == [30, 30, 30]  # ten batches of 20 / 10 + 1
    assert (ds["latency_least"].values <= ds["latency"].values).all()
    # Three messages to itself in a warm batch and ten more, each with the words of its number.
    expected = sum(3 * block(batch, words) for words in (1, 2, 4) for batch in range(11)) & MASK
    assert ds["checksum"].item() == f"{expected:016x}"


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--pattern=none",),
        ("--pattern=halo", "--bytes=12"),
        ("--pattern=halo", "--count=0"),
        ("--x=1",),
        ("--pattern=exchange", "--partners=65"),
    ],
)
def test_proxy_program__wrong_arguments_give_the_usage_and_no_result(
    program: Path, arguments: tuple[str]
) -> None:
    done = run(program, *arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"usage: proxy")

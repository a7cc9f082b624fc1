"""What continuous integration says of what it ran, and of what it did not."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

RUN = Path(__file__).parents[1] / ".ci" / "run"

# Stands for the tests: one of the targets prints what pytest prints, and may fail.
MAKE = """\
#!/bin/sh
echo "$1 ran"
echo "SKIPPED [1] tests/test_x.py:1: no meter here"
echo "3 passed, 1 skipped in 0.12s"
[ "$1" != "$FAILING" ]
"""
# Stands for the check of the host.
PYTHON = """\
#!/bin/sh
case "$*" in
    *tests.slurm.host*) [ -z "$REASON" ] || { echo "$REASON"; exit "$STATUS"; } ;;
    *) echo "$0" ;;
esac
"""
TOOLS = {
    "make": MAKE,
    "python": PYTHON,
    "id": '#!/bin/sh\necho "$USER_ID"\n',
    "chromium": "#!/bin/sh\n",
    # Every package is there, but for the one that is to be missing; and there is no network.
    "dpkg-query": "#!/bin/sh\nshift 3\nfor p; do [ $p = $ABSENT ] || echo installed; done\n",
    "apt-get": "#!/bin/sh\necho 'no network' >&2\nexit 100\n",
}
PACKAGES = ["packages for the power sampler's tests", "packages for the Slurm tests"]
TESTS = ["make check", "make test", "make test-slurm"]


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """Commands that shadow the real ones, so that nothing is installed."""
    for name, text in TOOLS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    return tmp_path


def run(tools: Path, **values: str) -> tuple[int, str]:
    """Run everything; return the exit status and the summary without its times."""
    usual = {"FAILING": "none", "REASON": "", "STATUS": "3", "USER_ID": "0", "ABSENT": "none"}
    more = {"PYTHON": str(tools / "python"), "PATH": f"{tools}:{os.environ['PATH']}"}
    environment = {**os.environ, **usual, **more, **values}
    done = subprocess.run([str(RUN)], env=environment, capture_output=True, text=True, check=False)
    return done.returncode, re.sub(r"in \d+ s", "in N s", done.stdout.partition("== summary\n")[2])


def words(summary: str) -> dict[str, str]:
    """Return how each part went."""
    return dict(re.findall(r"^(\S.*): (\w+)", summary, re.MULTILINE))


def test_ci__says_what_it_skips_and_why(tools: Path) -> None:
    assert run(tools, USER_ID="1000", REASON="not root: run it as root") == (
        0,
        "make check: passed in N s (3 passed, 1 skipped in 0.12s)\n"
        "  SKIPPED [1] tests/test_x.py:1: no meter here\n"
        "make test: passed in N s (3 passed, 1 skipped in 0.12s)\n"
        "  SKIPPED [1] tests/test_x.py:1: no meter here\n"
        "make test-slurm: SKIPPED: not root: run it as root\n",
    )


@pytest.mark.parametrize("target", ["none", "check", "test", "test-slurm"])
def test_ci__fails_with_any_part_and_runs_the_others(tools: Path, target: str) -> None:
    status, summary = run(tools, FAILING=target)
    assert status == (target != "none")
    expected = {part: "FAILED" if part == f"make {target}" else "passed" for part in PACKAGES + TESTS}
    assert words(summary) == expected


def test_ci__package_that_cannot_be_installed_is_a_failure(tools: Path) -> None:
    status, summary = run(tools, ABSENT="munge")
    assert status == 1
    assert words(summary)[PACKAGES[1]] == "FAILED"
    assert words(summary)["make test"] == "passed"


def test_ci__fault_of_the_check_is_no_reason_to_skip(tools: Path) -> None:
    assert run(tools, REASON="Traceback", STATUS="1") == (1, "")

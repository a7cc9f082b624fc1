"""A deck's HTML printed as PDF, by Chromium where it is there."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_LONGEST = 120  # s
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-extensions",
    "--no-first-run", "--no-pdf-header-footer",
)  # fmt: skip


def browser() -> str:
    """Return the path of the first of `BROWSERS` that is there, empty if none is."""
    return next(filter(None, map(shutil.which, BROWSERS)), "")


def write(html: Path, path: Path) -> str:
    """Print an HTML file; return why there is no PDF, empty if there is one."""
    program = browser()
    if not program:
        return f"none of {', '.join(BROWSERS)} is installed; open the HTML file and print it"
    path.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as profile:
        where = [f"--user-data-dir={profile}", f"--print-to-pdf={path}", html.resolve().as_uri()]
        try:
            done = subprocess.run(
                [program, *OPTIONS, *where], capture_output=True, text=True, check=False, timeout=_LONGEST
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{program}: {error}"
    if done.returncode or not path.is_file():
        said = [line for line in done.stderr.splitlines() if line.strip()]
        return f"{program} ended with {done.returncode}: {said[-1] if said else 'no word'}"
    return ""

"""Make runs.csv of three codes over Ethernet: ``python make.py REPOSITORY``, its git directory.

The originals are the outputs at the commit that README.md names.
"""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

HERE = Path(__file__).parent
REGION = timezone(timedelta(hours=-5))  # of us-central1 in April and May
ENDED = 16  # nodes, up to which all runs of Laghos ended
SOURCE = "google-performance-study"
COMMIT = "94833c6b40ed8d887b0dc69b2085a8ef86555881"
HEADER = (
    "run", "application", "version", "case", "cluster", "cpu", "interconnect", "mpi", "build", "nodes",
    "ranks", "ranks_per_node", "start", "elapsed", "figure_of_merit", "figure_of_merit_unit", "source",
)  # fmt: skip
CASES = {
    "pennant": "sedovflatx4",
    "laghos": "cube_311_hex, 500 steps",
    "lammps": "ReaxFF HNS, 2.49 M atoms",
}
LOG = re.compile(r"experiments/gke/cpu/size-(4|8|16|32|64)/logs/(pennant|laghos|lammps)\.out")
RUN = re.compile(r"^FLUX-RUN START \w+-iter-(\d+)\n(.*?)^FLUX-RUN END", re.DOTALL | re.MULTILINE)
JOB = re.compile(r"^FLUX-JOB START \d+ \w+-iter-(\d+)\n(.*?)^FLUX-JOB END", re.DOTALL | re.MULTILINE)
# What the record of each job says of its command.
COMMANDS = {
    "pennant": "pennant /opt/pennant/test/sedovflatx4/sedovflatx4.pnt",
    "lammps": "lmp -v x 32 -v y 16 -v z 16 -in in.reaxff.hns -nocite",
    "laghos": "--mesh /opt/laghos/data/cube_311_hex.mesh --max-steps 500 -p 1 -rs 5",
}
# What a code prints as its time in s; Laghos prints a rate alone.
PRINTED = {
    "pennant": re.compile(r"^hydro cycle run time= *([\d.e+-]+)", re.MULTILINE),
    "laghos": re.compile(r"^Major kernels total rate", re.MULTILINE),
    "lammps": re.compile(
        r"^Loop time of ([\d.]+) on \d+ procs for 100 steps with 2490368 atoms", re.MULTILINE
    ),
}
VERSION = re.compile(r"^(?:Running PENNANT v|LAMMPS \()([^)\n]+)", re.MULTILINE)
COMMAND = re.compile(r'"command": (\[.*?\])')
EVENTS = re.compile(r'"timestamp":([\d.]+),"name":"(init|done)"')


def git(repository: str, *words: str) -> str:
    """Run git and return what it prints."""
    done = subprocess.run(["git", "-C", repository, *words], capture_output=True, check=True)
    return done.stdout.decode(errors="replace")


def times(text: str) -> dict[str, tuple[float, float]]:
    """Return start and duration of each job by its number, from the scheduler's events."""
    found = {}
    for number, record in JOB.findall(text):
        events = {name: float(stamp) for stamp, name in EVENTS.findall(record)}
        if events.keys() == {"init", "done"}:
            found[number] = (events["init"], events["done"] - events["init"])
    return found


def runs(repository: str) -> Iterator[list[str]]:
    """Read the logs, a row for each run that ended and has its times."""
    for name in git(repository, "ls-tree", "-r", "--name-only", COMMIT, "experiments/gke/cpu").splitlines():
        log = LOG.fullmatch(name)
        if not log:
            continue
        nodes, code = int(log[1]), log[2]
        if code == "laghos" and nodes > ENDED:
            continue
        text = git(repository, "show", f"{COMMIT}:{name}")
        jobs = times(text)
        commands = {" ".join(json.loads(one)) for one in COMMAND.findall(text)}
        if not all(COMMANDS[code] in one for one in commands):
            raise SystemExit(f"{name}: other options than README.md names")
        for number, output in RUN.findall(text):
            printed, version = PRINTED[code].search(output), VERSION.search(output)
            if number not in jobs or not printed:
                continue
            start, took = jobs[number]
            began = datetime.fromtimestamp(start, REGION).strftime("%Y-%m-%dT%H:%M:%S")
            merit = [f"{float(printed[1]):g}", "s"] if PRINTED[code].groups else ["", ""]
            said = [
                code,
                version[1] if version else "",
                CASES[code],
                "h3-standard-88",
                "Xeon of H3",
                "Ethernet (TCP)",
            ]
            size = ["", "", str(nodes), str(88 * nodes), "88", began, f"{took:.2f}"]
            yield [f"{code} {nodes} nodes, run {number}", *said, *size, *merit, SOURCE]


def main(repository: str) -> None:
    """Write the table, by application and nodes."""
    rows = sorted(runs(repository), key=lambda row: (row[1], int(row[9]), row[0]))
    with (HERE / "runs.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *rows])


if __name__ == "__main__":
    main(*sys.argv[1:])

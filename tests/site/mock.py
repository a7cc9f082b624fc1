"""Invented verdicts and notebooks to build a site from: every scale, every word, no real result."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from analysis.site.page import PageInput

HPCG = {"report": "hpcg2014", "report_title": "HPCG performance and profiling (2014)"}
DYNA = {"report": "lsdyna2014", "report_title": "LS-DYNA best practices (2014)"}


def record(
    claim: str, topic: str, statement: str, verdict: str = "not tested", **more: Any
) -> dict[str, Any]:
    """Make a record with every key of the contract."""
    empty = dict.fromkeys(
        (
            "estimate",
            "low",
            "high",
            "expected",
            "expected_low",
            "expected_high",
            "n",
            "n_baseline",
            "base",
            "page",
        )
    )
    text = dict.fromkeys(("estimate_text", "expected_text", "compared", "arithmetic", "unit", "quantity"), "")
    tested = verdict != "not tested"
    out = {
        **empty,
        **text,
        **HPCG,
        "claim": claim,
        "ids": [claim],
        "topic": topic,
        "statement": statement,
        "verdict": verdict,
        "evidence": "measured" if tested else None,
        "campaign": "mock-hpcg" if tested else None,
        "cluster": "mock cluster, 2 nodes" if tested else None,
        "reason": "" if tested else "No campaign holds the factor that it compares.",
        "scale": "word",
        "source": {"section": "Interconnect comparison"},
        "runs": [f"{i:03d}" for i in range(12)] if tested else [],
        "inputs": [mock_input(f"{claim}/{i:03d}.txt") for i in range(12)] if tested else [],
    }
    return out | more


def mock_input(path: str) -> dict[str, str]:
    return {"path": f"runs/{path}", "sha256": hashlib.sha256(path.encode()).hexdigest()}


def ratio(
    claim: str,
    topic: str,
    statement: str,
    verdict: str,
    numbers: tuple[float, ...],
    expected: float,
    **more: Any,
) -> dict[str, Any]:
    estimate, low, high = numbers
    text = {
        "scale": "ratio",
        "quantity": "speedup",
        "estimate": estimate,
        "low": low,
        "high": high,
        "expected": expected,
        "estimate_text": f"{estimate:.2f}× [{low:.2f}, {high:.2f}]",
        "expected_text": f"{expected:g}×",
        "n": 6,
        "n_baseline": 6,
        "base": {"value": 1.234, "unit": "GFLOP/s", "label": "1GbE, median of 6"},
        "compared": "64 ranks on the open link against 64 ranks at 1 Gbit/s",
        "arithmetic": f"median(1.37 GFLOP/s) / median(1.234 GFLOP/s) = {estimate:.2f}",
        "reason": f"The ratio is {estimate:.2f} with a 95 % interval of {low:.2f} to {high:.2f}.",
    }
    return record(claim, topic, statement, verdict, **(text | more))


def share(
    claim: str,
    topic: str,
    statement: str,
    verdict: str,
    numbers: tuple[float, ...],
    expected: float,
    **more: Any,
) -> dict[str, Any]:
    text = {
        "scale": "share",
        "quantity": "share",
        "unit": "%",
        "base": None,
        "estimate_text": "{:.0f} % [{:.0f}, {:.0f}]".format(*numbers),
        "expected_text": f"{expected:g} %",
        "arithmetic": f"6.1 s / 12.9 s = {numbers[0]:.0f} %",
        "page": "mpi-time",
    }
    return ratio(claim, topic, statement, verdict, numbers, expected, **(text | more))


def verdicts() -> list[dict[str, Any]]:
    """Return 40 records of 37 claims."""
    at_least = {"expected_low": 5.0, "expected_text": "≥ 5×", "page": "interconnect"}
    up_to = {"expected_high": 2.35, "expected_text": "up to 2.35×", "page": "settings"}
    size, net, mpi, prof, mem = "Problem size", "Interconnect", "MPI library", "Profile", "Memory"
    sizes = "0, 8, 16, 32, 64, 128, 512, 2048"
    return [
        ratio(
            "size-135",
            size,
            "16³ per rank is up to 135 % faster than the default 104³",
            "holds in direction",
            (1.18, 1.12, 1.26),
            2.35,
            **up_to,
        ),
        record(
            "size-small",
            size,
            "A smaller local problem gives a higher rate",
            "holds",
            scale="word",
            expected_text="16³ first",
            estimate_text="16³ > 32³ > 64³ ≈ 104³",
            n=6,
            page="settings",
            reason="The three steps down are in order, the first two by clear intervals.",
        ),
        record(
            "size-min",
            size,
            "Local dimensions under 16 fall back to 16",
            scale="level",
            expected=16.0,
            expected_text="16 points",
            unit="points",
        ),
        record("size-global", size, "The local dimensions set the global problem size"),
        ratio(
            "fdr-1gbe",
            net,
            "FDR InfiniBand is at least 5 times faster than 1GbE",
            "holds in direction",
            (1.52, 1.44, 1.61),
            5.0,
            **at_least,
        ),
        ratio(
            "fdr-1gbe",
            net,
            "FDR InfiniBand is at least 5 times faster than 1GbE",
            "inside the band",
            (4.6, 3.1, 6.9),
            5.0,
            **at_least,
            evidence="modelled",
            campaign="mock-whatif",
        ),
        ratio(
            "fdr-1gbe",
            net,
            "FDR InfiniBand is at least 5 times faster than 1GbE",
            "recovered",
            (5.1, 4.9, 5.3),
            5.0,
            **at_least,
            evidence="synthetic",
            campaign="mock-synthetic",
        ),
        ratio(
            "fdr-10gbe",
            net,
            "FDR InfiniBand is 4.5 times faster than 10GbE",
            "does not hold",
            (0.98, 0.95, 1.02),
            4.5,
            page="interconnect",
        ),
        record(
            "fdr-beats",
            net,
            "FDR beats Ethernet",
            "holds",
            expected_text="FDR first",
            n=6,
            estimate_text="open > 10 Gbit/s > 1 Gbit/s",
            page="interconnect",
        ),
        ratio(
            "scale-fdr",
            net,
            "FDR scales better than Ethernet to 4 nodes",
            "cannot tell",
            (1.05, 0.91, 1.22),
            1.3,
            expected_text="> 1×",
            expected_low=1.0,
            n=3,
            page="interconnect",
        ),
        record(
            "beyond-one",
            net,
            "The advantage begins beyond one node",
            "holds",
            scale="level",
            unit="nodes",
            estimate=2.0,
            low=2.0,
            high=2.0,
            expected=2.0,
            estimate_text="2 nodes",
            expected_text="> 1 node",
            n=6,
            page="interconnect",
        ),
        ratio(
            "duration",
            "Run duration",
            "Longer runs do not change the rate",
            "holds",
            (1.004, 0.993, 1.016),
            1.0,
            expected_text="no change",
            page="settings",
            quantity="equality",
        ),
        record(
            "official",
            "Run duration",
            "Official results need at least 3600 s",
            scale="level",
            expected=3600.0,
            expected_low=3600.0,
            expected_text="≥ 3600 s",
            unit="s",
        ),
        ratio(
            "flags",
            "Compiler flags",
            "Tuned flags are about 2 % faster",
            "does not hold",
            (1.14, 1.11, 1.17),
            1.02,
            expected_text="about 2 %",
            page="settings",
            expected_low=1.0,
            expected_high=1.04,
        ),
        record(
            "flags-little",
            "Compiler flags",
            "Tuned compiler flags bring little",
            "does not hold",
            n=6,
            expected_text="little",
            estimate_text="14 % faster",
            page="settings",
        ),
        ratio(
            "mpi-same",
            mpi,
            "The two MPI libraries perform the same",
            "holds",
            (1.01, 0.98, 1.03),
            1.0,
            expected_text="the same",
            page="mpi-library",
        ),
        record(
            "mpi-variety",
            mpi,
            "Few call types and message sizes appear",
            "holds",
            scale="level",
            unit="calls",
            estimate=7.0,
            expected=8.0,
            expected_high=10.0,
            estimate_text="7 calls",
            expected_text="few",
            page="mpi-time",
            n=3,
        ),
        share(
            "wait-49", prof, "MPI_Wait is about 49 % of MPI time", "does not hold", (12.0, 9.0, 15.0), 49.0
        ),
        share(
            "allreduce-24", prof, "MPI_Allreduce is about 24 % of MPI time", "holds", (26.0, 22.0, 31.0), 24.0
        ),
        share(
            "send-20", prof, "MPI_Send is about 20 % of MPI time", "does not hold", (51.0, 47.0, 55.0), 20.0
        ),
        share(
            "mpi-28",
            prof,
            "About 28 % of the run is spent in MPI at 4 nodes",
            "cannot tell",
            (31.0, 18.0, 46.0),
            28.0,
            n=3,
        ),
        record(
            "seven-sizes",
            prof,
            "Messages concentrate at seven sizes",
            "holds",
            scale="set",
            unit="B",
            expected_text=sizes + " B",
            estimate_text=sizes.removeprefix("0, ") + ", 1024 B",
            page="messages",
            n=3,
        ),
        share(
            "all-quantised",
            prof,
            "Every message has one of those sizes",
            "holds in direction",
            (96.0, 95.5, 96.4),
            100.0,
            page="messages",
        ),
        record(
            "imbalance",
            prof,
            "Some load imbalance is seen",
            "cannot tell",
            expected_text="some",
            estimate_text="ranks differ by 3 %",
            page="mpi-time",
            n=3,
        ),
        record(
            "up-to-521",
            prof,
            "Up to 521 MB pass between two ranks",
            "does not hold",
            scale="level",
            unit="MB",
            estimate=38.2,
            low=38.2,
            high=38.2,
            expected=521.0,
            expected_high=521.0,
            estimate_text="38.2 MB",
            expected_text="up to 521 MB",
            page="messages",
            n=3,
        ),
        record(
            "mem-1gb",
            mem,
            "A node uses about 1 GB of memory at 16³",
            "does not hold",
            scale="level",
            unit="GB",
            estimate=0.11,
            low=0.10,
            high=0.12,
            expected=1.0,
            estimate_text="0.11 GB [0.10, 0.12]",
            expected_text="about 1 GB",
            page="memory",
            n=6,
        ),
        record(
            "athena",
            "CPU",
            "The Ivy Bridge cluster is up to 234 % faster than Westmere",
            scale="ratio",
            expected=3.34,
            expected_high=3.34,
            expected_text="up to 3.34×",
        ),
        record("athena-beats", "CPU", "The Ivy Bridge cluster beats the Westmere cluster"),
        record("isa", "CPU", "One build uses AVX, the other SSE4.2"),
        ratio(
            "dyna-fdr",
            net,
            "FDR is almost 5 times faster than 10GbE at 32 nodes",
            "recovered",
            (4.97, 4.71, 5.24),
            5.0,
            evidence="synthetic",
            campaign="mock-synthetic",
            **DYNA,
        ),
        ratio(
            "dyna-ivb-snb",
            "CPU",
            "Ivy Bridge is up to 20 % faster than Sandy Bridge",
            "consistent",
            (1.2, 1.2, 1.2),
            1.2,
            expected_high=1.2,
            evidence="reported",
            campaign=None,
            **DYNA,
        ),
        ratio(
            "dyna-dimm",
            mem,
            "1866 MHz memory is 3 % faster than 1600 MHz",
            "inconsistent",
            (1.3, 1.3, 1.3),
            1.03,
            evidence="reported",
            campaign=None,
            **DYNA,
        ),
        ratio(
            "dyna-turbo",
            "CPU",
            "Turbo mode adds 10 % at 40 % more power",
            "holds",
            (1.09, 1.05, 1.13),
            1.1,
            evidence="published",
            campaign="mock-published",
            **DYNA,
        ),
        ratio(
            "dyna-slow",
            "Placement",
            "Two jobs side by side halve the speed of each",
            "holds",
            (0.55, 0.52, 0.58),
            0.5,
            page="placement",
            **DYNA,
        ),
        ratio(
            "dyna-jobs",
            "Placement",
            "Running jobs side by side gives more jobs per day",
            "holds",
            (1.91, 1.84, 1.97),
            1.5,
            expected_low=1.0,
            expected_text="> 1×",
            page="placement",
            **DYNA,
        ),
        record("dyna-power", "Energy", "The newer node takes less energy a job", **DYNA),
        record(
            "dyna-watts",
            "Energy",
            "A node draws 300 W under load",
            "not checkable",
            evidence="reported",
            scale="level",
            expected=300.0,
            expected_text="300 W",
            unit="W",
            reason="The report prints no second power figure to check it against.",
            **DYNA,
        ),
        record(
            "hostile",
            "Other",
            '<script>alert("x")</script> & "quotes" beat <b>bold</b>',
            "cannot tell",
            expected_text="<i>nothing</i>",
            estimate_text="a < b",
            arithmetic="1 < 2 && 3 > 2",
            n=2,
            reason="<img src=x onerror=alert(1)>",
        ),
        record("background-1", "Other", "HPCG aims to be a more relevant metric for ranking"),
        record("background-2", "Other", "HPCG is a potential replacement for HPL"),
    ]


def notebook(path: Path, question: str, answer: str, outputs: list[Any] | None = None) -> Path:
    """Write an executed notebook with a question, an answer and more outputs."""
    table = (
        '<table border="1" class="dataframe"><thead><tr><th></th><th>claim</th><th>estimate</th></tr></thead>'
        "<tbody><tr><th>0</th><td>fdr-1gbe</td><td>1.52</td></tr></tbody></table>"
    )
    cells = [
        new_markdown_cell(f"# {question}\n\nAnswers the claims of the section *Interconnect comparison*."),
        new_code_cell(
            "campaign = 'mock-hpcg'  # papermill sets it",
            execution_count=1,
            metadata={"tags": ["parameters"]},
        ),
        new_code_cell(
            "answer(runs)",
            execution_count=2,
            metadata={"tags": ["answer"]},
            outputs=[new_output("execute_result", {"text/plain": repr(answer)}, execution_count=2)],
        ),
        new_code_cell(
            "show(fig, description=...)",
            execution_count=3,
            metadata={"tags": ["figure"]},
            outputs=outputs or [],
        ),
        new_code_cell(
            "verdict_table(claims)",
            execution_count=4,
            metadata={"tags": ["verdicts"]},
            outputs=[
                new_output("execute_result", {"text/html": table, "text/plain": "…"}, execution_count=4)
            ],
        ),
        new_markdown_cell("## How it was measured\n\nMedians of six runs, `scipy.stats.bootstrap`, 95 %."),
    ]
    for position, cell in enumerate(cells):
        cell["id"] = f"cell-{position}"
    nbformat.write(new_notebook(cells=cells), path)
    return path


PAGES = {
    "interconnect": "How much does the interconnect matter?",
    "settings": "Which settings of HPCG change its result?",
    "mpi-library": "Does the MPI library matter?",
    "mpi-time": "Where does the time in MPI go?",
    "messages": "How large are the messages, and who talks to whom?",
    "memory": "How much memory does a node need?",
    "placement": "One job at a time, or two side by side?",
}


def pages(folder: Path, figure: str = "") -> list[PageInput]:
    """Write the notebooks of all pages and return their inputs."""
    svg = [new_output("display_data", {"image/svg+xml": figure, "text/plain": "figure"})] if figure else []
    return [
        PageInput(
            name,
            notebook(
                folder / f"{name}.ipynb", question, f"The answer about {name} is 1.52× [1.44, 1.61].", svg
            ),
            "synthetic" if name == "memory" else "measured",
            "mock-hpcg",
            name.replace("-", " ").capitalize(),
        )
        for name, question in PAGES.items()
    ]


PROVENANCE = {
    "commit": "0123456789abcdef0123456789abcdef01234567",
    "versions": {"python": "3.11.7", "xarray": "2025.1", "scipy": "1.14"},
    "campaigns": [
        {
            "name": "mock-hpcg",
            "evidence": "measured",
            "cluster": "mock cluster",
            "description": "invented for the tests",
            "runs": 221,
            "facts": {"application": "HPCG 3.1", "processor": "2 cores", "network": "veth"},
            "failed": [
                {"run": "017", "reason": "exit status 127: command not found"},
                {"run": "044", "reason": "cancelled: no exit status recorded"},
            ],
        }
    ],
    "inputs": [mock_input(f"{i:03d}/stdout.txt") for i in range(60)],
}

"""Invented verdicts and notebooks to build a site from: every scale, every word, no real result."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from analysis.claims.model import Claim, Expectation, Report
from analysis.claims.verdict import Verdict
from analysis.estimates.question import Question
from analysis.site.page import PageInput
from analysis.site.provenance import CampaignFacts, Provenance

HPCG = {"report": "hpcg2014", "report_title": "HPCG performance and profiling (2014)"}
DYNA = {"report": "lsdyna2014", "report_title": "LS-DYNA best practices (2014)"}


def tell(claim: str, topic: str, statement: str, verdict: str = "not tested", **more: Any) -> Verdict:
    """Make a verdict, with runs and raw files if anything was tested."""
    given: dict[str, Any] = dict.fromkeys(("estimate", "low", "high", "expected", "n"))
    given |= {**HPCG, "unit": "", "evidence": "measured", "campaign": "mock-hpcg", "ids": [claim]}
    given |= {"source": {"section": "Interconnect comparison"}, "cluster": "mock cluster, 2 nodes"}
    if verdict == "not tested":
        given["reason"] = "No campaign holds the factor that it compares."
    else:
        given["runs"] = [f"{i:03d}" for i in range(12)]
        given["inputs"] = [mock_input(f"{claim}/{i:03d}.txt") for i in range(12)]
    if verdict != "not tested" and (given | more)["evidence"] in ("measured", "published"):
        given["distance"] = "same"
    return Verdict(**given | more, claim=claim, topic=topic, statement=statement, verdict=verdict)


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
) -> Verdict:
    estimate, low, high = numbers
    given = {
        **{"scale": "ratio", "quantity": "speedup", "estimate": estimate, "low": low, "high": high, "n": 6},
        **{"expected": expected, "expected_text": f"{expected:g}×", "n_baseline": 6},
        "estimate_text": f"{estimate:.2f}× [{low:.2f}, {high:.2f}]",
        "base": {"value": 1.234, "unit": "GFLOP/s", "label": "1GbE, median of 6"},
        "compared": "64 ranks on the open link against 64 ranks at 1 Gbit/s",
        "arithmetic": f"median(1.37 GFLOP/s) / median(1.234 GFLOP/s) = {estimate:.2f}",
        "reason": f"The ratio is {estimate:.2f} with a 95 % interval of {low:.2f} to {high:.2f}.",
    }
    return tell(claim, topic, statement, verdict, **given | more)


def share(
    claim: str, statement: str, verdict: str, numbers: tuple[float, ...], expected: float, **more: Any
) -> Verdict:
    given = {
        **{"scale": "share", "quantity": "share", "unit": "%", "base": None, "page": "mpi-time"},
        "estimate_text": "{:.0f} % [{:.0f}, {:.0f}]".format(*numbers),
        "expected_text": f"{expected:g} %",
        "arithmetic": f"6.1 s / 12.9 s = {numbers[0]:.0f} %",
    }
    return ratio(claim, "Profile", statement, verdict, numbers, expected, **given | more)


def verdicts() -> list[Verdict]:
    """Return 40 verdicts on 38 claims."""
    # fmt: off
    at_least = {"expected_low": 5.0, "expected_text": "≥ 5×", "page": "interconnect"}
    up_to = {"expected_high": 2.35, "expected_text": "up to 2.35×", "page": "settings"}
    size, net, mpi, mem = "Problem size", "Interconnect", "MPI library", "Memory"
    sizes = "0, 8, 16, 32, 64, 128, 512, 2048"
    return [
        ratio("size-135", size, "16³ per rank is up to 135 % faster than the default 104³",
            "holds in direction", (1.18, 1.12, 1.26), 2.35, **up_to),
        tell("size-small", size, "A smaller local problem gives a higher rate", "holds",
            expected_text="16³ first", estimate_text="16³ > 32³ > 64³ ≈ 104³", n=6, page="settings",
            reason="The three steps down are in order, the first two by clear intervals."),
        tell("size-min", size, "Local dimensions under 16 fall back to 16", scale="level", expected=16.0,
            expected_text="16 points", unit="points"),
        tell("size-global", size, "The local dimensions set the global problem size"),
        ratio("fdr-1gbe", net, "FDR InfiniBand is at least 5 times faster than 1GbE", "holds in direction",
            (1.52, 1.44, 1.61), 5.0, **at_least),
        ratio("fdr-1gbe", net, "FDR InfiniBand is at least 5 times faster than 1GbE", "inside the band",
            (4.6, 3.1, 6.9), 5.0, **at_least, evidence="modelled", campaign="mock-whatif"),
        ratio("fdr-1gbe", net, "FDR InfiniBand is at least 5 times faster than 1GbE", "recovered",
            (5.1, 4.9, 5.3), 5.0, **at_least, evidence="synthetic", campaign="mock-synthetic"),
        ratio("fdr-10gbe", net, "FDR InfiniBand is 4.5 times faster than 10GbE", "does not hold",
            (0.98, 0.95, 1.02), 4.5, page="interconnect"),
        tell("fdr-beats", net, "FDR beats Ethernet", "holds", expected_text="FDR first", n=6,
            estimate_text="open > 10 Gbit/s > 1 Gbit/s", page="interconnect"),
        ratio("scale-fdr", net, "FDR scales better than Ethernet to 4 nodes", "cannot tell",
            (1.05, 0.91, 1.22), 1.3, expected_text="> 1×", expected_low=1.0, n=3, page="interconnect"),
        tell("beyond-one", net, "The advantage begins beyond one node", "holds", scale="level",
            unit="nodes", estimate=2.0, low=2.0, high=2.0, expected=2.0, estimate_text="2 nodes",
            expected_text="> 1 node", n=6, page="interconnect"),
        ratio("duration", "Run duration", "Longer runs do not change the rate", "holds",
            (1.004, 0.993, 1.016), 1.0, expected_text="no change", page="settings", quantity="equality"),
        tell("official", "Run duration", "Official results need at least 3600 s", scale="level",
            expected=3600.0, expected_low=3600.0, expected_text="≥ 3600 s", unit="s"),
        ratio("flags", "Compiler flags", "Tuned flags are about 2 % faster", "does not hold",
            (1.14, 1.11, 1.17), 1.02, expected_text="about 2 %", page="settings", expected_low=1.0,
            expected_high=1.04),
        tell("flags-little", "Compiler flags", "Tuned compiler flags bring little", "does not hold", n=6,
            expected_text="little", estimate_text="14 % faster", page="settings"),
        ratio("mpi-same", mpi, "The two MPI libraries perform the same", "holds", (1.01, 0.98, 1.03), 1.0,
            expected_text="the same", page="mpi-library"),
        tell("mpi-variety", mpi, "Few call types and message sizes appear", "holds", scale="level",
            unit="calls", estimate=7.0, expected=8.0, expected_high=10.0, estimate_text="7 calls",
            expected_text="few", page="mpi-time", n=3),
        share("wait-49", "MPI_Wait is about 49 % of MPI time", "does not hold", (12.0, 9.0, 15.0), 49.0),
        share("allreduce-24", "MPI_Allreduce is about 24 % of MPI time", "holds", (26.0, 22.0, 31.0), 24.0),
        share("send-20", "MPI_Send is about 20 % of MPI time", "does not hold", (51.0, 47.0, 55.0), 20.0),
        share("mpi-28", "About 28 % of the run is spent in MPI at 4 nodes", "cannot tell",
            (31.0, 18.0, 46.0), 28.0, n=3),
        tell("seven-sizes", "Profile", "Messages concentrate at seven sizes", "holds", scale="set", unit="B",
            expected_text=sizes + " B", estimate_text=sizes.removeprefix("0, ") + ", 1024 B",
            page="messages", n=3),
        share("all-quantised", "Every message has one of those sizes", "holds in direction",
            (96.0, 95.5, 96.4), 100.0, page="messages"),
        tell("imbalance", "Profile", "Some load imbalance is seen", "cannot tell", expected_text="some",
            estimate_text="ranks differ by 3 %", page="mpi-time", n=3),
        tell("up-to-521", "Profile", "Up to 521 MB pass between two ranks", "does not hold", scale="level",
            unit="MB", estimate=38.2, low=38.2, high=38.2, expected=521.0, expected_high=521.0,
            estimate_text="38.2 MB", expected_text="up to 521 MB", page="messages", n=3),
        tell("mem-1gb", mem, "A node uses about 1 GB of memory at 16³", "does not hold", scale="level",
            unit="GB", estimate=0.11, low=0.1, high=0.12, expected=1.0,
            estimate_text="0.11 GB [0.10, 0.12]", expected_text="about 1 GB", page="memory", n=6),
        tell("athena", "CPU", "The Ivy Bridge cluster is up to 234 % faster than Westmere", scale="ratio",
            expected=3.34, expected_high=3.34, expected_text="up to 3.34×"),
        tell("athena-beats", "CPU", "The Ivy Bridge cluster beats the Westmere cluster"),
        tell("isa", "CPU", "One build uses AVX, the other SSE4.2"),
        ratio("dyna-fdr", net, "FDR is almost 5 times faster than 10GbE at 32 nodes", "recovered",
            (4.97, 4.71, 5.24), 5.0, evidence="synthetic", campaign="mock-synthetic", **DYNA),
        ratio("dyna-ivb-snb", "CPU", "Ivy Bridge is up to 20 % faster than Sandy Bridge", "consistent",
            (1.2, 1.2, 1.2), 1.2, expected_high=1.2, evidence="reported", **DYNA),
        ratio("dyna-dimm", mem, "1866 MHz memory is 3 % faster than 1600 MHz", "inconsistent",
            (1.3, 1.3, 1.3), 1.03, evidence="reported", **DYNA),
        ratio("dyna-turbo", "CPU", "Turbo mode adds 10 % at 40 % more power", "holds", (1.09, 1.05, 1.13),
            1.1, evidence="published", campaign="mock-published", **DYNA),
        ratio("dyna-slow", "Placement", "Two jobs side by side halve the speed of each", "holds",
            (0.55, 0.52, 0.58), 0.5, page="placement", **DYNA),
        ratio("dyna-jobs", "Placement", "Running jobs side by side gives more jobs per day", "holds",
            (1.91, 1.84, 1.97), 1.5, expected_low=1.0, expected_text="> 1×", page="placement", **DYNA),
        tell("dyna-power", "Energy", "The newer node takes less energy a job", **DYNA),
        tell("dyna-watts", "Energy", "A node draws 300 W under load", "not checkable", evidence="reported",
            scale="level", expected=300.0, expected_text="300 W", unit="W",
            reason="The report prints no second power figure to check it against.", **DYNA),
        tell("hostile", "Other", '<script>alert("x")</script> & "quotes" beat <b>bold</b>', "cannot tell",
            expected_text="<i>nothing</i>", estimate_text="a < b", arithmetic="1 < 2 && 3 > 2", n=2,
            reason="<img src=x onerror=alert(1)>"),
        tell("background-1", "Other", "HPCG aims to be a more relevant metric for ranking"),
        tell("background-2", "Other", "HPCG is a potential replacement for HPL"),
    ]
    # fmt: on


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


PROVENANCE = Provenance(
    commit="0123456789abcdef0123456789abcdef01234567",
    versions=(("python", "3.11.7"), ("xarray", "2025.1"), ("scipy", "1.14")),
    campaigns=(
        CampaignFacts(
            *("mock-hpcg", "measured", "mock cluster", "invented for the tests", 221),
            levels=(("application", "HPCG 3.1"), ("processor", "2 cores"), ("network", "veth")),
            failed=(
                ("017", "exit status 127: command not found"),
                ("044", "cancelled: no exit status recorded"),
            ),
        ),
    ),
    inputs=tuple(
        (one["path"], one["sha256"]) for one in map(mock_input, map("{:03d}/stdout.txt".format, range(60)))
    ),
)
SILENT = Claim(
    "silent",
    "lsdyna2014",
    "Energy",
    "Nobody has measured this",
    Question("level"),
    Expectation(relation="about", value=2.0),
)
REPORTS = (
    Report("hpcg2014", HPCG["report_title"], "Somebody", "2014-01", ()),
    Report("lsdyna2014", DYNA["report_title"], "Somebody", "2014-05", (SILENT,)),
)

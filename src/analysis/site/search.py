"""What the search box looks in: claims, pages, reports and documentation, as data for its script."""

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from analysis.base.words import displayed
from analysis.claims.audit import COULD_NOT_FAIL, NOT_CHECKABLE
from analysis.schema.factors import PROCESSORS
from analysis.site.board import Board, ClaimRow, section
from analysis.site.docs import Doc
from analysis.site.front import MenuGroup
from analysis.site.page import PageContent
from analysis.site.questions import QuestionPage
from analysis.site.words import EVIDENCE

# Pages that are no notebook's.
_SITE = (
    {"title": "Answers", "url": "index.html", "about": "front page, seven questions, contradictions"},
    {"title": "All claims", "url": "index.html#claims", "about": "scoreboard, verdicts, filter"},
    {
        "title": "Provenance",
        "url": "provenance.html",
        "about": "campaigns, raw files, sources, licences, checksums, versions, commit",
    },
)
# What is often asked for and has no run here: its name, words that only it has, and others that are typed for
# it. An entry goes when a claim or a page has a word that only it has.
_GAPS = (
    ("GPUs", "gpu gpus cuda rocm", "graphics"),
    ("hyper-threading", "hyperthreading smt", "hyper threading"),
    (
        "file systems and storage",
        "lustre gpfs beegfs nfs filesystem",
        "parallel file system storage io disk disks ssd burst buffer buffers",
    ),
    ("containers", "docker singularity apptainer podman", "container containers"),
    ("power caps", "cap caps capping", "power limit"),
    ("prices of hardware", "tco purchase", "price prices hardware buying"),
    ("cooling", "cooling cooled temperature", "liquid"),
    ("training of neural networks", "pytorch tensorflow neural", "ai ml training learning"),
    ("virtual machines against bare metal", "hypervisor virtualisation virtualization", "vm bare metal"),
)
# What the field calls the topics of pages, beside the words that their titles and texts have.
_FIELD = {
    "interconnect": "network card; wire speed; bandwidth-bound",
    "scaling": "speedup; saturates; saturation; Amdahl; strong scaling; diminishing returns; sweet spot",
    "links": "ping-pong; pingpong; osu_latency; osu_bw; microbenchmark; point to point; half round trip",
    "problem size": "domain size; working set; cells; grid points; cache",
    "run duration": "short run; long run; wall time; warm-up",
    "compiler flags": "-O2; -O3; -Ofast; march=native; gcc; icc; vectorisation; compile options",
    "MPI library": "MPI stack; MPI vendor; MPICH; MVAPICH; HPC-X",
    "MPI calls": "hot spot; blocking; MPI_Wait; MPI_Waitall; MPI_Recv; MPI_Barrier; communication overhead",
    "profilers": "instrumentation; perturbation; intrusive; tracing; IPM; mpiP",
    "message sizes": "halo exchange; small messages; large messages; who talks to whom; which rank; alltoall",
    "memory": "RAM; resident set; RSS; high-water mark; peak memory; per rank; per process; per core",
    "placement": "pinning; binding; affinity; NUMA; sockets; half-filled; undersubscribed; cores",
    "compute and MPI time": "load imbalance; communication-bound; compute-bound; waiting",
    "in-network computing": "reduction in the switch; collective offload; CORE-Direct",
    "CPU generation": "newer processor; microarchitecture; new nodes; hardware refresh",
    "memory modules": "DDR3; DDR4; DIMM; RDIMM; memory bandwidth; memory channels; memory speed",
    "MPI tuning": "eager; rendezvous; threshold; environment variables; UCX; hcoll; tuning; parameters",
    "CPU frequency": "turbo; DVFS; P-state; governor; clock speed; downclocking",
    "energy and cost": "Green500; operating cost; energy efficiency",
    "data volume": "bytes sent; traffic; communication volume",
}
# A page that says how to do something is sought more often than one that explains or lists it.
_KINDS = {"Explanation": 0.9, "Reference": 0.8}
# What was measured of Benchbook itself, and what is listed by itself, is sought least.
_LEAST = re.compile(r"reference/|readers-damage|statistics-study|scaling|model-check")
# The headings within a page, save those that most pages have, and the captions of its figures.
_HEADINGS = re.compile(r"<h[23][^>]*>(?!Method|Verdicts|Notes on|In numbers)(.*?)</h[23]>", re.DOTALL)
_CAPTIONS = re.compile(r"<figcaption[^>]*>([^<;]*)")
_FIRST_CELL = re.compile(r"<tr[^>]*>\s*<td[^>]*>(.*?)</td>", re.DOTALL)
_HEADING = re.compile(r'<h[23] id="([^"]+)">(.*?)</h[23]>', re.DOTALL)
# A comment in the documentation or in a notebook: what else this is called by who looks for it.
_ALSO = re.compile(r"<!-- also: (.*?) -->", re.DOTALL)


def index(
    board: Board,
    pages: Sequence[PageContent],
    menu: Sequence[MenuGroup],
    reports: Iterable[Any],
    docs: Sequence[Doc],
    questions: Iterable[QuestionPage] = (),
    topics: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> dict[str, Any]:
    """Gather what can be found, an entry each: title, address, what it belongs to, and the words in it.

    `topics` are those of each page by its name.
    """
    groups = {page.name: group.name for group in menu for page in group.pages}
    entries = [_claim(row, group.anchor) for group in board.groups for row in group.rows]
    entries += [_page(page, groups.get(page.name, ""), topics.get(page.name, ())) for page in pages]
    entries += gaps(entries)
    entries += [_report(one) for one in reports]
    entries += [_question(one) for one in questions]
    site = [one for one in _SITE if board.total or "#" not in one["url"]]
    entries += [{**one, "kind": "page", "where": "page"} for one in site]
    entries += [entry for doc in docs for entry in _doc(doc)]
    return {"entries": entries}


def _claim(row: ClaimRow, group: str) -> dict[str, Any]:
    claim, lead = row.claim, row.lead
    shown = displayed(lead.verdict)
    places = " ".join(dict.fromkeys(f"{one.campaign} {one.cluster}" for one in row.verdicts if one.tested))
    return {
        "kind": "claim",
        "title": claim.statement,
        "url": f"index.html#{row.anchor}",
        "where": f"claim · {claim.report} · {shown}",
        "about": f"{row.topic} {claim.application} {' '.join(claim.ids)}",
        "body": f"{section(claim)} {claim.factor} {claim.quantity} {shown} {places} {lead.compared}"[:600],
        "boost": 0.5 if lead.verdict in (NOT_CHECKABLE, COULD_NOT_FAIL) else 1.0,  # no answer
        "anchor": row.anchor,
        "group": group,
        "facets": {
            "verdict": lead.verdict,
            "topic": row.topic,
            "report": claim.report,
            "application": claim.application,
            "factor": claim.factor,
            "evidence": row.evidence,
            "ground": row.ground.label,
        },
    }


def _page(page: PageContent, group: str, topics: Sequence[str]) -> dict[str, Any]:
    classes = " ".join(EVIDENCE[one].phrase for one in page.classes)
    body = " ".join((str(page.figure), *map(str, page.body)))
    field = [_FIELD.get(one, "") for one in topics]
    return {
        "kind": "page",
        "title": page.title,
        "url": f"{page.name}.html",
        "where": f"page · {group} · {page.evidence}",
        "about": f"{group} {page.campaign}{' ' + page.hardware if PROCESSORS & set(topics) else ''}",
        "body": f"{page.question} {page.answer_text} {_text(page.intro)} {classes} "
        f"{page.campaign} {page.hardware} {_text(' '.join(dict.fromkeys(_CAPTIONS.findall(body))))}",
        "terms": " ".join((page.terms, _text(" ".join(_HEADINGS.findall(body))), *field[1:])),
        "also": "; ".join((*_ALSO.findall(page.intro), *field[:1])),  # its first topic is what it is about
        "boost": 1.4,
    }


def gaps(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Make an entry for each subject that no claim and no page speaks of."""
    said = " ".join(f"{one['title']} {one['about']} {one['body']}" for one in entries).casefold()
    known = set(re.findall(r"\w+", said))
    return [
        {
            "kind": "gap",
            "title": f"Nothing is measured on {name}: measure it yourself",
            "url": "docs/measure.html",
            "where": "no claim and no page",
            "about": others,
            "alias": own,
        }
        for name, own, others in _GAPS
        if not known & set(own.split())
    ]


def _report(one: Any) -> dict[str, Any]:
    report = one.report
    return {
        "kind": "report",
        "title": report.title,
        "url": f"{one.page}.html",
        "where": f"report · {report.publisher}, {report.date}",
        "about": f"{report.name} {report.publisher} {report.date} report",
        "boost": 1.2,
    }


def _question(one: QuestionPage) -> dict[str, Any]:
    campaigns = " ".join(voice.lead.campaign for voice in one.voices)
    return {
        "kind": "page",
        "title": one.question,
        "url": f"{one.page}.html",
        "where": f"question · {one.name} · all campaigns",
        "about": f"{one.name} {' '.join(dict.fromkeys(row.claim.topic for row in one.rows))}",
        "body": f"{one.sentence} {campaigns}",
        "boost": 0.6,  # its pages say more of a word
    }


def _doc(doc: Doc) -> Iterator[dict[str, Any]]:
    """Make an entry for a page of the documentation, and one for each of its sections."""
    parts = _HEADING.split(str(doc.body))
    yield {**_passage(doc, doc.title, "", parts[0]), "alias": doc.name.rpartition("/")[2]}
    for anchor, heading, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        yield _passage(doc, _text(heading), f"#{anchor}", text)


def _passage(doc: Doc, title: str, fragment: str, text: str) -> dict[str, Any]:
    # The first column of a table has what its rows are about.
    rows = [cell for cell in map(_text, _FIRST_CELL.findall(text)) if len(cell.split()) < 3]
    return {
        "kind": "docs",
        "title": title,
        "url": f"docs/{doc.name}.html{fragment}",
        "where": f"documentation · {doc.title}",
        "about": doc.title,
        "terms": " ".join(rows),
        "also": " ".join(_ALSO.findall(text)),
        "body": " ".join(dict.fromkeys(_text(text).split())),
        "boost": (0.6 if _LEAST.match(doc.name) else _KINDS.get(doc.kind, 1.0)) * (0.9 if fragment else 1.0),
    }


def _text(body: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())

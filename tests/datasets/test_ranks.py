"""Programs with more ranks than cores: raw profiles by line tools, dataset and verdict."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path
from statistics import median

import pytest

from analysis import readers
from analysis.base.files import read_bytes
from analysis.claims.evaluation import evaluate
from analysis.claims.model import load_report
from analysis.estimates.campaign import load_campaign
from analysis.estimates.tables import size_shares

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "data" / "raw" / "vm-ranks" / "runs"
HENT = re.compile(r'<hent .*?call="(\w+)" bytes="(\d+)" .*?count="(\d+)"')
# Of all calls in the profiles, those that hand payload to MPI.
SENDING = ("MPI_Isend", "MPI_Allreduce", "MPI_Reduce")
# xzcat *.mpiP.xz | awk '/Message Sent statistics/ { on = 1 }
#     on && $1 == "Isend" && $3 != "*" { calls += $4; bytes += $8 } END { print calls, bytes }'
MPIP = {
    ("s10", 8): (10856, 21_030_208),
    ("s10", 27): (58516, 96_674_528),
    ("s10", 64): (170136, 260_555_328),
    ("s12", 8): (10856, 29_334_208),
    ("s8", 27): (58516, 65_188_064),
    ("s6", 64): (170136, 108_311_616),
}


def sizes(path: Path) -> Counter[int]:
    """Count the sending calls of all ranks by size, by regular expression alone."""
    found: Counter[int] = Counter()
    for call, size, count in HENT.findall(read_bytes(path).decode()):
        if call in SENDING:
            found[int(size)] += int(count)
    return found


def test_ranks__each_repeat_has_the_calls_and_bytes_that_awk_finds() -> None:
    paths = sorted(RUNS.glob("*/*.mpiP*"))
    assert len(paths) == 3 * len(MPIP)
    for path in paths:
        ds = readers.open(path)
        sent = ds["call"].values == "MPI_Isend"
        case = path.parent.name.split("-")[1]
        counted = int(ds["count"].values[sent].sum()), int(ds["bytes"].values[sent].sum())
        assert counted == MPIP[case, ds.sizes["rank"]], path.parent.name


@pytest.mark.datasets("vm-ranks")
def test_ranks__a_share_of_short_messages_is_alike_in_raw_file_dataset_page_and_verdict() -> None:
    (path, *others) = sorted(RUNS.glob("lulesh-s10-1x64-*/*.ipm.xml.xz"))
    assert len(others) == 2
    by_size = sizes(path)
    short = sum(count for size, count in by_size.items() if size <= 64)
    campaign = load_campaign("vm-ranks")
    table = campaign.frame("messages")
    held = table[(table["run"] == path.parent.name) & table["call"].isin(SENDING)]
    assert held.groupby("size")["count"].sum().to_dict() == by_size
    shown = size_shares(campaign, [64], {"case": "s10", "ranks": 64, "profiler": "ipm"}).iloc[-1]
    assert shown["up to 64 B"] == pytest.approx(100 * short / by_size.total(), rel=1e-12)
    report = load_report(ROOT / "config/claims/lsdyna2014.yaml")
    found = {one.claim: one for one in evaluate(report, campaign)}
    verdict = found["lsdyna2014-prof-msgs-0-64b"]
    assert verdict.estimate == pytest.approx(100 * short / by_size.total(), rel=1e-12)
    assert (verdict.verdict, verdict.distance) == ("an analogue does not show it", "analogue")
    assert verdict.sentence == "22.1 % of the messages of LULESH have 64 B at most"


# The same awk with "Alltoall": calls and, as mpiP has it, bytes to one other rank, of 2, 4, 8 and 16 ranks.
TRANSPOSES = {
    2: (1214, 1_090_280_000),
    4: (2428, 546_120_000),
    8: (4856, 285_928_000),
    16: (9712, 154_982_400),
}


@pytest.mark.datasets("vm-water")
def test_ranks__the_pieces_of_a_transpose_become_more_and_smaller() -> None:
    campaign = load_campaign("vm-water")
    table = campaign.frame("calls").merge(campaign.runs[["run", "ranks"]], on="run").set_index("ranks")
    sent = table[table["call"] == "MPI_Alltoall"]
    assert {n: (int(sent["count"][n]), int(sent["bytes"][n])) for n in sent.index} == TRANSPOSES
    pieces = [sent["bytes"][n] / sent["count"][n] for n in sorted(TRANSPOSES)]
    assert [round(one) for one in pieces] == [898_089, 224_926, 58_881, 15_958]


WATER = RUNS.parents[1] / "vm-openatom" / "runs"
# xzcat *.ipm.xml.xz | grep -o '<hent .*call="MPI_Isend".*' | awk -F'"' '{ n += $14; b = $6
#     if (b >= 1024 && b <= 16384) m += $14 } END { print n, m }', of 1 to 8 nodes
MESSAGES = {
    1: (139_597, 128_571),
    2: (212_989, 193_039),
    3: (274_349, 212_261),
    4: (256_569, 225_609),
    6: (418_079, 236_015),
    8: (293_005, 243_601),
}


@pytest.mark.datasets("vm-openatom")
def test_openatom__calls_and_sizes_are_those_of_the_report() -> None:
    found = {}
    for path in WATER.glob("*/*.ipm.xml.xz"):
        sent = Counter[int]()
        for call, size, count in HENT.findall(read_bytes(path).decode()):
            if call == "MPI_Isend":
                sent[int(size)] += int(count)
        medium = sum(count for size, count in sent.items() if 1024 <= size <= 16384)
        found[int(path.parent.name.split("-")[4][0])] = sent.total(), medium
    assert found == MESSAGES
    campaign = load_campaign("vm-openatom")
    report = load_report(ROOT / "config/claims/openatom2010.yaml")
    told = {one.claim.removeprefix("openatom2010-prof-"): one for one in evaluate(report, campaign)}
    # Each of the two ranks of a node broadcasts once, which hands payload to MPI too.
    shares = sorted(
        100 * medium / (sent + 2 * nodes) for nodes, (sent, medium) in MESSAGES.items() if nodes > 1
    )
    share = told["msgs-1-16kb"]
    assert share.estimate == pytest.approx(median(shares), rel=1e-12)
    assert [round(one, 1) for one in shares] == [56.5, 77.4, 83.1, 87.9, 90.6]
    for claim in ("used-functions", "msgs-1-16kb"):
        assert (told[claim].verdict, told[claim].distance) == ("seen at this scale", "scaled"), claim
    assert told["msgs-grow"].estimate == pytest.approx(0.6)  # more on 3 nodes than on 4, more on 6 than on 8
    assert told["msgs-grow"].verdict == "cannot tell"
    # Whether messages or collectives take more time is not asked of runs that share their cores.
    assert told["p2p-biggest-overhead"].verdict == "not tested"


PLATE = RUNS.parents[1] / "vm-plate" / "runs"
# xzcat *.ipm.xml.xz | grep -o '<hent .*call="MPI_Send".*' |
#     awk -F'"' '{ n += $14; b += $6 * $14 } END { print n, b }'
SENT = {
    2: (4_856, 82_295_808),
    3: (8_514, 117_986_816),
    4: (12_156, 154_652_672),
    6: (20_694, 201_576_960),
    8: (29_200, 263_992_064),
    12: (46_212, 363_005_056),
    16: (63_224, 458_077_120),
}


@pytest.mark.datasets("vm-plate")
def test_plate__more_nodes_send_more_messages_and_a_rank_less_data() -> None:
    found, reduced = defaultdict(set), set[int]()
    for path in PLATE.glob("*/*.ipm.xml.xz"):
        nodes = int(path.parent.name.split("-")[2].partition("x")[0])
        rows = [
            (call, int(size), int(count)) for call, size, count in HENT.findall(read_bytes(path).decode())
        ]
        sent = [(size, count) for call, size, count in rows if call == "MPI_Send"]
        found[nodes].add((sum(n for _, n in sent), sum(size * n for size, n in sent)))
        reduced |= {size for call, size, _ in rows if call == "MPI_Allreduce"}
    assert found == {nodes: {sums} for nodes, sums in SENT.items()}  # both repeats agree
    assert reduced == {4, 8, 16, 40, 48}
    counts, per_rank = zip(
        *((n, total / nodes / 2) for nodes, (n, total) in sorted(SENT.items())), strict=True
    )
    assert sorted(counts) == list(counts)
    assert sorted(per_rank, reverse=True) == list(per_rank)
    campaign = load_campaign("vm-plate")
    told = {
        one.claim: one
        for report in ("lsdyna2014", "lsdyna2009")
        for one in evaluate(load_report(ROOT / f"config/claims/{report}.yaml"), campaign)
    }
    for claim, tau, said in (
        (
            "lsdyna2014-prof-data-per-rank-falls",
            -1.0,
            "The data that a rank hands to MPI falls from 2 nodes to 16",
        ),
        (
            "lsdyna2009-prof-msgs-grow-with-nodes",
            1.0,
            "The number of messages rises from 2 nodes to 16 nodes",
        ),
    ):
        one = told[claim]
        assert one.sentence.startswith(said)
        assert (one.estimate, one.n, one.verdict) == (tau, 14, "an analogue shows it"), claim
    short = told["lsdyna2014-prof-allreduce-under-256b"]
    assert (short.estimate, short.verdict) == (100.0, "an analogue shows it")
    # The size of our plate sets those of its messages: they are shown, as LULESH's are, and decide nothing.
    least, most = (told[f"lsdyna20{name}"] for name in ("14-prof-msgs-0-64b", "09-prof-most-msgs-0-4kb"))
    assert (round(least.estimate or 0, 2), least.verdict) == (18.66, "cannot tell")
    assert (round(most.low or 0, 2), round(most.high or 0, 2), most.verdict) == (23.55, 55.83, "cannot tell")

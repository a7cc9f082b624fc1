"""The search box in a real browser: forty questions with their first hit, over the real reports and docs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from markupsafe import Markup

from analysis.base import models, project
from analysis.claims.model import load_report
from analysis.estimates.contents import load_config
from analysis.schema.campaigns import CampaignFile
from analysis.site import search
from analysis.site.build import Front, build
from analysis.site.docs import Doc
from analysis.site.page import PageContent, PageInput, terms
from analysis.site.provenance import Provenance
from tests.browser import CHROMIUM, Browser
from tests.site import mock as site_mock

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
ROOT = Path(__file__).parents[2]
# What is asked -> the first hit.
QUERIES = [
    ("how do I import results of hpcbench", "docs/import.html"),
    ("Wh", "question-energy-and-cost.html"),
    ("watt", "cpu-frequency-energy.html"),
    ("energy per job", "cpu-frequency-energy.html"),
    ("dual rank", "spec-memory-ranks.html"),
    ("RoCE", "roce-links.html"),
    ("167%", "index.html#lsdyna2014-cpu-ivb-over-nhm-167pct"),
    ("234 %", "index.html#hpcg2014-cpu-athena-234pct"),
    ("FDR 1GbE 7 times", "index.html#lsdyna2014-ic-fdr-over-1gbe-7x"),
    ("InfiniBand Ethernet LS-DYNA", "lsdyna-interconnect.html"),
    ("jobs a day", "question-jobs-at-once.html"),
    ("77 %", "index.html#lsdyna2014-place-two-jobs-77pct"),
    ("MPI library", "mpi-library.html"),
    ("Nehalem", "index.html#lsdyna2014-cpu-ivb-over-nhm-167pct"),
    ("Shanghai run time", "index.html#lsdyna2009-cpu-shanghai-20pct-runtime"),
    ("electricity saving", "index.html#openatom2010-pwr-saving-grows-with-size"),
    ("Allreduce 27", "index.html#lsdyna2014-prof-time-allreduce-27pct"),
    ("seven sizes", "index.html#hpcg2014-prof-seven-sizes"),
    ("memory of a node", "memory.html"),
    ("compiler flags", "index.html#hpcg2014-cc-little-advantage"),
    ("CPU frequency", "report-archer2022.html"),
    ("how to cite", "docs/how-to.html#cite-a-result"),
    ("import", "docs/import.html"),
    ("power meter", "docs/power.html#meters-that-benchbook-reads"),
    ("statistics", "docs/statistics.html"),
    ("false discoveries", "docs/statistics-study.html#false-discoveries"),
    ("add a claim", "docs/claims.html#add-a-claim"),
    ("OpenFOAM scaling", "openfoam-scaling.html"),
    ("CASTEP", "castep-scaling.html"),
    ("VASP", "vasp-placement.html"),
    ("provenance", "provenance.html"),
    ("infinband 174", "index.html#openatom2010-ic-ib-over-10gige-174pct"),
    ("interconect", "interconnect.html"),
    ("linear scalability", "index.html#openatom2010-concl-linear-scalability"),
    ("HDR100 Omni-Path 18 %", "index.html#sharp2019-lsdyna-hdr100-over-opa-18pct"),
    ("8.9 % dual-rank", "index.html#lsdyna2014-mem-dual-1600-over-single-1866-8-9pct"),
    ("links of clouds", "cloud-links.html"),
    ("glossary", "docs/glossary.html"),
    ("whatif", "docs/reference/commands.html#benchbook-whatif"),
    ("slides", "docs/report.html"),
    ("tutorial", "docs/tutorial.html"),
    ("contradictions", "index.html"),
    ("ARCHER2", "report-archer2022.html"),
    ("repeats vary", "vm-hpcg-repeats.html"),
    ("scoreboard", "index.html#claims"),
    ("is a higher CPU clock worth it", "report-archer2022.html"),
    ("AMD EPYC", "cpu-frequency.html"),
    ("which MPI is fastest", "mpi-library.html"),
    ("how long are messages", "messages.html"),
    ("how fast is an Allreduce", "sharp-allreduce.html"),
    ("RoCE or InfiniBand", "roce-links.html"),
    ("what is an analogue", "docs/glossary.html#distances"),
    ("how much memory does a job need", "memory.html"),
    ("cloud or on premises", "cloud-links.html"),
    ("what does a job cost", "cpu-frequency-energy.html"),
    ("AMD or Intel", "spec-cpu-generations.html"),
    ("ARM or x86", "hpcg-by-others.html"),
    ("Open MPI or Intel MPI", "index.html#lsdyna2014-mpi-platform-best"),
    ("how much time is spent in MPI", "vm-lulesh-compute-and-mpi.html"),
    ("latency of InfiniBand", "index.html#lsdyna2009-bg-ib-1us"),
    ("how much power does a server draw", "server-watts.html"),
    ("HPL efficiency", "hpl-by-link.html"),
    ("do I need a faster network", "interconnect.html"),
    ("how many ranks per node", "vm-hpcg-placement.html"),
    ("weak scaling", "hpcg-by-others.html"),
    ("25 gigabit Ethernet", "roce-links.html"),
    ("25GbE", "roce-links.html"),
    ("how many nodes should I buy", "docs/how-to.html#how-many-nodes-should-i-buy"),
    ("Omni-Path vs InfiniBand", "steps-scaling.html"),
    ("AWS EFA", "gromacs-links.html"),
    ("energy to solution", "cpu-frequency-energy.html"),
    ("nvidia-smi power log", "docs/formats.html#logs-of-gpus-and-of-monitoring-systems"),
    ("confidence interval", "docs/glossary.html#numbers"),
    ("why cannot tell", "docs/how-to.html#why-does-it-say-cannot-tell"),
    ("is SHARP worth it", "sharp-allreduce.html"),
    ("noise between runs", "vm-hpcg-repeats.html"),
    ("GitHub Pages", "docs/how-to.html#publish-the-site"),
    ("GROMACS nodes", "gromacs-links.html"),
    ("predict my job on another interconnect", "docs/model.html#your-own-job-on-another-link"),
    ("STREAM", "docs/formats.html#figures-of-merit"),
    ("Likwid", "docs/formats.html#energies-of-a-whole-run"),
    ("TOP500 efficiency", "hpl-by-link.html"),
    ("single or dual socket", "openfoam-sockets.html"),
    ("two jobs on one node", "placement.html"),
    ("performance per watt", "server-watts.html"),
    ("message size distribution", "messages.html"),
    ("reproduce a result", "docs/campaigns.html#verify"),
    ("which interconnect for OpenFOAM", "openfoam-scaling.html"),
    ("claims", "docs/claims.html"),
    ("cost of profiling", "vm-lulesh-profilers.html"),
    ("cluster slower after upgrade", "docs/tutorial.html#after-an-upgrade"),
    ("how is energy measured", "docs/power.html"),
    ("which MPI is faster", "mpi-library.html"),
    ("how do I add my cluster", "docs/measure.html#add-your-cluster"),
    ("buy how many nodes", "docs/how-to.html#how-many-nodes-should-i-buy"),
    ("strong scaling limit", "castep-scaling.html"),
    ("ipmi power meter setup", "docs/power.html#meters-that-benchbook-reads"),
    ("what does refuted mean", "docs/glossary.html#verdicts-on-runs"),
    ("confidence interval of the median", "docs/statistics.html#medians-ratios-and-their-intervals"),
    ("new parser for my application output", "docs/extend.html#add-a-format"),
    ("cost of electricity", "cpu-frequency-energy.html"),
    ("clock of node wrong", "docs/measure.html#a-node-with-a-wrong-clock"),
    ("how to share a job between runs", "docs/measure.html#runs-that-share-a-job-with-runs_per_job"),
    ("runs_per_job", "docs/measure.html#runs-that-share-a-job-with-runs_per_job"),
    ("concurrent_jobs", "docs/reference/configuration.html#factors"),
    ("QDR or FDR for OpenFOAM", "openfoam-scaling.html"),
    ("LAMMPS over TCP", "lammps-links.html"),
    ("does NAMD need InfiniBand", "charm-layers.html"),
    ("one rank per core or half the cores", "vasp-placement.html"),
    ("carbon footprint of a job", "docs/how-to.html#how-much-carbon-does-a-job-emit"),
    ("parallel efficiency", "docs/glossary.html#numbers"),
    ("why was my run excluded", "docs/how-to.html#why-is-a-run-excluded"),
    ("how many repeats do I need", "docs/how-to.html#how-many-repeats-do-i-need"),
    ("my job was cancelled, does it count", "docs/how-to.html#why-is-a-run-excluded"),
    ("spreadsheet of my runs", "docs/campaigns.html#a-table-of-your-own-runs"),
    ("openmpi or platform mpi", "index.html#lsdyna2014-mpi-platform-best"),
    ("air-gapped install", "docs/how-to.html#install-without-a-network"),
    ("remove a bad run", "docs/how-to.html#why-is-a-run-excluded"),
    ("compare two campaigns", "docs/compare.html"),
    ("slurm energy plugin", "docs/power.html"),
    ("turbo off", "cpu-frequency.html"),
    ("how accurate is the forecast", "docs/model.html#how-far-off-it-is"),
    ("resume after node crash", "docs/measure.html#while-it-runs-and-after-a-fault"),
    ("number of repetitions needed", "docs/how-to.html#how-many-repeats-do-i-need"),
    ("repeatability", "vm-hpcg-repeats.html"),
    ("ranks pinning", "vm-hpcg-placement.html"),
    ("quickstart", "docs/tutorial.html"),
    ("jupyter", "docs/how-to.html#explore-in-jupyterlab"),
    ("overhead of profiling", "vm-lulesh-profilers.html"),
    ("import my own results", "docs/import.html"),
    ("Ethernet for CFD", "openfoam-scaling.html"),
    ("strong scaling OpenFOAM", "openfoam-scaling.html"),
    # What a topic of a page is called in the field, and in no title.
    ("speedup saturates", "castep-scaling.html"),
    ("OpenMPI vs MPICH", "openfoam-mpi-library.html"),
    ("eager threshold tuning", "openfoam-mpi-library.html"),
    ("-O3 march=native", "hpcg-settings.html"),
    ("ping-pong latency", "cloud-links.html"),
    ("alltoall message size", "messages.html"),
    ("which rank talks to which", "messages.html"),
    ("elastic fabric adapter", "gromacs-links.html"),
    ("Green500", "hpl-by-link.html"),
    ("sacct ConsumedEnergy", "docs/power.html"),
    ("parse my own log file", "docs/extend.html#add-a-format"),
    ("sbatch template", "docs/measure.html"),
    ("network simulator", "docs/simulated.html"),
    # Nothing is measured on these.
    ("hyperthreading", "docs/measure.html"),
    ("do GPUs help", "docs/measure.html"),
    ("parallel file system", "docs/measure.html"),
    ("power cap", "docs/measure.html"),
    ("burst buffer", "docs/measure.html"),
]
# What no page has all words of.
NEAREST = [
    ("influence of the MPI implementation", "mpi-library.html"),
    ("energy bill per job", "cpu-frequency-energy.html"),
    ("load old slurm logs", "docs/import.html"),
    ("Singularity containers slow down", "docs/measure.html"),
    ("half populated nodes", "vasp-placement.html"),
    ("Kubernetes overhead", "cloud-links.html"),
]


# What was misspelt -> what was meant: the same first hit.
TYPOS = {
    "infiband": "InfiniBand",
    "ehternet": "Ethernet",
    "bandwith": "bandwidth",
    "latancy": "latency",
    "enrgy": "energy",
    "frequncy": "frequency",
    "nehalm": "Nehalem",
    "opanfoam": "OpenFOAM",
    "lammsp": "LAMMPS",
    "memmory": "memory",
    "dual rnak": "dual rank",
    "mpi libary": "MPI library",
    "alreduce": "Allreduce",
    "intrconnect": "interconnect",
    "placment": "placement",
    "tutorail": "tutorial",
    "glosary": "glossary",
    "statistcs": "statistics",
    "provinance": "provenance",
    "scalling": "scaling",
    "sandy brige": "Sandy Bridge",
    "castpe": "CASTEP",
    "openatm": "OpenAtom",
    "archer 2": "ARCHER2",
    "power metre": "power meter",
    "contradictons": "contradictions",
    "infinband fdr 1gbe": "InfiniBand FDR 1GbE",
    "hpgc": "HPCG",
    "lsdyna": "LS-DYNA",
    "proccessor": "processor",
}


def question(entry: dict[str, Any]) -> str:
    """Return the title of a page of the build, or the first heading of its notebook."""
    cells = json.loads((ROOT / "notebooks" / entry["notebook"]).read_text())["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    headings = [found[1] for found in (re.search(r"^# (.+)$", text, re.MULTILINE) for text in texts) if found]
    return str(entry.get("title") or headings[0])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site of the repository without its datasets: no claim is tested, no page has an answer."""
    folder = tmp_path_factory.mktemp("search")
    config = load_config(ROOT)
    hardware = {
        path.stem: models.load(CampaignFile, path).hardware
        for path in (ROOT / "config/campaigns").glob("*.yaml")
    }
    pages = []
    for entry in config["pages"]:
        path = site_mock.notebook(folder / f"{entry['name']}.ipynb", question(entry), "")
        used = ", ".join(project.as_list(entry, "campaign"))
        pages.append(
            PageInput(
                entry["name"],
                path,
                "measured",
                used,
                question(entry),
                (),
                entry.get("group", ""),
                "; ".join(hardware[one] for one in project.as_list(entry, "campaign")),
                terms(entry),
            )
        )
    topics = {entry["name"]: entry.get("topics", ()) for entry in config["pages"]}
    reports = [load_report(project.claims(name, ROOT)) for name in config["reports"]]
    asked = Front(config["front"], {}, topics)
    build([], pages, Provenance(), folder / "out", reports=reports, docs=ROOT / "docs", asked=asked)
    return folder / "out"


@pytest.fixture(scope="module")
def browser(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as one:
        one.size(1360, 900)
        one.open((site / "index.html").as_uri())
        one.run("benchbook.ready().then(() => true)")
        yield one


def found(browser: Browser, text: str) -> tuple[bool, list[str]]:
    answer = browser.run(
        f"(() => {{ const {{ exact, hits }} = benchbook.find({json.dumps(text)});"
        " return [exact, hits.map((one) => one.url)]; })()"
    )
    return answer[0], answer[1]


@pytest.mark.parametrize(("text", "first"), QUERIES)
def test_search__first_hit(browser: Browser, text: str, first: str) -> None:
    exact, hits = found(browser, text)
    assert exact
    assert hits[0] == first
    assert len(hits) <= 15


@pytest.mark.parametrize(("text", "first"), NEAREST)
def test_search__nearest_has_the_rare_words(browser: Browser, text: str, first: str) -> None:
    exact, hits = found(browser, text)
    assert (exact, hits[0]) == (False, first)


def test_search__says_what_is_not_measured_unless_a_page_speaks_of_it(browser: Browser) -> None:
    title = browser.run("benchbook.find('GPU').hits[0].title")
    assert title == "Nothing is measured on GPUs: measure it yourself"
    page = {"title": "How fast is it?", "about": "", "body": "four GPUs a node"}
    gone = {one["title"] for one in search.gaps([])} - {one["title"] for one in search.gaps([page])}
    assert gone == {title}


def test_search__headings_and_captions_of_a_page_are_found() -> None:
    body = [
        Markup("<h2 id='a'>Who talks to whom</h2><h2>Method</h2><figcaption>Payload; as sent</figcaption>")
    ]
    page = PageContent("one", Path("one.ipynb"), "measured", "vm-one", "How?", (), "", "", "", body=body)
    entry = search._page(page, "MPI profile", ())
    assert "Who talks to whom" in entry["terms"]
    assert "Method" not in entry["terms"]
    assert entry["body"].endswith("Payload")


def test_search__other_names_of_a_section_are_found_and_not_shown() -> None:
    body = Markup('<h2 id="why">Why is a run excluded?</h2><!-- also: skipped; left out --><p>It failed.</p>')
    _, entry = search._doc(Doc("how-to", "How-to", "How-to", "", body))
    assert entry["also"] == "skipped; left out"
    assert entry["body"] == "It failed."


def test_search__other_names_of_a_notebook_are_found() -> None:
    intro = Markup("<!-- also: RAM; footprint --><p>About 1 GB.</p>")
    page = PageContent("one", Path("one.ipynb"), "measured", "vm-one", "How?", (), "", "", "", intro=intro)
    entry = search._page(page, "Memory", ())
    assert entry["also"] == "RAM; footprint"
    assert "RAM" not in entry["body"]


def test_search__a_page_is_found_by_what_the_field_calls_its_first_topic() -> None:
    page = PageContent("one", Path("one.ipynb"), "measured", "vm-one", "How?", (), "", "", "")
    entry = search._page(page, "Scaling", ("links", "scaling"))
    assert "ping-pong" in entry["also"]
    assert "Amdahl" in entry["terms"]
    assert "Amdahl" not in entry["also"]


@pytest.mark.parametrize("text", ["bisection", "myths"])
def test_search__a_word_with_another_first_letter_is_no_misspelling(browser: Browser, text: str) -> None:
    """The nearest words are *direction* and *maths*: they have nothing to do with it."""
    assert found(browser, text) == (False, [])


def test_search__process_and_processes_are_one_word(browser: Browser) -> None:
    one, many = (found(browser, f"memory of a {text}") for text in ("process", "processes"))
    assert one[1][0] == many[1][0] != "server-watts.html"


def test_search__worth_the_money_is_worth_it(browser: Browser) -> None:
    same = [found(browser, f"is RoCE {text}") for text in ("worth the money", "worth it", "worth the price")]
    assert same[0] == same[1] == same[2]


def test_search__has_forty_questions() -> None:
    assert len(QUERIES) == len({text for text, _ in QUERIES}) >= 40


@pytest.mark.parametrize(
    ("text", "same"),
    [("167%", "167 %"), ("dual-rank", "dual rank"), ("1 GbE", "1GbE"), ("watt", "Watts"), ("wh", "WH")],
)
def test_search__spelling_does_not_matter(browser: Browser, text: str, same: str) -> None:
    assert found(browser, text) == found(browser, same)
    assert found(browser, text)[1]


@pytest.mark.parametrize(("typed", "meant"), TYPOS.items(), ids=TYPOS)
def test_search__thirty_typos_find_what_was_meant(browser: Browser, typed: str, meant: str) -> None:
    assert len(TYPOS) == 30
    assert found(browser, typed)[1][0] == found(browser, meant)[1][0]


def test_search__without_a_hit_gives_the_nearest_and_says_so(browser: Browser) -> None:
    exact, hits = found(browser, "Allreduce on Jupiter's moons")
    assert not exact
    assert "allreduce" in hits[0]
    assert found(browser, "zzqx") == (False, [])


def test_search__box_lists_the_hits_and_follows_the_keys(browser: Browser, site: Path) -> None:
    browser.open((site / "provenance.html").as_uri())
    browser.run("document.getElementById('find').focus()")
    browser.type("167 %")
    browser.until("document.querySelectorAll('#hits a').length === 1")
    assert browser.run("document.getElementById('found').textContent") == "1 hit, the best first"
    browser.key("ArrowDown")
    assert browser.run("document.activeElement.href").endswith(
        "index.html#lsdyna2014-cpu-ivb-over-nhm-167pct"
    )
    browser.key("Escape")
    assert browser.run("document.querySelector('.hits').hidden") is True
    browser.run("document.getElementById('find').value = ''")
    browser.type("zzqx")
    browser.until("document.getElementById('found').textContent.startsWith('Nothing here has these words.')")
    assert browser.errors == []


@pytest.mark.parametrize("width", [390, 700, 1360])
def test_search__hits_stay_within_the_window(browser: Browser, site: Path, width: int) -> None:
    browser.size(width, 900)
    browser.open((site / "index.html").as_uri())
    browser.run("document.getElementById('find').focus()")
    browser.type("overhead of profiling")
    browser.until("document.querySelectorAll('#hits a').length > 1")
    left, right = browser.run(
        "(({ left, right }) => [left, right])(document.querySelector('.hits').getBoundingClientRect())"
    )
    browser.size(1360, 900)
    assert 0 <= left < right <= width


def test_search__an_index_that_is_gone_says_what_to_do(browser: Browser, site: Path, tmp_path: Path) -> None:
    (tmp_path / "provenance.html").write_text((site / "provenance.html").read_text())
    (tmp_path / "site.js").write_text((site / "site.js").read_text())
    browser.open((tmp_path / "provenance.html").as_uri())
    browser.run("document.getElementById('find').focus()")
    browser.type("FDR")
    browser.until("document.getElementById('found').textContent !== ''")
    said = browser.run("document.getElementById('found').textContent")
    assert said == "data/search.js is missing: build the site again with make report"

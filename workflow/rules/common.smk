# Shared by the stages. It has no rules and imports nothing slow.
import atexit
import contextlib
import functools
import hashlib
import json
import os
import re
import shlex
import shutil
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

import analysis
from analysis.base import project
from analysis.estimates import contents
from analysis.base.errors import BenchbookError
from analysis.base.files import stamp
from analysis.site.kernels.client import start

NAME = "[A-Za-z0-9_][A-Za-z0-9._-]*"
# The repository's own, or what is installed.
PACKAGE = Path("src/analysis")
if not PACKAGE.is_dir():
    PACKAGE = Path(analysis.__file__).parent
BASE = Path.cwd()
BUILD = config.get("build", "config/config.yaml")
SELFTEST = bool(config.get("contradictions"))
RESULTS = "results" if BUILD == "config/config.yaml" else f"results/{Path(BUILD).stem}"
RECOVERED = [f"{RESULTS}/recovered.txt"] if SELFTEST else []
# Once the self-test has been built, claims show whether it recovered them; it is never built for this.
RECOVERIES = [
    name
    for name in ["results/selftest/verdicts.json"]
    if not SELFTEST and Path(name).is_file()
]
# Synthetic campaigns that tests and examples of the documentation read.
EXAMPLES = ("syn-lsdyna2009", "syn-lsdyna2014", "syn-nightly")
CHECKED = "data/model/whatif-check.csv"  # what `whatif-check` simulated
VALIDATED = (
    "vm-exchange",
    "vm-hpcg",
    "published",
    "published-openfoam",
)  # what `model-validation` compares
MEASURED = config.get("measure", "")  # the campaign that the target `measure` measures

# Runs next to Snakemake and ends with it.
AT_END = contextlib.ExitStack()
atexit.register(AT_END.close)


# Jobs use the interpreter that runs Snakemake, activated or not, here or on a node. This prefix replaces
# Snakemake's own, which makes a job fail if a command in a pipe fails: so that part is repeated.
BIN = shlex.quote(str(Path(sys.executable).parent))
shell.prefix(f'set -euo pipefail; export PATH={BIN}:"$PATH"; ')


wildcard_constraints:
    campaign=NAME,
    report=NAME,
    page=NAME,


def check_config(config):
    if dask := config.pop("dask", ""):
        os.environ.update(BENCHBOOK_DASK=dask)  # of stages: who reads a large campaign
    try:
        contents.complete(config, BASE, BASE / BUILD, stamped)
    except BenchbookError as error:
        raise WorkflowError(str(error)) from None


def start_pages():
    """Start the process that stages are forked from; it ends with Snakemake."""
    if MEASURED:
        return  # nothing else may run during a measurement
    if workflow.is_main_process and workflow.local_exec:
        AT_END.enter_context(start())


# ---- The rooms of the package that a stage can reach; a test compares these lists with the imports.
READ = project.READ
JUDGE = (*READ, "estimates", "claims")


def code_of(*rooms):
    """Digest the files of rooms, or modules, of the package.

    As a parameter of a rule, the digest makes the rule's output out of date when any of them changes, as
    hundreds of input files would.
    """
    digest = hashlib.sha256()
    for room in (*rooms, "cli/stages.py"):
        digest.update(digest_of(room))
    return digest.hexdigest()


@functools.cache
def digest_of(room):
    return project.code_digest(PACKAGE, room)


# ---- Names.
def tree(campaign):
    return project.processed(campaign, Path()) / "campaign.nc"


def declaration(campaign):
    return project.declaration(campaign, Path())


def all_verdicts():
    """The verdicts of every campaign on the reports, and of the reports on themselves (audit)."""
    names = {name for report in config["reports"] for name in speakers(report)}
    return [f"{RESULTS}/verdicts/{name}.json" for name in sorted(names)]


def speakers(report):
    """The campaigns on which a report's claims are evaluated, and its audit if it has one."""
    audited = Path(f"config/audit/{report}.yaml").is_file() and not SELFTEST
    return [*config["reports"][report], *(["audit"] if audited else [])]


def claims_on(wildcards):
    """The files of the claims that are evaluated on a campaign, or in the audit."""
    return [
        project.claims(report, Path())
        for report in config["reports"]
        if wildcards.campaign in speakers(report)
    ]


def page(wildcards):
    return next(page for page in config["pages"] if page["name"] == wildcards.page)


def page_names(figure):
    """A pattern that matches the pages with, or those without, a main figure."""
    names = [page["name"] for page in config["pages"] if page["figure"] == figure]
    return "|".join(name.replace(".", r"\.") for name in names) or "(?!)"


def page_datasets(wildcards):
    return [tree(name) for name in project.as_list(page(wildcards), "campaign")]


def page_declarations(wildcards):
    """The files that declare a page's claims and its campaigns."""
    entry = page(wildcards)
    reports = project.as_list(entry, "report")
    found = [project.claims(name, Path()) for name in reports]
    for campaign in project.as_list(entry, "campaign"):
        found.append(declaration(campaign))
        found += [Path(CHECKED)] if modelled(campaign) else []
    if entry.get("evidence") == "reported":
        found += [Path(f"config/audit/{name}.yaml") for name in reports]
    return found


def digest_of_contents():
    """Digest what follows from the records; a change makes the scoreboard and the site out of date."""
    keys = ("campaigns", "reports", "pages", "left_out")
    text = json.dumps({key: config[key] for key in keys}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def notebook_campaigns():
    """The campaigns that the notebooks name in their parameter cells."""
    found = set()
    for path in Path("notebooks").glob("*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if "parameters" in cell["metadata"].get("tags", ()):
                for names in re.findall(
                    r"^campaigns? = (.+)$", "".join(cell["source"]), re.MULTILINE
                ):
                    found.update(re.findall(r"[\w.-]+", names))
    return sorted(name for name in found if declaration(name).is_file())


def page_parameters(wildcards):
    """The parameters that a page's entry gives its notebook."""
    entry = page(wildcards)
    keys = ("campaign", "campaigns", "report", "reports", "topics")
    given = {key: entry[key] for key in keys if key in entry}
    return json.dumps({**given, **entry["parameters"]}, sort_keys=True)


def page_derived(wildcards):
    """The option of a page that nobody asked for: if its runs are not enough, it does not fail."""
    return "--derived=yes" if page(wildcards).get("derived") else ""


def made_files(wildcards):
    """What a campaign that was not measured is made from: the model's files, or what a stage generates."""
    folder = project.raw(wildcards.campaign, Path())
    if modelled(wildcards.campaign):
        return sorted(Path("config/model").rglob("*.yaml"))
    if synthetic(wildcards.campaign):
        return [folder / "sacct.txt", folder / "README.md", folder / "runs"]
    return []


def raw_stamp(wildcards):
    """Digest a campaign's raw files; those of a synthetic campaign are not known before it is built.

    Thousands of raw files as inputs would each be looked at several times.
    """
    return "" if made_files(wildcards) else stamped(wildcards.campaign)


@functools.cache
def stamped(campaign):
    return stamp(
        project.raw(campaign, Path()), Path(f".snakemake/raw-files/{campaign}.json")
    )


def modelled(campaign):
    return bool(project.load_yaml(project.declaration(campaign, Path())).get("model"))


def synthetic(campaign):
    return campaign.startswith("syn-") and project.truth(campaign, Path()).is_file()


def asked(wildcards):
    """What verdicts need in addition to the claims: a campaign, or the reports' own statements."""
    campaign = wildcards.campaign
    if campaign == "audit":
        return [f"config/audit/{path.name}" for path in claims_on(wildcards)]
    return [tree(campaign), declaration(campaign)]


def simulated(wildcards):
    """What is simulated; one line that says what to install where there is no SimGrid."""
    if shutil.which("smpirun") is None:
        package = "as root on Debian `apt-get install libsimgrid-dev`"
        raise WorkflowError(
            f"smpirun is not there: install SimGrid 3.32 or later: {package}"
        )
    return "config/whatif-check.yaml"

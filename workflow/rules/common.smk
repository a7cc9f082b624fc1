# What the stages share: no rules here, and nothing that is slow to import.
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

from analysis.base import project
from analysis.estimates import contents
from analysis.base.errors import BenchbookError
from analysis.site.kernels.client import start

NAME = "[A-Za-z0-9_][A-Za-z0-9._-]*"
PACKAGE = Path("src/analysis")
BASE = Path.cwd()
BUILD = config.get("build", "config/config.yaml")
SELFTEST = bool(config.get("contradictions"))
RESULTS = "results" if BUILD == "config/config.yaml" else f"results/{Path(BUILD).stem}"
RECOVERED = [f"{RESULTS}/recovered.txt"] if SELFTEST else []
# What the self-test has recovered is said beside the claims once it has been built; nobody builds it for that.
RECOVERIES = [
    name
    for name in ["results/selftest/verdicts.json"]
    if not SELFTEST and Path(name).is_file()
]
CHECKED = "data/model/whatif-check.csv"  # what `whatif-check` simulated
VALIDATED = (
    "vm-exchange",
    "vm-hpcg",
    "published",
    "published-openfoam",
)  # what `model-validation` compares
MEASURED = config.get("measure", "")  # the campaign that the target `measure` measures

# What runs beside Snakemake and ends with it.
AT_END = contextlib.ExitStack()
atexit.register(AT_END.close)


def given_back():
    """What stands before a command in a Slurm job: the nodes that the executor has taken from it."""
    if "SLURM_JOB_ID" not in os.environ:
        return ""
    from analysis.measure.workflow import node_list

    return node_list(os.environ)


# Jobs use the interpreter that runs Snakemake, activated or not, here or on a node. A prefix of ours takes the
# place of Snakemake's own, by which a command that fails in a pipe fails its job: so it is given again.
BIN = shlex.quote(str(Path(sys.executable).parent))
shell.prefix(f'set -euo pipefail; export PATH={BIN}:"$PATH"; {given_back()}')


wildcard_constraints:
    campaign=NAME,
    report=NAME,
    page=NAME,


def check_config(config):
    try:
        contents.complete(config, BASE, BASE / BUILD)
    except BenchbookError as error:
        raise WorkflowError(str(error)) from None


def start_pages():
    """Start the process that stages are forked from; it ends with Snakemake."""
    if MEASURED:
        return  # nothing else is to run beside a measurement
    if workflow.is_main_process and workflow.local_exec:
        AT_END.enter_context(start())


# ---- The rooms of the package that a stage can reach; a test holds these lists against the imports.
READ = ("base", "schema", "readers", "energy", "model", "datasets")
JUDGE = (*READ, "estimates", "claims")


def code_of(*rooms):
    """Digest the files of rooms, or modules, of the package.

    As a parameter of a rule it makes what the rule has built out of date when any of them changes, as
    hundreds of input files would.
    """
    digest = hashlib.sha256()
    for room in (*rooms, "cli/stages.py"):
        digest.update(digest_of(room))
    return digest.hexdigest()


@functools.cache
def digest_of(room):
    digest = hashlib.sha256()
    for path in files_of(PACKAGE / room):
        content = path.read_bytes()
        digest.update(f"{path}\0{len(content)}\0".encode() + content)
    return digest.digest()


def files_of(room):
    """List the files of a room or a module; what executes notebooks is a room inside the site's."""
    if room.is_file():
        return [room]
    out = {"__pycache__"} | ({"kernels"} if room.name == "site" else set())
    found = (path for path in room.rglob("*") if path.is_file())
    return sorted(path for path in found if not out & set(path.relative_to(room).parts))


# ---- Names.
def tree(campaign):
    return project.processed(campaign, Path()) / "campaign.nc"


def declaration(campaign):
    return project.declaration(campaign, Path())


def all_verdicts():
    """What every campaign says of the reports, and what the reports say of themselves (audit)."""
    names = {name for report in config["reports"] for name in speakers(report)}
    return [f"{RESULTS}/verdicts/{name}.json" for name in sorted(names)]


def speakers(report):
    """The campaigns that a report's claims are evaluated on, and its audit if it has one."""
    audited = Path(f"config/audit/{report}.yaml").is_file() and not SELFTEST
    return [*config["reports"][report], *(["audit"] if audited else [])]


def claims_on(wildcards):
    """The claims that a campaign, or the audit, is asked for."""
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
    """What a page's claims say, and what its campaigns stand for."""
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
    """What follows from the campaigns' records makes the scoreboard and the site out of date."""
    keys = ("campaigns", "reports", "pages", "left_out")
    text = json.dumps({key: config[key] for key in keys}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def notebook_campaigns():
    """The campaigns that the notebooks name in their cells of parameters."""
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
    """What a page's entry names is what its notebook is given."""
    entry = page(wildcards)
    keys = ("campaign", "campaigns", "report", "reports", "topics")
    given = {key: entry[key] for key in keys if key in entry}
    return json.dumps({**given, **entry["parameters"]}, sort_keys=True)


def page_derived(wildcards):
    """A page that nobody has asked for says what its runs cannot tell, and is no failure."""
    return "--derived=yes" if page(wildcards).get("derived") else ""


def raw_files(wildcards):
    """A campaign's raw files; what a synthetic one consists of is not known before it is built."""
    folder = project.raw(wildcards.campaign, Path())
    if modelled(wildcards.campaign):
        return sorted(Path("config/model").rglob("*.yaml"))
    if synthetic(wildcards.campaign):
        return [folder / "sacct.txt", folder / "README.md", folder / "runs"]
    return sorted(path for path in folder.rglob("*") if path.is_file())


def modelled(campaign):
    return bool(project.load_yaml(project.declaration(campaign, Path())).get("model"))


def synthetic(campaign):
    return campaign.startswith("syn-") and project.truth(campaign, Path()).is_file()


def asked(wildcards):
    """What verdicts rest on beside the claims: a campaign, or the reports' own statements."""
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

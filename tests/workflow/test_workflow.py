"""The real workflow on a small project: what it builds, and what it leaves alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import nbformat
import pytest
import yaml

from analysis.base import project

from .conftest import CONFIG, ROOT, run_snakemake

NOTHING = "Nothing to be done"


def planned(base: Path, *arguments: str) -> Counter[str]:
    """Count the jobs of a dry run by rule, with the wildcard's value."""
    done = run_snakemake(base, "-n", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    text = done.stdout + done.stderr
    jobs: Counter[str] = Counter()
    for block in re.split(r"\n(?=rule )", text)[1:]:
        wildcards = re.search(r"wildcards: (.*)", block)
        rule = re.match(r"rule (\w+)", block)
        assert rule
        jobs[f"{rule[1]} {wildcards[1] if wildcards else ''}".strip()] += 1
    assert bool(jobs) != (NOTHING in text)
    return jobs


def test_workflow__builds_the_site_from_raw_files(built: Path) -> None:
    results = built / "results"
    pages = {path.name for path in (results / "site").glob("*.html")}
    assert pages == {"index.html", "provenance.html", "report-hpcg2014.html", "first.html", "second.html"}
    title = "<h1>Which conclusions of HPC benchmark reports hold?</h1>"
    assert title in (results / "site/index.html").read_text()
    # Three and two runs were laid into the raw folders.
    for name, said in (("first", "one hpcg2014 3 runs\n"), ("second", "two hpcg2014 2 runs\n")):
        page = nbformat.read(results / f"notebooks/{name}.ipynb", as_version=4)
        (cell,) = [cell for cell in page.cells if "verdicts" in cell.metadata.get("tags", [])]
        assert cell.outputs[0].text == said
    assert (results / "figures/first.svg").read_text().startswith("<svg")
    assert not (results / "figures/second.svg").exists()  # its entry says figure: false


def test_workflow__links_verdicts_to_the_page_of_their_topic(built: Path) -> None:
    verdicts = json.loads((built / "results/verdicts.json").read_text())
    pages = {(one["campaign"], one["topic"]): one["page"] for one in verdicts}
    assert pages["one", "problem size"] == "first"
    assert pages["one", "interconnect"] is None
    assert pages["two", "problem size"] is None  # the second page names no topic
    claims = yaml.safe_load((ROOT / "config/claims/hpcg2014.yaml").read_text())["claims"]
    assert len(verdicts) == 2 * len(claims)
    # As the configuration names them, whatever the names of their files.
    assert list(dict.fromkeys(one["campaign"] for one in verdicts)) == ["two", "one"]


@pytest.mark.slow
def test_workflow__does_nothing_the_second_time(built: Path) -> None:
    assert planned(built) == {}
    assert not (built / ".snakemake/pages.sock").exists()  # the server ended with the build


@pytest.mark.slow
def test_make__builds_through_a_script_that_ends_as_snakemake_does(built: Path) -> None:
    def status(*arguments: str) -> int:
        command = [sys.executable, "workflow/scripts/snakemake_local.py", "--cores", "1", *arguments]
        environment = os.environ | {"PYTHONPATH": str(built / "src")}
        return subprocess.run(command, cwd=built, env=environment, capture_output=True).returncode

    assert status("--quiet", "all") == 0
    assert status("no-such-target") == 1
    assert status("--no-such-option") == 2
    assert not (built / ".snakemake/pages.sock").exists()
    assert planned(built) == {}


@pytest.mark.slow
def test_workflow__ignores_a_new_date_on_an_old_file(built: Path) -> None:
    os.utime(built / "data/raw/one/runs/001/run.json")
    os.utime(built / "src/analysis/readers/hpcg.py")
    assert planned(built) == {}


BUILT = {"ingest", "verdicts", "page", "page_without_figure", "collect", "site", "all"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "jobs"),
    [
        ("readers/osu.py", BUILT),
        ("claims/audit.py", BUILT - {"ingest"}),
        ("pages/notebook.py", {"page", "page_without_figure", "site", "all"}),
        ("site/templates/page.html.j2", {"site", "all"}),
        ("measure/power/sampler.py", {"site", "all"}),  # the front page has prices of campaigns
        ("importing/plan.py", set()),
    ],
)
def test_workflow__a_changed_module_rebuilds_what_it_can_reach(
    built: Path, changed: str, jobs: set[str]
) -> None:
    path = built / "src/analysis" / changed
    before = path.read_text()
    path.write_text(before + "\n")
    found = planned(built)
    path.write_text(before)
    assert {job.split()[0] for job in found} == jobs


@pytest.mark.slow
@pytest.mark.parametrize("change", ["changed", "added", "removed"])
def test_workflow__rebuilds_one_campaign_when_its_raw_files_change(built: Path, change: str) -> None:
    path = built / "data/raw/two/runs/023/run.json"
    before = path.read_text()
    if change == "changed":
        path.write_text(before.replace('"exit_code": 0', '"exit_code": 1'))
        assert path.read_text() != before
    elif change == "added":
        (path.parent / "more.txt").write_text("more")
    else:
        path.unlink()
    jobs = planned(built)
    path.write_text(before)
    (path.parent / "more.txt").unlink(missing_ok=True)
    assert planned(built) == {}
    rebuilt = {"ingest campaign=two", "verdicts campaign=two", "page_without_figure page=second", "site"}
    assert jobs.keys() >= rebuilt
    assert not [job for job in jobs if "campaign=one" in job or "page=first" in job]


@pytest.mark.slow
def test_workflow__one_more_campaign_builds_only_its_own(built: Path) -> None:
    shutil.copytree(built / "data/raw/two", built / "data/raw/three")
    shutil.copy(built / "config/campaigns/two.yaml", built / "config/campaigns/three.yaml")
    more = CONFIG.replace("two]", "two, three]").replace("[two,", "[two, three,") + (
        "  - { name: third, notebook: plain.ipynb, campaign: three, report: hpcg2014 }\n"
    )
    (built / "config/config.yaml").write_text(more)
    jobs = planned(built)
    (built / "config/config.yaml").write_text(CONFIG)
    shutil.rmtree(built / "data/raw/three")
    assert sorted(job.split()[0] for job in jobs) == sorted(
        ["ingest", "verdicts", "page", "collect", "site", "all"]
    )
    assert {"ingest campaign=three", "page page=third"} <= jobs.keys()
    assert jobs.total() == len(jobs)


@pytest.mark.slow
def test_workflow__an_own_campaign_has_its_pages_without_an_edited_line(built: Path) -> None:
    question = "{ kind: holds, notebook: plain.ipynb, title: What is it?, parameters: { report: hpcg2014 } }"
    (built / "config/questions.yaml").write_text(f"questions:\n  - {question}\n")
    before = planned(built)
    shutil.copytree(built / "data/raw/two", built / "data/raw/three")
    shutil.copy(built / "config/campaigns/two.yaml", built / "config/campaigns/three.yaml")
    jobs = planned(built)
    shutil.rmtree(built / "data/raw/three")
    assert planned(built) == before  # declared, and no run of it is there
    for name in ("config/questions.yaml", "config/campaigns/three.yaml"):
        (built / name).unlink()
    assert planned(built) == {}
    assert {"page page=one-holds", "page page=two-holds", "collect", "site", "all"} == before.keys()
    assert set(jobs) - set(before) == {
        "ingest campaign=three",
        "verdicts campaign=three",
        "page page=three-holds",
    }


@pytest.mark.slow
def test_workflow__names_a_failed_notebook_and_keeps_it(built: Path) -> None:
    path = built / "notebooks/plain.ipynb"
    before = path.read_text()
    path.write_text(before.replace("print(campaign, report,", "print(1 / 0,"))
    done = run_snakemake(built, "--cores", "1", "results/notebooks/first.ipynb")
    path.write_text(before)
    assert done.returncode == 1
    line = "notebooks/plain.ipynb:cell 7: ZeroDivisionError: division by zero; "
    assert line + "what was reached is in results/notebooks/first.failed.ipynb" in done.stderr
    failed = nbformat.read(built / "results/notebooks/first.failed.ipynb", as_version=4)
    assert any(
        "image/svg+xml" in out.get("data", {}) for cell in failed.cells for out in cell.get("outputs", [])
    )
    assert "ZeroDivisionError" in (built / "results/logs/pages/first.log").read_text()
    assert not (built / ".snakemake/pages.sock").exists()


@pytest.mark.slow
def test_workflow__plans_for_slurm_without_slurm(project: Path) -> None:
    # No sbatch, squeue, sacct or sinfo: a laptop on which the profile is only looked at.
    tools = project / "bin"
    tools.mkdir()
    for tool in ("bash", "sh", "env", "which", "git"):
        (tools / tool).symlink_to(shutil.which(tool) or "")
    done = run_snakemake(project, "-n", "--profile", "slurm", path=str(tools))
    assert done.returncode == 0, done.stderr
    assert "ingest" in done.stdout + done.stderr


@pytest.mark.slow
def test_workflow__the_simulation_says_what_to_install(project: Path) -> None:
    tools = project / "bin"
    tools.mkdir()
    for tool in ("bash", "sh", "env", "which", "git"):
        (tools / tool).symlink_to(shutil.which(tool) or "")
    shutil.copy(ROOT / "config/whatif-check.yaml", project / "config")
    shutil.copy(ROOT / "config/campaigns/modelled.yaml", project / "config/campaigns")
    done = run_snakemake(project, "-n", "whatif-check", path=str(tools))
    assert done.returncode == 1
    said = [line for line in (done.stdout + done.stderr).splitlines() if "install SimGrid" in line]
    assert len(said) == 1
    assert "apt-get install libsimgrid-dev" in said[0]
    # The runs of real codes ask for their programs when they start.
    shutil.copy(ROOT / "config/simulation.yaml", project / "config")
    assert run_snakemake(project, "-n", "simulated", path=str(tools)).returncode == 0
    # The report does not ask for it.
    assert run_snakemake(project, "-n", path=str(tools)).returncode == 0


def test_workflow__profile_names_executor_and_survives_a_cancelled_job() -> None:
    profile = yaml.safe_load((ROOT / "slurm/config.yaml").read_text())
    assert profile["executor"] == "slurm"
    assert profile["slurm-status-command"] == "squeue"
    assert profile["slurm-status-attempts"] > 1000
    assert profile["slurm-keep-successful-logs"] is True
    # A default profile would override the one that is asked for.
    assert not (ROOT / "workflow/profiles").exists()


def test_workflow__every_rule_has_a_log_and_the_snakefile_is_short() -> None:
    assert len((ROOT / "workflow/Snakefile").read_text().splitlines()) < 40
    rules = 0
    for path in (ROOT / "workflow/rules").glob("*.smk"):
        for block in re.split(r"\n(?=rule )", path.read_text())[1:]:
            block = block.split("\nuse rule ")[0]
            if "shell:" in block:
                rules += 1
                assert re.search(r"\n    log:\n", block), block
                assert re.search(r"\n    threads:", block), block
                assert re.search(r"\n    input:\n        \w+=", block), block
    assert rules == 13


@pytest.mark.slow
def test_workflow__lint_finds_nothing(project: Path) -> None:
    done = run_snakemake(project, "--lint")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_workflow__names_the_line_of_a_wrong_configuration(project: Path) -> None:
    (project / "config/config.yaml").write_text(CONFIG.replace("campaign: two", "campaign: tow"))
    done = run_snakemake(project, "-n")
    assert done.returncode == 1
    assert (
        "config/config.yaml:6: unknown campaign 'tow'; is 'two' meant? known: one, two"
        in done.stdout + done.stderr
    )
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.slow
def test_make__shows_one_line_of_progress_and_the_whole_fault(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(
        'rule all:\n    input: "a", "b"\n'
        'rule a:\n    output: "a"\n    log: "a.log"\n    shell: "echo what went wrong > {log}; exit 3"\n'
        'rule b:\n    output: "b"\n    shell: "touch b"\n'
    )
    script = Path(__file__).parents[2] / "workflow" / "scripts" / "snakemake_local.py"
    command = [sys.executable, str(script), "--cores", "1", "--one-line", "--show-failed-logs"]
    good = subprocess.run([*command, "b"], cwd=tmp_path, capture_output=True, text=True)
    assert (good.returncode, good.stdout, good.stderr) == (0, "", "1 of 1 steps\n")
    # Only a build that says it is whole is noted, whatever its last argument is.
    stamp = tmp_path / project.STAMP
    subprocess.run([*command, "b", "--rerun-incomplete"], cwd=tmp_path, capture_output=True, check=True)
    assert not stamp.exists()
    subprocess.run([*command, "--whole", "b"], cwd=tmp_path, capture_output=True, check=True)
    assert stamp.is_file()
    bad = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert bad.returncode == 1
    assert "what went wrong" in bad.stderr
    assert "Job stats" not in bad.stderr

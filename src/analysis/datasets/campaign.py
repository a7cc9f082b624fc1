"""A campaign: all its runs, joined with Slurm's records, as one tree."""

import contextlib
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from analysis import readers
from analysis.base import models, project, slurm
from analysis.base.errors import ConfigError, Fault, sparing
from analysis.base.files import RECORD, one_line, printable, replacing
from analysis.base.processes import in_parallel
from analysis.base.words import counted
from analysis.datasets.applications import load_applications
from analysis.datasets.contradictions import slurm_contradictions, within
from analysis.datasets.fragments import Fragments, alone, checksum_of, reader_digest, signature, state_of
from analysis.datasets.labels import LabelledRun, doubtful
from analysis.datasets.micro import cut_tables
from analysis.datasets.published import is_published, read_published
from analysis.datasets.run import RunFolder, file_entry, read_run
from analysis.datasets.tables import OF_RUNS, RunTables
from analysis.energy.attribution import attribute
from analysis.energy.meters import Log, declared_power, read_logs
from analysis.model.campaign import modelled
from analysis.schema import registry, storage
from analysis.schema.applications import Application
from analysis.schema.campaigns import CampaignFile
from analysis.schema.registry import Columns, to_dataset
from analysis.schema.stated import IMPORTED, further, job_of, noted_by_job, restarts

TABLES = ("calls", "messages", "ranks", "matrix", "micro", "files", "meters")


@dataclass(frozen=True, slots=True)
class Summary:
    """The counts of an ingest."""

    campaign: str
    runs: int
    valid: int
    faults: int

    def __str__(self) -> str:
        faults = f"{counted(self.faults, 'fault')} in their files"
        return f"{self.campaign}: {counted(self.runs, 'run')}, {self.valid} valid, {faults}"


def ingest(raw: Path, processed: Path, *, progress: bool = False, declaration: Path | None = None) -> Summary:
    """Read a raw campaign and write its datasets, with a bar on standard error for `progress`.

    `raw` (``data/raw/<campaign>``) has ``runs/<run>/run.json`` and Slurm's records next to the runs; or
    published tables instead. `processed` gets ``campaign.nc`` (groups `TABLES`, of published figures
    ``figures`` too) and ``runs/<run>.nc`` (groups ``profile result``) for each profiled run. `declaration`
    says under ``power`` which meter feeds which node; by default ``config/campaigns/<campaign>.yaml``, if it
    is there. ConfigError if there is no run at all, or the declaration cannot be used.
    """
    at = declaration or project.declaration(raw.name)
    declared = models.load(CampaignFile, at) if at.is_file() else None
    with alone(processed):
        if declared is not None and declared.model is not None:
            groups, faults = modelled(project.root(), declared.model, raw.name), list[str]()
        elif is_published(raw):
            groups, faults = read_published(raw, at)
        else:
            return _grown(raw, processed, declared_power(raw.name, path=declaration), progress=progress)
        _write_runs({}, processed / "runs")
        return _written(raw, processed, groups, faults)


def _written(raw: Path, processed: Path, groups: dict[str, xr.Dataset], faults: list[str]) -> Summary:
    blank = {kind: to_dataset([], kind) for kind in TABLES if kind not in groups}
    ordered = {kind: (blank | groups)[kind] for kind in dict.fromkeys(("runs", *TABLES, *groups))}
    storage.write_tree(ordered, processed / "campaign.nc", {"campaign": raw.name, "faults": faults})
    valid = groups["runs"]["valid"].values
    return Summary(raw.name, valid.size, int(valid.sum()), len(faults))


def _grown(raw: Path, processed: Path, power: Mapping[str, Any], *, progress: bool) -> Summary:
    """Read the runs that are new or have changed, take all others from the store, and write the datasets.

    If nothing has changed, the files are what they were.
    """
    folders = {printable(path.name): path for path in _folders(raw)}
    applications = load_applications(project.root() / "config" / "applications")
    reader = reader_digest(applications, power)
    with contextlib.closing(Fragments(processed, reader)) as store:
        # Before anything is read: what changes meanwhile is read again the next time.
        states = {name: signature(path) for name, path in folders.items()}
        beside = checksum_of(_beside(raw).items())
        known = store.find(folders, states)
        state = state_of(reader, raw.name, known, beside) if len(known) == len(folders) else ""
        if state and (kept := store.campaign(state)) is not None:
            _write_runs(
                {run: partial(_copied, store, run) for run in store.profiled(known)}, processed / "runs"
            )
            _write(kept[1], processed / "campaign.nc")
            return Summary(*kept[0])
        before = store.tables(known) if known else None
        fresh = {name: path for name, path in folders.items() if before is None or name not in known}
        read = read_folders(list(fresh.values()), applications, power, progress=progress)
        profiled = {run.row["run"]: run.datasets for run in read if "profile" in run.datasets}
        profiles: dict[str, Callable[[Path], None]] = {
            run: partial(storage.write_tree, dict(sorted(each.items()))) for run, each in profiled.items()
        }
        profiles |= {run: partial(_copied, store, run) for run in store.profiled(known) if run not in fresh}
        _write_runs(profiles, processed / "runs")
        del profiles  # a large profile takes memory that the tables need
        for each in profiled.values():
            each.clear()
        tables = RunTables.of(read)
        tables = tables.joined(before, list(folders)) if before is not None else tables
        del read
        if fresh or store.runs() != folders.keys():
            own = {run: processed / "runs" / f"{run}.nc" for run in profiled}
            store.keep(tables, {run: (states[run], own.get(run)) for run in fresh})
        summary = _written(raw, processed, *_tables(raw, tables, power))
        known = dict(zip(tables.names, tables.columns["runs"]["checksum"], strict=True))
        if state := state_of(reader, raw.name, known, beside):
            store.keep_campaign(state, astuple(summary), processed / "campaign.nc")
    return summary


def _folders(raw: Path) -> list[Path]:
    folders: list[Path] = []
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        names = sorted(entry.name for entry in os.scandir(raw / "runs") if entry.is_dir())
        folders = [raw / "runs" / name for name in names]
    if not folders:
        raise ConfigError.at(f"{raw}/runs", 0, "holds no run", "each run is a folder with a run.json")
    return folders


@dataclass
class Joined:
    """The runs of a campaign with what lies next to them, and their rows complete.

    `accounts` has Slurm's records by file, `counted` the J of its counter by run, `contradicted` the runs
    that its records contradict; `faults` are those of files next to the runs, `power` those of its logs.
    """

    runs: list[RunFolder]
    files: pd.DataFrame
    meters: pd.DataFrame
    accounts: dict[str, pd.DataFrame]
    counted: dict[str, float]
    contradicted: dict[str, str]
    logs: list[Log]
    faults: list[str]
    power: list[str]


def join(raw: Path, found: list[RunFolder], power: Mapping[str, Any]) -> Joined:
    """Complete the rows of a campaign's runs by the files next to them: jobs, energy, validity."""
    accounts, files, faults = _read_records(raw)
    rows = [run.row for run in found]
    plain = cache(one_line)  # most texts are those of other runs too
    texts = [name for name, one in registry.declared("runs").items() if one.dtype == "str" and name != "run"]
    for row in (*rows, *(other for run in found for other in run.repeats)):
        row |= {name: plain(row[name]) for name in texts if isinstance(row.get(name), str)}
    before = {row["run"]: row["reason"] for row in rows}
    noted = {str(run.row["run"]): noted_by_job(run.extra, run.row) for run in found}
    counted = _join_records(rows, accounts, _to_the_second(found), noted)
    after = {row["run"]: row["reason"] for row in rows if row["reason"] != before[row["run"]]}
    logs, power_faults = read_logs(raw, files, power, rows)
    energies, meters = attribute(rows, [run.energy for run in found], counted, logs)
    for row, energy in zip(rows, energies, strict=True):
        row |= energy.columns()
        if row["campaign"] not in ("", raw.name):
            what = f"says campaign {row['campaign']!r}, but it lies in the campaign {raw.name!r}"
            faults.append(str(Fault(f"{row['run']}/{RECORD}", 0, what, "put the run where it belongs")))
            row["reason"] = f"its record names another campaign, {row['campaign']!r}"
        row["campaign"] = row["campaign"] or raw.name
        row["reason"] = row["reason"] or _slurm_reason(row)
        row["valid"] = not row["reason"]
    by_run = dict(zip((row["run"] for row in rows), counted, strict=True))
    return Joined(found, files, meters, accounts, by_run, after, logs, faults, power_faults)


def cut(runs: Iterable[RunFolder], micro: Mapping[str, Columns]) -> list[Fault]:
    """Find the tables of sizes of valid runs that lack rows which others of their cell have."""
    valid = (run for run in runs if run.row["valid"])
    found = (
        (run.row, micro[name], run.sources["result"]) for run in valid if (name := run.row["run"]) in micro
    )
    return list(cut_tables(found))


def doubtful_labels(runs: Iterable[RunFolder], micro: Mapping[str, Columns]) -> list[Fault]:
    """Find valid runs whose labels look wrong by their launch line or by their figures."""
    valid = (run for run in runs if run.row["valid"])
    return list(doubtful([LabelledRun.of(run.row, micro.get(run.row["run"]), run.extra) for run in valid]))


def _tables(
    raw: Path, tables: RunTables, power: Mapping[str, Any]
) -> tuple[dict[str, xr.Dataset], list[str]]:
    """Join the runs with the files next to them; return the campaign's tables and all faults."""
    found, micro = tables.runs(), tables.micro()
    joined = join(raw, found, power)
    rows = [run.row for run in found]
    faults = [*joined.faults, *map(str, cut(found, micro)), *map(str, doubtful_labels(found, micro))]
    faults += _add_repeats(rows, found)
    beside = registry.columns([joined.files], "files")
    files = {name: np.concatenate([own, beside[name]]) for name, own in tables.columns["files"].items()}
    stated = _facts(found)
    groups = {"runs": registry.of_columns(registry.columns_of(rows, "runs"), "runs")}
    groups |= {kind: registry.of_columns(tables.columns[kind], kind) for kind in OF_RUNS}
    groups |= {"files": registry.of_columns(files, "files"), "meters": to_dataset([joined.meters], "meters")}
    groups |= {"facts": to_dataset([stated], "facts")} if len(stated) else {}
    whole = (*(fault for run in found for fault in run.faults), *faults, *joined.power)
    return groups, [printable(fault) for fault in whole]


def _facts(found: Iterable[RunFolder]) -> pd.DataFrame:
    """Return what the records of runs state beside their columns, in long form, if it differs.

    A name in which each run has its own level, such as a number of a job, divides none from others.
    """
    by_run = {str(run.row["run"]): further(run.extra) for run in found}
    names = sorted({name for facts in by_run.values() for name in facts})
    levels = {name: [facts.get(name, "") for facts in by_run.values()] for name in names}
    kept = {name: each for name, each in levels.items() if 1 < len(set(each)) < len(each)}
    rows = [(run, name, one) for name, each in kept.items() for run, one in zip(by_run, each, strict=True)]
    return pd.DataFrame(rows, columns=["run", "fact", "level"])


def _add_repeats(rows: list[dict[str, Any]], found: list[RunFolder]) -> list[str]:
    """Add a row for each further execution in a run's job; times and energy of the whole job are of none."""
    faults = []
    number = max(row["repeat"] for row in rows)
    for row, run in zip(rows[:], found, strict=True):
        if not run.repeats:
            continue
        whole = [
            name for name in row if name.startswith(("elapsed", "energy")) and isinstance(row[name], float)
        ]
        row |= dict.fromkeys(whole, np.nan) | {"energy_reason": "its job ran the program several times"}
        for at, other in enumerate(run.repeats, 2):
            number += 1
            added = row | other | {"run": f"{row['run']}.{at}", "repeat": number}
            added["reason"] = added["reason"] or _slurm_reason(row)
            rows.append(added | {"valid": not added["reason"]})
        what = f"{row['run']}: its job left {1 + len(run.repeats)} results; each is a repeat"
        faults.append(f"{what}; elapsed time and energy cover all of them and are left blank")
    return faults


def read_runs(
    raw: Path, power: Mapping[str, Any], *, progress: bool, witnessed: bool = False
) -> list[RunFolder]:
    """Read the runs of a raw campaign, of many in a process for each core, or by workers of Dask.

    These read where ``BENCHBOOK_DASK`` names them, see `analysis.base.processes`.
    """
    applications = load_applications(project.root() / "config" / "applications")
    return read_folders(_folders(raw), applications, power, progress=progress, witnessed=witnessed)


def read_folders(
    folders: Sequence[Path],
    applications: Mapping[str, Application],
    power: Mapping[str, Any],
    *,
    progress: bool,
    witnessed: bool = False,
) -> list[RunFolder]:
    """Read the folders of runs, see `read_runs`."""
    work = partial(read_run, applications=applications, power=power, witnessed=witnessed)
    return in_parallel(work, folders, "runs read:", progress=progress)


def _read_records(raw: Path) -> tuple[dict[str, pd.DataFrame], pd.DataFrame, list[str]]:
    """Read Slurm's records and fingerprint every file next to the runs."""
    frames, files, faults = dict[str, pd.DataFrame](), list[dict[str, Any]](), list[str]()
    for name, path in _beside(raw).items():
        entry, content = file_entry(path, name)
        with sparing(name) as refused:
            data = content()
            engines = readers.engines_of(data, path.name)
            entry["engine"] = next(filter(readers.is_power, engines), "")
            if "sacct" in engines:
                ds = readers.parse(data, path.name, engine="sacct")
                entry |= {"engine": "sacct", "complete": bool(ds.attrs["complete"])}
                faults += ds.attrs["warnings"]
                frames[name] = ds.to_dataframe()
        entry["complete"] &= not refused
        faults += map(str, refused)
        files.append(entry)
    return frames, pd.DataFrame(files), faults


def _beside(raw: Path) -> dict[str, Path]:
    """List the files next to the runs, by their names in the campaign."""
    tops = [path for path in raw.iterdir() if path.name != "runs"]
    found = sorted(path for top in tops for path in (top, *top.rglob("*")) if path.is_file())
    return {printable(str(path.relative_to(raw))): path for path in found}


def _jobs_and_steps(accounts: Mapping[str, pd.DataFrame]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Put the records of all files together: of each job and step the last start, then those before it."""
    records = pd.concat(accounts.values(), ignore_index=True) if accounts else pd.DataFrame()
    if records.empty:
        return records, records
    # A cluster without a meter accounts 0 J to every job; that is no measurement.
    if not (records["energy"] > 0).any():
        records["energy"] = np.nan
    records = records.drop_duplicates(["job_id", "step", "start"])
    # A job that Slurm started again has rows of its earlier start behind those of the last one.
    began = records[records["step"] == ""].drop_duplicates("job_id").set_index("job_id")["start"]
    last = ~(records["start"] < pd.to_datetime(records["job_id"].map(began)))
    last &= ~records.duplicated(["job_id", "step"])
    return records[last], records[~last]


def _to_the_second(found: Sequence[RunFolder]) -> dict[str, bool]:
    """Return the runs that may be compared with their job, and of each whether to the second.

    Slurm dates a job that it started again by the last start. An imported run may have another clock.
    """
    again = {job_of(run.row) for run in found if restarts(run.extra) != "0"}
    return {
        str(run.row["run"]): IMPORTED not in run.extra and int(run.row["exit_code"]) == 0
        for run in found
        if job_of(run.row) == run.row["job_id"] or job_of(run.row) not in again
    }


def _join_records(
    rows: list[dict[str, Any]],
    accounts: Mapping[str, pd.DataFrame],
    exact: Mapping[str, bool],
    noted: Mapping[str, Mapping[str, Any]],
) -> list[float]:
    """Add Slurm's records of the runs to their rows; return the energies that it counted, J."""
    records, earlier = _jobs_and_steps(accounts)
    if records.empty:
        return [np.nan] * len(rows)
    known = {name: last for name, (last, *_) in _starts(records).items()}
    steps = records[(records["step"] != "") & records["memory_max"].notna()]
    nodes = steps.groupby(["job_id", "node_list"])["memory_max"].sum()
    memory = nodes.groupby("job_id").max().to_dict()
    before, counted, joined = _starts(earlier), [], []
    for row in rows:
        name = str(row["job_id"])
        job = own = known.get(name)
        if job is not None and not slurm.terminal(job["state"] or "COMPLETED"):
            own = None  # it was asked for while the job ran
        elif job is not None and name in before and not within(row, job):
            # Another start of the job has made the run: what the last one took is not the run's.
            own = next((start for start in before[name] if within(row, start)), None)
        row["node_memory_slurm"] = memory.get(name, np.nan) if own is job else np.nan
        if row["run"] in exact and (its := own or known.get(job_of(row))):
            joined.append((row, its))
        if job is not None:
            row |= {"elapsed_slurm": own["elapsed"] if own else np.nan, "state": job["state"]}
        counted.append(float(own["energy"]) if own else np.nan)
    sure = {run for run, whether in exact.items() if whether}
    for (row, _), reason in zip(joined, slurm_contradictions(joined, sure, noted), strict=True):
        row["reason"] = row["reason"] or reason
    return counted


def _starts(records: pd.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of jobs, without those of steps, by the number of the job."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    if len(records):
        for row in records[records["step"] == ""].to_dict("records"):
            found[row["job_id"]].append({str(name): value for name, value in row.items()})
    return found


def _slurm_reason(row: dict[str, Any]) -> str:
    """Say that a run's job has not ended well by Slurm; empty if it has, or if Slurm has no word of an end.

    A controller that is killed can forget a job's end: the job runs for ever in its books, and a record with
    exit status 0 and an end of its own has more to say.
    """
    state = row["state"]
    open_ = not slurm.terminal(state) and row["exit_code"] == 0 and not np.isnat(row["end"])
    return "" if state in ("", "COMPLETED") or open_ else f"Slurm says {state}"


def _write_runs(wanted: Mapping[str, Callable[[Path], None]], folder: Path) -> None:
    """Write one file for each profiled run, and remove those of runs that are gone.

    The campaign's tables hold everything of other runs; a file each would cost more than reading the raw one
    again.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for stale in {p.name for p in folder.iterdir()} - {f"{run}.nc" for run in wanted}:
        path = folder / stale
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for run, write in wanted.items():
        write(folder / f"{run}.nc")


def _copied(store: Fragments, run: str, path: Path) -> None:
    """Write a run's file as it was written before."""
    if (content := store.profile(run)) is not None:
        _write(content, path)


def _write(content: bytes, path: Path) -> None:
    with replacing(path) as beside:
        beside.write_bytes(content)

"""Facts by hand, ``--table``: a CSV with a row per file, folder or job, and a column per factor or option."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field

from analysis.base.errors import ConfigError, Fault
from analysis.base.files import stored
from analysis.base.words import meant
from analysis.importing.pattern import FACTORS, parse_value
from analysis.importing.runfiles import RunFiles
from analysis.importing.vocabulary import Value
from analysis.schema.factors import ALIASES

_FILES, _JOBS = ("file", "path", "folder", "output"), ("job", "jobid", "job_id")


@dataclass
class FactTable:
    """The rows of a table by file, folder or job: factors, options, and the lines that runs have used."""

    source: str
    rows: dict[tuple[str, str], tuple[int, dict[str, Value], dict[str, str]]] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)

    def facts(self, run: RunFiles) -> tuple[Mapping[str, Value], Mapping[str, str]]:
        """Return the factors and options of a run: its file's row, its folder's, its job's."""
        name = run.main.file.name
        folders = name.split("/")[:-1]
        paths = [name, run.main.file.base, *("/".join(folders[:at]) for at in range(len(folders), 0, -1))]
        keys = [*(("file", path) for path in paths), ("job", run.job)]
        factors: dict[str, Value] = {}
        options: dict[str, str] = {}
        for line, given, settings in (self.rows[key] for key in keys if key in self.rows):
            self.used.add(line)
            factors, options = given | factors, settings | options
        return factors, options

    def unused(self) -> list[str]:
        """Return a line on the rows that no run has used."""
        lone = [
            f"{key!r} (line {line})" for (_, key), (line, *_) in self.rows.items() if line not in self.used
        ]
        more = f" and {len(lone) - 3} more" if len(lone) > 3 else ""
        return [f"{self.source}: no run has {', '.join(lone[:3])}{more}"] if lone else []


def read_table(path: str) -> FactTable:
    """Read a table; ConfigError with one fault for each line that cannot be used."""
    try:
        text = stored(path).decode("utf-8-sig")
        head = text.partition("\n")[0]
        rows = list(csv.reader(text.splitlines(), delimiter=max(",;\t", key=head.count)))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = "is no text in UTF-8" if isinstance(error, UnicodeDecodeError) else f"is no CSV ({error})"
        why = error.strerror or why if isinstance(error, OSError) else why
        raise ConfigError.at(path, 0, why, "give a CSV file") from None
    heads = [_column(cell.strip(), path) for cell in rows[0]] if rows else []
    keys = [at for at, name in enumerate(heads) if name in ("file", "job")]
    if not keys:
        raise ConfigError.at(path, 1, "has no column file or job", "add one: it identifies the run of a row")
    table, faults = FactTable(path), []
    for line, cells in enumerate(rows[1:], 2):
        try:
            _add(
                table, line, dict(zip(heads, (cell.strip() for cell in cells), strict=True)) if cells else {}
            )
        except ValueError as error:
            remedy = f"give as many cells as headings ({len(heads)}), numbers for counts, each row once"
            faults.append(Fault(path, line, str(error) or "cannot be read", remedy))
    if faults:
        raise ConfigError(*faults)
    return table


def _column(name: str, path: str) -> str:
    """Return the factor, the key or the option that a heading names."""
    plain = name.lower().replace(" ", "_")
    if plain in _FILES or plain in _JOBS:
        return "file" if plain in _FILES else "job"
    known = ALIASES.get(plain, plain)
    if known in FACTORS:
        return known
    if near := meant(plain, FACTORS, 0.8):
        raise ConfigError.at(path, 1, f"{name!r} is no factor", near)
    return name  # an option


def _add(table: FactTable, line: int, row: Mapping[str, str]) -> None:
    key = next(((kind, row[kind].strip("/")) for kind in ("file", "job") if row.get(kind)), None)
    given = {name: text for name, text in row.items() if text and name not in ("file", "job")}
    if key is None or not given:
        return  # nothing is stated
    if key in table.rows:
        raise ValueError(f"{key[1]!r} has a row already")
    factors: dict[str, Value] = {}
    for name in (one for one in given if one in FACTORS):
        try:
            factors[name] = parse_value(name, given[name])
        except ValueError:
            raise ValueError(f"{given[name]!r} is no number of {name}") from None
    table.rows[key] = (line, factors, {name: text for name, text in given.items() if name not in FACTORS})

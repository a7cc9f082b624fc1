"""``python -m analysis.cli.reference``: the schemas and ``docs/reference/``, made from declarations."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from analysis import readers
from analysis.base import project
from analysis.base.models import Model, schema_of
from analysis.claims.model import ClaimsFile
from analysis.claims.relations import AuditFile
from analysis.cli import command_names, help_of
from analysis.datasets.witnesses import REGISTRY
from analysis.estimates import contents
from analysis.estimates.asking import QuestionsFile
from analysis.estimates.measures import MEASURES, SETS
from analysis.estimates.quantities import QUANTITIES
from analysis.measure.declare import ClusterFile
from analysis.measure.power.config import PowerPart
from analysis.schema import profiles
from analysis.schema.applications import Application
from analysis.schema.campaigns import CampaignFile
from analysis.schema.records import RunRecord
from analysis.synthesis.truth import Truth

# Name of the schema -> model and the files that follow it.
MODELS: dict[str, tuple[type[Model], str]] = {
    "config": (contents.ConfigFile, "config/config.yaml"),
    "questions": (QuestionsFile, "config/questions.yaml"),
    "campaign": (CampaignFile, "config/campaigns/*.yaml"),
    "cluster": (ClusterFile, "config/clusters/*.yaml"),
    "power": (PowerPart, "config/clusters/*.yaml, part `power`"),
    "application": (Application, "config/applications/*.yaml"),
    "claims": (ClaimsFile, "config/claims/*.yaml"),
    "audit": (AuditFile, "config/audit/*.yaml"),
    "synthesis": (Truth, "config/synthesis/*.yaml"),
    "run": (RunRecord, "data/raw/*/runs/*/run.json"),
}
_MADE = "made by `make schemas`; change what it is made from"


def generated() -> dict[str, str]:
    """Return every generated file: path within the project -> content."""
    schemas = {
        f"workflow/schemas/{name}.schema.yaml": f"# {_MADE}: {model.__module__}.{model.__qualname__}\n"
        + yaml.safe_dump(schema_of(model), sort_keys=False, width=110, allow_unicode=True)
        for name, (model, _) in MODELS.items()
    }
    pages = {
        "configuration": _configuration(), "engines": _engines(), "variables": _variables(),
        "measures": _measures(), "quantities": _quantities(), "witnesses": _witnesses(),
        "commands": _commands(),
    }  # fmt: skip
    return schemas | {f"docs/reference/{name}.md": text for name, text in pages.items()}


def main() -> int:
    """Write the generated files into the project."""
    for name, text in generated().items():
        path = project.root() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


def _commands() -> str:
    """Describe every command with its arguments, options and examples, as ``--help`` does."""
    width = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "100"  # of a terminal, which argparse fits its text to
    try:
        parts = [f"```text\n{help_of('')}```"]
        parts += [f"## benchbook {name}\n\n```text\n{help_of(name)}```" for name in command_names()]
    finally:
        os.environ.pop("COLUMNS")
        os.environ |= {} if width is None else {"COLUMNS": width}
    return _page("The command benchbook", "What `benchbook COMMAND --help` prints.", *parts)


def _page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", f"<!-- {_MADE} -->", *parts]) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def _configuration() -> str:
    parts = []
    for model, files in MODELS.values():
        found = schema_of(model)
        parts.append(f"## {files}")
        for name, part in {"": found, **found.get("$defs", {})}.items():
            if "properties" in part:
                parts += [f"### {name}"] if name else []
                parts += [_sentence(part["description"]), *_together(part), _keys(part, found)]
    return _page("Configuration", *parts)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _keys(part: Mapping[str, Any], whole: Mapping[str, Any]) -> str:
    rows = []
    for key, entry in part["properties"].items():
        named = whole.get("$defs", {}).get(entry.get("$ref", "").rpartition("/")[2], {})
        default = f"`{entry['default']}`" if "default" in entry else ""
        needed = "needed" if key in part.get("required", ()) else default
        rows.append((f"`{key}`", _type(entry), needed, {**named, **entry}.get("description", "")))
    return _table(("key", "value", "default", "meaning"), rows)


def _type(entry: Mapping[str, Any]) -> str:
    """Say what a value may be, in words."""
    if "$ref" in entry:
        name = entry["$ref"].rpartition("/")[2]
        return "anything" if name == "JsonValue" else f"[{name}](#{name.lower()})"
    for several in ("anyOf", "oneOf"):
        if several in entry:
            return " or ".join(dict.fromkeys(map(_type, entry[several])))
    if "enum" in entry or "const" in entry:
        return ", ".join(f"`{each}`" for each in entry.get("enum", [entry.get("const")]))
    kind = entry.get("type", "anything")
    if kind == "array":
        return f"list of {_type(entry.get('items', {}))}"
    if kind == "object":
        values = entry.get("additionalProperties")
        return f"mapping to {_type(values)}" if isinstance(values, dict) else "mapping"
    bounds = [
        f"{word} {entry[key]}"
        for key, word in (("minimum", "from"), ("exclusiveMinimum", "above"), ("maximum", "to"))
        if key in entry
    ]
    return " ".join([{"string": "text", "null": "nothing"}.get(kind, kind), *bounds])


def _together(part: Mapping[str, Any]) -> list[str]:
    """Say which keys go together."""

    def listed(names: Iterable[str]) -> str:
        return ", ".join(f"`{name}`" for name in names)

    said = []
    for rule in part.get("allOf", ()):
        for word, key in (("Exactly", "oneOf"), ("At least", "anyOf")):
            if key in rule:
                said.append(f"{word} one of {listed(each['required'][0] for each in rule[key])}.")
        if "not" in rule:
            said.append(f"At most one of {listed(rule['not']['required'])}.")
        if "if" in rule:
            ((key, levels),) = rule["if"]["properties"].items()
            said.append(f"`{key}` of {', '.join(levels['enum'])} needs `{_path(rule['then'])}`.")
    for key, names in part.get("dependentRequired", {}).items():
        said.append(f"`{key}` needs {listed(names)}.")
    return [" ".join(said)] if said else []


def _path(rule: Mapping[str, Any]) -> str:
    if "required" in rule:
        return str(rule["required"][0])
    ((head, rest),) = rule["properties"].items()
    return f"{head}.{_path(rest)}"


def _first_line(thing: Any) -> str:
    return str(thing.__doc__ or "").strip().partition("\n")[0].replace("``", "`")


def _engines() -> str:
    # Those of other packages are not on this page.
    own = [row for row in readers.rows() if readers.ENGINES[row.engine].startswith("analysis.")]
    formats = [(f"`{row.engine}`", readers.summary(row.engine).replace("``", "`")) for row in own]
    text = 'Each is an engine of xarray too: `xarray.open_dataset(path, engine="hpcg")`.'
    applications = [
        (row.title, f"`{row.application}`", f"`{row.engine}`", figure, row.unit, ", ".join(row.problem))
        for row in sorted(own, key=lambda one: one.title.lower())
        if row.application
        for figure in (f"`{row.figure_of_merit}`" if row.figure_of_merit else "",)
    ]
    heads = ("title", "application", "engine", "figure of merit", "unit", "its problem is")
    about = "What counts for a run of them, unless a file of `config/applications` says otherwise."
    return _page(
        "Engines",
        *(text, _table(("engine", "reads"), formats)),
        *("## Applications", about, _table(heads, applications)),
    )


def _variables() -> str:
    parts = ["Dimensionless numbers have the unit 1, labels none. A variable in brackets may be missing."]
    for kind, variables in profiles.REGISTRY.items():
        rows = [
            (name.format(one.name), ", ".join(one.dims), one.dtype, one.unit, one.meaning)
            for one in variables.values()
            for name in ("`{}`" if one.required else "(`{}`)",)
        ]
        parts += [f"## {kind}", _table(("variable", "dimensions", "type", "unit", "meaning"), rows)]
    return _page("Variables of datasets", *parts)


def _measures() -> str:
    rows = []
    for name, spec in sorted(MEASURES.items()):
        rests = "an MPI profile" if spec.profile else "the run"
        better = "more" if spec.higher_is_better else "less"
        exact = "yes" * spec.exact
        rows.append(
            (f"`{name}`", spec.unit, rests, "yes" * spec.timing, better, exact, _first_line(spec.compute))
        )
    head = ("measure", "unit", "rests on", "on times", "better", "exact", "meaning")
    sets = [(f"`{name}`", _first_line(compute)) for name, compute in sorted(SETS.items())]
    text = (
        "What `variable` of a claim may name; without a unit it is that of the application. "
        "Of an exact one a single run is enough."
    )
    return _page("Measures", text, _table(head, rows), "## Sets", _table(("set", "meaning"), sets))


def _quantities() -> str:
    rows = [(f"`{one.name}`", one.unit, one.meaning) for one in QUANTITIES.values()]
    return _page(
        "Quantities", "What `quantity` of a claim may name.", _table(("quantity", "unit", "meaning"), rows)
    )


def _witnesses() -> str:
    rows = [
        (one.name, *one.sides, one.finds, "a fault" if one.grave else "a note")
        for one in sorted(REGISTRY, key=lambda one: one.name)
    ]
    text = (
        "What `benchbook verify` compares in the runs of a campaign, in addition to checksums, and to each "
        "record with its own output. A side that a campaign does not have is no witness."
    )
    return _page("Witnesses", text, _table(("witness", "compares", "with", "finds", "as"), rows))


if __name__ == "__main__":
    raise SystemExit(main())

"""Configuration declared once: pydantic models, what is wrong with a file by line, schema and reference.

Descriptions of a model are remedies in messages, comments of ``workflow/schemas/`` and text of
``docs/reference/``.
"""

import datetime
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError

from analysis.base.errors import ConfigError, Fault
from analysis.base.words import meant
from analysis.base.yaml import Where, from_here, line_at, read

REFERENCE = "docs/reference/configuration.md"
# So alike, a value or key of a file is asked about, in place of what can be written there; and a name, before
# all that are known.
_ALIKE, _LISTED = 0.7, 0.65
_LONGEST = 200  # characters of a value that a message repeats

T = TypeVar("T")
M = TypeVar("M", bound="Model")


class Model(BaseModel):
    """A mapping of a YAML file: unknown keys are refused, and nothing is taken for what it is not."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        regex_engine="python-re",
        defer_build=True,  # most starts use one of the models
    )

    # ("exactly" or "at most" or "at least", names): how many of these keys stand there.
    TOGETHER: ClassVar[tuple[tuple[str, ...], ...]] = ()
    # Key -> keys that it needs beside it.
    NEEDS: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    # (key, its values, keys that are needed then); ``a.b`` is needed where there is an ``a``.
    WHEN: ClassVar[tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]] = ()

    @model_validator(mode="wrap")
    @classmethod
    def _check_together(cls, value: Any, handler: Callable[[Any], Any]) -> Any:
        """Add what is wrong with the keys to what is wrong with the values, to report all at once."""
        amiss = list(cls._amiss(value)) if isinstance(value, dict) else []
        try:
            made = handler(value)
        except ValidationError as error:
            if not amiss:
                raise
            amiss += [_line(one["type"], one["loc"], one["input"], one.get("ctx")) for one in error.errors()]
        if amiss:
            raise ValidationError.from_exception_data(cls.__name__, amiss)
        return made

    @classmethod
    def _amiss(cls, value: Mapping[Any, Any]) -> Iterator[InitErrorDetails]:
        for word, *names in cls.TOGETHER:
            given = sum(name in value for name in names)
            if not {"exactly": given == 1, "at most": given < 2, "at least": given > 0}[word]:
                yield _line("together", (), value, {"what": f"needs {word} one of {', '.join(names)}"})
        for key, needed in cls.NEEDS.items():
            for name in needed if key in value else ():
                if name not in value:
                    what = {"what": f"{name!r} is a dependency of {key!r}", "remedy": "add it"}
                    yield _line("together", (), value, what)
        for key, levels, needed in cls.WHEN:
            for path in needed if value.get(key) in levels else ():
                *above, name = path.split(".")
                holder = value
                for part in above:
                    holder = holder.get(part, ())
                if isinstance(holder, dict) and name not in holder:
                    yield _line("missing", (*above, name), holder)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        made = handler(core)
        schema = handler.resolve_ref_schema(made)
        rules: list[dict[str, Any]] = []
        for word, *names in cls.TOGETHER:
            each = [{"required": [name]} for name in names]
            rules.append(
                {"not": {"required": names}}
                if word == "at most"
                else {"oneOf" if word == "exactly" else "anyOf": each}
            )
        for key, levels, needed in cls.WHEN:
            condition = {"required": [key], "properties": {key: {"enum": list(levels)}}}
            rules += [{"if": condition, "then": _required(path)} for path in needed]
        if rules:
            schema["allOf"] = rules
        if cls.NEEDS:
            schema["dependentRequired"] = {key: list(names) for key, names in cls.NEEDS.items()}
        return made


def _line(
    kind: str, where: tuple[str | int, ...], value: Any, context: dict[str, Any] | None = None
) -> InitErrorDetails:
    # Its own message is never used; the kinds of the library may be told as our own.
    return InitErrorDetails(type=PydanticCustomError(kind, "-", context), loc=where, input=value)


def _required(path: str) -> dict[str, Any]:
    head, _, rest = path.partition(".")
    return {"properties": {head: _required(rest)}} if rest else {"required": [head]}


class _Given:
    """Marks a key that may be left out, but not be given as nothing."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema: Any = handler(source)
        inner: CoreSchema = schema["schema"]
        return inner


def _unique(items: list[T]) -> list[T]:
    if any(item in items[:at] for at, item in enumerate(items)):
        raise PydanticCustomError("unique", "-")
    return items


Maybe = Annotated[T | None, _Given()]
Unique = Annotated[list[T], AfterValidator(_unique), Field(json_schema_extra={"uniqueItems": True})]
Several: TypeAlias = T | Annotated[Unique[T], Field(min_length=1)]

VARIABLE = "^[A-Za-z_][A-Za-z0-9_]*$"  # of the environment
Variable = Annotated[str, StringConstraints(pattern=VARIABLE)]
NAME = r"^[A-Za-z0-9_][A-Za-z0-9._-]*$"
Name = Annotated[
    str,
    StringConstraints(pattern=NAME, max_length=80),
    Field(description="letters, digits, dots, dashes and underscores, not beginning with a dot or a dash"),
]
Line = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]*$")]
Text = Annotated[Line, StringConstraints(min_length=1), Field(description="one line of text")]
Environment = Annotated[
    dict[Variable, Line | int | float],
    Field(description="names of variables with their values, one line of text or a number"),
]
Number = int | float  # is written as it stands in the file: 6 does not become 6.0
Positive = Annotated[float, Field(gt=0)]
Evidence = Literal["measured", "published", "simulated", "modelled", "reported", "synthetic"]
# Classes whose runs are draws from ranges of what is not known: they are no repeats.
OF_DRAWS = ("simulated", "modelled")


def load(model: type[M], path: str | Path, source: str | None = None) -> M:
    """Read a YAML file as a model; `source` is the name that faults carry, by default the path from here.

    `ConfigError` with every fault and its line if it cannot be read, is not YAML or does not follow the
    model.
    """
    source = source or from_here(path)
    document, lines = read(str(path), source)
    return check(model, document, source, lines)


def checked(model: type[M], path: str | Path) -> Any:
    """Return a YAML file as it is written, once it is found to follow a model; as `load` otherwise."""
    load(model, path)
    return read(str(path))[0]


def check(
    model: type[M],
    document: Any,
    source: str,
    lines: Mapping[Where, int],
    at: Where = (),
    *,
    secret: bool = False,
) -> M:
    """Check a document, or the part of one `at` a place, against a model.

    `ConfigError` with every fault, in the order of the lines. If `secret`, messages repeat no value: one may
    be a password in the wrong place.
    """
    try:
        return model.model_validate(document)
    except ValidationError as error:
        found = [(one["loc"], one) for one in error.errors(include_url=False)]
        told = _Teller(schema_of(model), secret).tell(found, document, (), None)
        faults = []
        for one in told:
            name = ".".join(map(str, (*at, *one.where))) or "the file"
            line = line_at(lines, (*at, *one.line_of))
            faults.append(Fault(source, line, f"{name}: {one.found}", one.remedy))
        raise ConfigError(*sorted(dict.fromkeys(faults), key=lambda fault: fault.line)) from None


def one_or_more(value: Any) -> list[Any]:
    """Take one level as a list of one."""
    return list(value) if isinstance(value, list | tuple) else [value]


def known(
    name: str, names: Iterable[str], otherwise: str = "none", spellings: Mapping[str, str] | None = None
) -> str:
    """Say in a remedy which names there are, and which of them may have been meant, also by `spellings`."""
    listed = list(names)
    return f"{meant(name, listed, _LISTED, spellings or {})} known: {', '.join(listed) or otherwise}".strip()


def named(path: Path, what: str) -> Path:
    """Return a file of configuration of `what`; `ConfigError` with the nearest names if it is not there."""
    if path.is_file():
        return path
    whole, colon, _ = path.stem.partition(":")
    if colon and path.with_name(f"{whole}.yaml").is_file():
        remedy = f"give {whole}; `benchbook compare` takes parts"
        raise ConfigError.at(path.stem, 0, f"is a part of a {what}", remedy)
    there = sorted(one.stem for one in path.parent.glob("*.yaml"))
    raise ConfigError.at(from_here(path), 0, f"there is no such {what}", known(path.stem, there))


class _Told(NamedTuple):
    where: Where
    line_of: Where  # of the key, where it is the key that is wrong
    found: str
    remedy: str
    misfit: bool = False  # the value is of another type than was wanted
    near: bool = False


_TYPES = {"string": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array"}
_TYPES |= {"dict": "object", "model": "object", "model_attributes": "object", "datetime": "date and time"}
_KINDS = {f"{kind}_type": name for kind, name in _TYPES.items()} | {"finite_number": "number"}
_BOUNDS = {
    "greater_than": ("gt", "is less than or equal to the minimum of"),
    "greater_than_equal": ("ge", "is less than the minimum of"),
    "less_than_equal": ("le", "is greater than the maximum of"),
}
_LENGTHS = {"too_short": "is too short", "too_long": "is too long", "unique": "has non-unique elements"}
_LENGTHS |= {"string_too_short": "is too short", "string_too_long": "is too long"}


class _Teller:
    """Says what errors of the library mean, in the words of the file, with the schema's descriptions."""

    def __init__(self, schema: Mapping[str, Any], secret: bool) -> None:
        self._schema, self._secret = schema, secret

    def tell(self, errors: Sequence[Any], value: Any, where: Where, node: Any) -> Iterator[_Told]:
        """Follow errors, each with the rest of its way, down to where they are.

        On the way the library names the types that a value may have; one that it fits better than the
        others is the one that was meant.
        """
        node = self._schema if node is None else node
        below: dict[Any, list[Any]] = {}
        for way, error in errors:
            if not way or way[1:] == ("[key]",) or (len(way) == 1 and error["type"] in _OF_KEYS):
                yield self._one(error, way, where, node)
            else:
                below.setdefault(way[0], []).append((way[1:], error))
        branches = []
        for step, group in below.items():
            if isinstance(value, dict) and step in value:
                yield from self.tell(group, value[step], (*where, str(step)), self._below(node, step))
            elif isinstance(value, list) and isinstance(step, int):
                yield from self.tell(group, value[step], (*where, step), self._below(node, step))
            else:
                named = self._resolved(node).get("discriminator", {}).get("mapping", {}).get(step)
                branches.append(list(self.tell(group, value, where, {"$ref": named} if named else node)))
        fitting = [each for each in branches if not any(one.misfit and one.where == where for one in each)]
        if len(branches) == 1 or len(fitting) == 1:
            yield from (fitting or branches)[0]
        elif branches:
            near = [one for each in branches for one in each if one.near]
            remedy = near[0].remedy if near else self._hint(node)
            yield _Told(where, where, f"{self._shown(value)} is not allowed here", remedy, True, bool(near))

    def _one(self, error: Any, way: tuple[Any, ...], where: Where, node: Any) -> _Told:
        kind, value, context = error["type"], error["input"], error.get("ctx") or {}
        shown, hint = self._shown(value), self._hint(node)
        if kind in _OF_KEYS or (way and kind in _KINDS):
            return self._of_key(error, way, where, node)
        line_of = where
        if way:  # a key that does not follow the rules for keys
            line_of, hint = (*where, str(way[0])), self._hint(self._resolved(node).get("propertyNames", node))
        if kind in ("union_tag_invalid", "literal_error"):
            expected = re.findall(r"'([^']*)'", context.get("expected") or context["expected_tags"])
            if kind == "union_tag_invalid":
                where, shown = (*where, "type"), self._shown(context["tag"])
            near = meant(str(value), expected, _ALIKE) if kind == "literal_error" else ""
            return _Told(where, line_of, f"{shown} is not one of {expected}", near or hint, True, bool(near))
        if kind == "union_tag_not_found":
            return self._missing("type", where, node)
        if kind in _KINDS:
            quoted = kind == "string_type" and not isinstance(value, list | dict) and value is not None
            remedy = f"{'put it in quotes, if it is meant as text: ' * quoted}{hint}"
            return _Told(where, where, f"{shown} is not of type {_KINDS[kind]!r}", remedy, True)
        if kind in _BOUNDS:
            bound, words = _BOUNDS[kind]
            return _Told(where, where, f"{shown} {words} {context[bound]}", hint)
        if kind == "string_pattern_mismatch":
            return _Told(where, line_of, f"{shown} does not match {context['pattern']!r}", hint)
        found = context.get("what") or f"{shown} {_LENGTHS.get(kind, error['msg'])}"
        return _Told(where, line_of, found, context.get("remedy", hint))

    def _of_key(self, error: Any, way: tuple[Any, ...], where: Where, node: Any) -> _Told:
        if error["type"] == "missing":
            return self._missing(str(way[0]), where, node)
        if error["type"] == "extra_forbidden":
            known = self._keys(node)
            remedy = meant(str(way[0]), known, _ALIKE) or f"known: {', '.join(known) or 'none'}"
            return _Told(where, (*where, str(way[0])), f"unknown key {way[0]!r}", remedy)
        key = error["input"] if way[-1] == "[key]" else way[0]
        return _Told(where, (*where, str(key)), f"the key {_shown(key)} is no text", "put it in quotes")

    def _missing(self, key: str, where: Where, node: Any) -> _Told:
        about = self._keys(node).get(key, {})
        told = self._resolved(about).get("description") and self._hint(about)
        remedy = f"add it: {told}" if told else self._hint(node)
        return _Told(where, where, f"{key!r} is a required property", remedy)

    def _keys(self, node: Any) -> Mapping[str, Any]:
        """Return the keys of a mapping, or of the one that may stand there beside other things."""
        node = self._resolved(node)
        branches = [*node.get("anyOf", ()), *node.get("oneOf", ())]
        return node.get("properties") or next(filter(None, map(self._keys, branches)), {})

    def _hint(self, node: Any) -> str:
        node = self._resolved(node)
        told = [self._resolved(each).get("description") for each in (node, *node.get("anyOf", ()))]
        text = next(filter(None, told), f"see {REFERENCE}")
        return text[0].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text

    def _resolved(self, node: Mapping[str, Any]) -> Mapping[str, Any]:
        """Follow a reference; what stands beside it wins."""
        if "$ref" not in node:
            return node
        found = self._schema["$defs"][node["$ref"].rpartition("/")[2]]
        return {**found, **{key: value for key, value in node.items() if key != "$ref"}}

    def _below(self, node: Any, step: str | int) -> Mapping[str, Any]:
        node = self._resolved(node)
        if isinstance(step, int) and "items" in node:
            told = {"description": node["description"]} if "description" in node else {}
            return {**told, **self._resolved(node["items"])}
        others = node.get("additionalProperties")
        if found := node.get("properties", {}).get(step) or (others if isinstance(others, Mapping) else None):
            return found
        told = {"description": node["description"]} if "description" in node else {}
        branches = [{**told, **each} for each in (*node.get("anyOf", ()), *node.get("oneOf", ()))]
        return next((below for each in branches if (below := self._below(each, step))), {})

    def _shown(self, value: Any) -> str:
        return "what is written there" if self._secret else _shown(value)


_OF_KEYS = {"missing", "extra_forbidden", "invalid_key"}


def _shown(value: Any) -> str:
    """Write a value as YAML does, on one line and not endlessly."""
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    if isinstance(value, datetime.date):
        return f"{value.isoformat()} (a date)"
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 4 :]}"


class _Schema(GenerateJsonSchema):
    """The library's schemas without what only repeats a key or says that a key may be left out."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def default_schema(self, schema: Any) -> JsonSchemaValue:
        made = super().default_schema(schema)
        if made.get("default", 0) in (None, "", []) or isinstance(made.get("default"), dict):
            del made["default"]
        return made


def schema_of(model: type[Model]) -> dict[str, Any]:
    """Return the JSON schema of a model."""
    found = model.model_json_schema(schema_generator=_Schema)
    folded: dict[str, Any] = _folded({"$schema": "https://json-schema.org/draft/2020-12/schema", **found})
    return folded


def _folded(value: Any) -> Any:
    """Write descriptions in one line and rules for keys as such; leave out titles, which name classes."""
    if isinstance(value, list):
        return [_folded(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {key: item for key, item in value.items() if not (key == "title" and isinstance(item, str))}
    if patterns := kept.pop("patternProperties", None):
        ((pattern, values),) = patterns.items()
        kept["propertyNames"] = {**kept.get("propertyNames", {}), "pattern": pattern}
        kept["additionalProperties"] = values
    if isinstance(text := kept.get("description"), str):
        kept["description"] = " ".join(text.split()).rstrip(".")
    return {key: _folded(item) for key, item in kept.items()}

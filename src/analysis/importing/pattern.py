"""Options of import: ``--pattern`` names the factors in paths, ``--set`` gives a value for all runs."""

import re
from dataclasses import dataclass

from analysis.base.errors import ConfigError
from analysis.base.words import meant
from analysis.importing.vocabulary import Value
from analysis.schema.factors import ALIASES, SPELLINGS, TABLE

# A path may also state what the run was made for, its job and its repetition.
_TYPES = {one.name: one.dtype for one in TABLE} | {"question": "str", "job_id": "str", "repeat": "i4"}
FACTORS = tuple(_TYPES)
_PLACE = re.compile(r"\{(\w*)\}")


@dataclass(frozen=True)
class PathPattern:
    """A pattern of paths below the root: a part a folder, and one for the file if it goes so far."""

    text: str
    parts: tuple[re.Pattern[str], ...]
    open: frozenset[int] = frozenset()  # parts to infer: `*`

    def settled(self, at: int) -> bool:
        """Tell whether a part of a path is not to be inferred."""
        return at not in self.open

    def read(self, name: str) -> dict[str, tuple[Value, str]] | None:
        """Return factor -> value and the part that states it; None if the path is not of the pattern."""
        given = name.split("/")
        if len(given) < len(self.parts):
            return None
        out: dict[str, tuple[Value, str]] = {}
        for part, pattern in zip(given, self.parts, strict=False):
            match = pattern.fullmatch(part)
            if match is None:
                return None
            for key, value in match.groupdict().items():
                factor = key.partition("__")[0]
                out[factor] = (parse_value(factor, value), part)
        return out


def compile_pattern(text: str) -> PathPattern:
    """Compile a pattern; ConfigError for a placeholder that is no factor, or that is used twice."""
    seen: set[str] = set()
    given = text.strip("/").split("/")
    bodies = ("".join(_piece(one, text, seen) for one in re.split(r"(\{\w*\}|\*)", part)) for part in given)
    parts = tuple(re.compile(body, re.IGNORECASE | re.DOTALL) for body in bodies)
    return PathPattern(text, parts, frozenset(at for at, part in enumerate(given) if part == "*"))


def _piece(piece: str, text: str, seen: set[str]) -> str:
    if piece == "*":
        return ".*"
    place = _PLACE.fullmatch(piece)
    if place is None and set("{}") & set(piece):
        what, remedy = f"{text!r} has a brace that is no placeholder", "write a factor in two: {nodes}"
        raise ConfigError.at("--pattern", 0, what, remedy)
    if place is None:
        return re.escape(piece)
    name = ALIASES.get(place[1], place[1])
    if name in ("", "_"):
        return ".+?"
    if name in seen:
        raise ConfigError.at(
            "--pattern", 0, f"{text!r} has {{{place[1]}}} twice", "write {} for a part to ignore"
        )
    if not meant(name, FACTORS, alike=0.7, spellings=SPELLINGS):  # no misspelt factor: a name for a part
        raise ConfigError.at("--pattern", 0, f"{place[1]!r} is no factor", "write {} for a part to ignore")
    seen.add(factor_name(name, "--pattern"))
    kind = r"\d+" if _TYPES[name] == "i4" else r"\d+(?:\.\d+)?" if _TYPES[name] == "f8" else ".+?"
    return f"(?P<{name}>{kind})"


def factor_name(name: str, source: str) -> str:
    """Return the factor of a name; ConfigError with the nearest one if there is none."""
    name = ALIASES.get(name, name)
    if name not in FACTORS:
        remedy = meant(name, FACTORS, spellings=SPELLINGS) or f"known: {', '.join(FACTORS)}"
        raise ConfigError.at(source, 0, f"{name!r} is no factor", remedy)
    return name


def parse_value(name: str, text: str) -> Value:
    """Return a value of a factor's type; ValueError if the text is not one."""
    kind: type[Value] = {"i4": int, "f8": float}.get(_TYPES[name], str)
    return kind(text)


def parse_settings(given: list[str]) -> dict[str, Value]:
    """Read ``--set FACTOR=VALUE``; ConfigError if it has another form."""
    out: dict[str, Value] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not value:
            raise ConfigError.at(
                "--set", 0, f"{text!r} is not FACTOR=VALUE", "write it like mpi='Open MPI 4.1.4'"
            )
        name = factor_name(name, "--set")
        try:
            out[name] = parse_value(name, value)
        except ValueError:
            raise ConfigError.at("--set", 0, f"{value!r} is no number of {name}", "give a number") from None
    return out

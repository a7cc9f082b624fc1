"""Meters by type: each returns one reading of all that it measures, or says why it has none."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from analysis.base import units
from analysis.measure.power.commands import Commands, MeterError
from analysis.measure.power.config import MeterSpec
from analysis.measure.power.credentials import Secret, child_environment, resolve


@dataclass(slots=True)
class Context:
    """What meters share: the time in s to answer, where secrets may be, which are in use.

    `warnings` have to be said loudly before the first reading.
    """

    commands: Commands
    timeout: float
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    secrets: list[Secret] = field(default_factory=list, repr=False)
    warnings: list[str] = field(default_factory=list)

    def secret(self, spec: MeterSpec, key: str) -> Secret | None:
        """Fetch a meter's secret; None if the entry declares none."""
        if key not in spec.options:
            return None
        secret = resolve(spec.options[key], self.environment, spec.source, spec.line)
        self.secrets.append(secret)
        return secret


class Meter:
    """A meter: where it measures, how it is read; `counts` if a reading is an energy counter in µJ, not W."""

    counts: ClassVar[bool] = False
    location: ClassVar[str] = ""

    def __init__(self, spec: MeterSpec, context: Context) -> None:
        self.spec, self.context = spec, context

    @property
    def name(self) -> str:
        """Name of the meter."""
        return self.spec.name

    def names(self) -> list[str]:
        """Return the names of the readings that are expected; the meter's own by default."""
        return [self.name]

    def feeds(self) -> Mapping[str, str]:
        """Return the node of each reading that has another than the meter as a whole."""
        return {}

    def apart(self) -> list[str]:
        """Return the readings that do not add to the others, as they are part of them or hold them."""
        return []

    def ranges(self) -> Mapping[str, int]:
        """Return µJ at which each counter starts again from zero; empty for powers."""
        return {}

    def read(self) -> dict[str, float]:
        """Return one reading by name, in W or µJ; `MeterError` if there is none."""
        raise NotImplementedError

    def close(self) -> None:
        """Release what the meter holds."""

    def run(self, argv: list[str], extra: Mapping[str, str] | None = None, fds: tuple[int, ...] = ()) -> str:
        """Run a tool within the time limit, see `Commands.run`."""
        return self.context.commands.run(argv, child_environment(extra), self.context.timeout, fds)


# W; some controllers say 0xffffffff where they have no reading.
_GREATEST = 1e8

_CELL = re.compile(r"\s*(\d+(?:\.\d+)?)?\s*([A-Za-z]*)\s*")


def quantity(text: str) -> tuple[float | None, float | None]:
    """Take a power like ``212 Watts`` apart: its number, if any, and W per unit, if that is one of power."""
    match = _CELL.fullmatch(text)
    if match is None or match[2] == "MW":
        return None, None
    factor = units.watts(match[2] or "W")
    return (None if match[1] is None else float(match[1])), None if math.isnan(factor) else factor


def watts(text: str, scale: float = 1.0) -> float:
    """Read a power in W as a tool prints it; a number without a unit counts `scale` W each.

    `MeterError` if it is none, or no power of a machine.
    """
    value, factor = quantity(text)
    if value is None or factor is None:
        raise MeterError(f"{text.strip()[:60]!r} is no power")
    power = value * (factor if text.strip()[-1].isalpha() else scale)
    if power > _GREATEST:
        raise MeterError(f"{text.strip()[:60]!r} is more than a machine draws")
    return power

"""What is asked of a campaign: which runs, which quantity of them, held against which others.

A claim of a report is a question with what the report expects for an answer (`analysis.claims`); a page
asks the same questions, so that both get the same numbers. A question knows factors and levels by the
report's names; a campaign says by its stand-ins which of its own levels stands for one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analysis.base.words import Level

__all__ = ["Comparison", "Level", "Question", "Tariff"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Which levels of which factor are held against each other.

    Attributes
    ----------
    levels : tuple of level or tuple of level
        Best first for an order; treatment then baseline otherwise. A level may be a list of levels
        that each are compared.
    varying : tuple of str
        Other factors that change with `factor` by nature (ranks with nodes).
    where : tuple of mapping
        For treatment and baseline, the values of varying factors; empty if any will do.
    span : tuple of float, optional
        For an order along numbers: every level that a campaign has from the first to the second.
    along : tuple of (str, level, level), optional
        For an interaction: another factor, its upper and its lower level.
    """

    factor: str
    levels: tuple[Level | tuple[Level, ...], ...] = ()
    varying: tuple[str, ...] = ()
    where: tuple[Mapping[str, Level], ...] = ()
    span: tuple[float, float] | None = None
    along: tuple[str, Level, Level] | None = None

    @property
    def moving(self) -> tuple[str, ...]:
        """Factors that may differ between the groups of one stratum."""
        return (self.factor, *self.varying)


@dataclass(frozen=True, slots=True)
class Tariff:
    """How energy becomes money.

    Attributes
    ----------
    price : float
        Of a kWh, in the currency of the answer.
    pue : float
        Energy of the whole site over that of the machine.
    jobs_of : level or None
        Level of the compared factor whose jobs of one year set the work; None for the jobs that
        each level does itself.
    """

    price: float
    pue: float = 1.0
    jobs_of: Level | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a campaign.

    Attributes
    ----------
    quantity : str
        One of `analysis.estimates.quantities.QUANTITIES`.
    variable : str
        One of `analysis.estimates.measures.MEASURES`, for a set one of ``SETS``.
    select : mapping of str to level, list of levels or range
        Runs to look at.
    members : tuple of level
        What the measure is of: calls, sizes; for a set, what it is held against.
    scale : float
        Factor on the values.
    aggregate : str
        What answers where there are several strata: ``all`` of them, the ``max``, the ``min``, or one
        ratio of the ``mean`` costs.
    over : tuple of str
        Factors over which a ``max`` or ``min`` ranges; all if empty.
    each : bool
        Whether every member is asked for by itself.
    threshold : float
        Gain below which scaling has stopped, for a saturation.
    margin : float
        Within which two medians are equal, for an equality.
    tariff : Tariff or None
        For a cost.
    """

    quantity: str
    variable: str = "figure_of_merit"
    select: Mapping[str, Any] | None = None
    compare: Comparison | None = None
    members: tuple[Level, ...] = ()
    scale: float = 1.0
    aggregate: str = "all"
    over: tuple[str, ...] = ()
    each: bool = False
    threshold: float = 0.05
    margin: float = 0.0
    tariff: Tariff | None = None

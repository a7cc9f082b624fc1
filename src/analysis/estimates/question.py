"""What is asked of a campaign: which runs, which quantity of them, compared with which others.

A claim of a report is a question and the answer that the report expects (`analysis.claims`). A page asks the
same questions, so that both get the same numbers. A question uses the report's names of factors and levels;
a campaign declares which of its own levels it substitutes for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from analysis.base.models import Maybe, Model, Positive
from analysis.base.words import Level

LevelOfReport = Annotated[Level, Field(description="a level, spelt as in the report")]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The levels of a factor that are compared: treatment and baseline, or best first.

    A level may be a list, whose members are each compared. `varying` are factors that always change with
    `factor` (ranks with nodes); those in `mixed` do so in these runs only. `where` has their values for
    treatment and baseline, and is empty if any value will do. `span` is an order of all levels of a campaign
    from one number to another. `along`, for an interaction, is another factor with its upper and its lower
    level.
    """

    factor: str
    levels: tuple[Level | tuple[Level, ...], ...] = ()
    varying: tuple[str, ...] = ()
    where: tuple[Mapping[Any, Level], ...] = ()
    span: tuple[float, float] | None = None
    along: tuple[str, Level, Level] | None = None
    mixed: tuple[str, ...] = ()

    @property
    def moving(self) -> tuple[str, ...]:
        """Factors that may differ between the groups of one stratum."""
        return (self.factor, *self.varying)


class Tariff(Model):
    """How energy becomes money."""

    price: Positive = Field(description="of a kWh")
    pue: Annotated[float, Field(ge=1)] = Field(
        default=1.0, description="energy of the site over that of the machine"
    )
    jobs_of: Maybe[LevelOfReport] = Field(
        default=None, description="level whose jobs of one year set the work; without one each does its own"
    )


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a campaign.

    `variable` is one of `measures.MEASURES`, or of ``SETS`` for a set. `members` are the calls or sizes that
    are counted, or that a set is compared with; `each` takes them one by one. `scale` is a factor on the
    values. If there are several strata, ``all`` must answer, or the ``max`` or ``min`` does (over the factors
    `over`, all if empty), or one ratio of the ``mean`` costs. `threshold` is the gain below which scaling has
    stopped; `margin` is the relative difference within which two medians are equal.
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

    def levels(self) -> Iterator[tuple[str, Level]]:
        """Name the levels, spelt as in the report, that are asked for, each with its factor."""
        pairs: list[tuple[str, Any]] = list((self.select or {}).items())
        if (compare := self.compare) is not None:
            pairs += [(compare.factor, level) for level in compare.levels]
            pairs += [pair for where in compare.where for pair in where.items()]
            pairs += [(compare.along[0], level) for level in compare.along[1:]] if compare.along else []
            pairs += [(compare.factor, self.tariff.jobs_of)] if self.tariff else []
        for factor, found in pairs:
            for level in found if isinstance(found, list | tuple) else (found,):
                if isinstance(level, str | int | float):
                    yield factor, level

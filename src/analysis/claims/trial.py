"""Could a relation have failed? Each of its figures is printed otherwise, up to twice and down to half.

A relation that agrees whatever had been printed proves nothing, so its agreement is no tick.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from analysis.claims.relations import Figure, Relation
from analysis.claims.spans import ExpressionError, Span

# Nobody would doubt a report for a figure that is wrong by more.
FACTOR = 2.0
# Longer numbers are tried with so many digits: 250,000 with the steps of 1,000.
_DIGITS = 3


@dataclass(frozen=True, slots=True)
class Move:
    """A figure, and the nearest other print of it that turns what the relation says.

    `printed` is None where no print within the factor does; `share` how far that is from the figure's own.
    """

    name: str
    printed: str | None = None
    share: float = math.nan


def moves(relation: Relation, agrees: Callable[[Mapping[str, Span]], bool]) -> tuple[Move, ...]:
    """Print each compared figure otherwise, alone, until the relation says the opposite.

    `agrees` says whether the relation holds with some spans, by figure's name.
    """
    own = relation.spans
    now = agrees(own)
    compared = {
        name for one in relation.sides for name in (*one.left.expression.names, *one.right.expression.names)
    }
    found = []
    for name, figure in relation.figures.items():
        if name not in compared:
            continue
        turned = (one for one in prints(figure) if _turns(own | {name: one[2]}, agrees, now=now))
        printed, share, _ = next(turned, (None, math.nan, None))
        found.append(Move(name, printed, share))
    return tuple(found)


def _turns(spans: Mapping[str, Span], agrees: Callable[[Mapping[str, Span]], bool], *, now: bool) -> bool:
    try:
        return agrees(spans) != now
    except ExpressionError:  # nothing could be computed: nobody prints that
        return False


def prints(figure: Figure) -> Iterator[tuple[str, float, Span]]:
    """Yield what else could have been printed, the nearest first: text, relative change, span."""
    own = abs(figure.value)
    if not own:
        return
    unit = max(figure.print_unit, 10.0 ** (math.floor(math.log10(own)) - _DIGITS + 1))
    down, up = (math.floor(own * part / unit + 1e-9) for part in (1 - 1 / FACTOR, FACTOR - 1))
    steps = [step * unit for step in range(-down, up + 1) if step]
    for step in sorted(steps, key=lambda step: abs(math.log(1 + step / own))):
        # Of a negative number the larger is the one further from zero.
        text = figure.moved(math.copysign(step, step * figure.value))
        yield text, step / own, figure.span_if(text)

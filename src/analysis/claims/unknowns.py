"""What the band of a claim is due to: the unknowns that its draws follow, and the assumed end it hangs on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.base import models, project
from analysis.base.words import attached
from analysis.estimates.campaign import Campaign
from analysis.estimates.intervals import Array
from analysis.model.draws import draw
from analysis.model.inputs import Range, load
from analysis.schema.campaigns import CampaignFile

MATTERS = 0.5  # of the spread at least is due to an unknown on which a claim can hang
FEWEST = 3  # draws that reach a claim, from which that is read
ONE_END = 0.95  # of the draws that reach a claim in one half of a range: it hangs on that end
SAME = 1e-9  # a spread of answers that is none
_KEPT = object()  # under which a campaign keeps what was drawn


@dataclass(frozen=True)
class DrawnUnknown:
    """The values of an unknown by number of the draw, and the range that they are from."""

    values: Array
    range: Range

    @property
    def unit(self) -> str:
        """The unit of the values, empty of a plain number."""
        return "" if self.range.unit == "1" else self.range.unit


def drawn(campaign: Campaign) -> Mapping[str, DrawnUnknown]:
    """Draw the unknowns of a modelled campaign again; none where it is not declared."""
    if _KEPT not in campaign.judged:
        path = project.declaration(campaign.name)
        declared = models.load(CampaignFile, path).model if path.is_file() else None
        campaign.judged[_KEPT] = {}
        if declared is not None:
            ranges = load(project.root()).unknowns
            values = draw(ranges, declared.draws, declared.seed, sweep=False)
            known = {name: DrawnUnknown(values[name], one) for name, one in ranges.items()}
            campaign.judged[_KEPT] = known
    found: Mapping[str, DrawnUnknown] = campaign.judged[_KEPT]
    return found


def shares(ratios: pd.Series, asked: Iterable[str], unknowns: Mapping[str, DrawnUnknown]) -> dict[str, float]:
    """Return for each unknown asked for the share of the variance of the draws' ratios that is due to it.

    It is the squared correlation of the logarithms; unknowns are drawn independently. `ratios` has the number
    of each draw as its index.
    """
    answers = np.log(ratios.to_numpy()) if (ratios > 0).all() else ratios.to_numpy()
    if np.ptp(answers) < SAME:  # levels and orders along steps have no ratio of their own
        return {}
    numbers = ratios.index.to_numpy()
    logs = {name: np.log(unknowns[name].values[numbers]) for name in sorted({*asked} & unknowns.keys())}
    moved = {name: values for name, values in logs.items() if np.ptp(values) > SAME}
    return {name: float(np.corrcoef(values, answers)[0, 1] ** 2) for name, values in moved.items()}


def hanging(numbers: Array, parts: Mapping[str, float], unknowns: Mapping[str, DrawnUnknown]) -> str:
    """Name the assumed end of a range on which nearly all draws rest that reach a claim, or nothing.

    Only the unknown that most of the spread is due to is asked: of many unknowns one divides a few draws so
    by chance. `numbers` are those of the draws.
    """
    name = max(parts, key=lambda one: parts[one], default="")
    if not name or parts[name] < MATTERS or len(numbers) < FEWEST:
        return ""
    one = unknowns[name].range
    middle = float(np.sqrt(one.low * one.high))
    above = float(np.mean(unknowns[name].values[numbers] > middle))
    if "assumed" not in one.source or max(above, 1 - above) < ONE_END:
        return ""
    return f"{name} {'above' if above > 0.5 else 'below'} {attached(f'{middle:.2g}', unknowns[name].unit)}"

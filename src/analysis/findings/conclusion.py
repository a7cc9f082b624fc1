"""A conclusion of a campaign: its question, what was found, and what the next campaign is compared with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from analysis.claims.model import Claim, Expectation
from analysis.claims.resolution import resolve
from analysis.claims.verdicts import HOLDS
from analysis.estimates.asking import ASKS
from analysis.estimates.finding import Finding
from analysis.estimates.question import Question

# The topics of the five reports' claims, in the order in which the reports have them, with their titles.
_TITLES: Mapping[str, str] = {
    "problem size": "Problem size",
    "run duration": "Run duration",
    "compiler flags": "Compiler and version",
    "hardware": "Machines",
    "CPU generation": "CPU generation",
    "interconnect": "Interconnect",
    "links": "Links",
    "scaling": "Scaling",
    "memory modules": "Memory modules",
    "MPI library": "MPI library",
    "MPI tuning": "MPI tuning",
    "placement": "Placement and jobs at once",
    "profilers": "Profilers",
    "compute and MPI time": "Compute and MPI time",
    "MPI calls": "MPI calls",
    "message sizes": "Message sizes",
    "data volume": "Data volume",
    "memory": "Memory",
    "energy and cost": "Energy and cost",
}
# Those of factors that no report has claims about follow.
TOPICS: Mapping[str, str] = {
    **_TITLES,
    **{one.topic: one.topic[:1].upper() + one.topic[1:] for one in ASKS if one.topic not in _TITLES},
}

# What a conclusion says, from the surest kind to the least.
DIFFERS = "differs"
GROWS = "grows"  # a lead, along another factor
CROSSES = "crosses over"
ORDERED = "ordered"
STOPS = "stops"  # scaling, from a level on
EQUAL = "equal"
IS = "is"  # a share, a size, a rate: nothing was compared
CONFOUNDED = "confounded"  # differs, but several causes have changed together
UNKNOWN = "cannot tell"
SEEN = "seen"  # in single runs
SESSION = "in that session"  # a difference or an equality whose sides were not interleaved
UNORDERED = "order not known"  # one of runs whose order is not known
WORDS = (DIFFERS, GROWS, CROSSES, ORDERED, STOPS, EQUAL, IS, CONFOUNDED, SESSION, UNORDERED, UNKNOWN, SEEN)
# What is shown as undecided.
OPEN = (CONFOUNDED, SESSION, UNORDERED, UNKNOWN, SEEN)
# What stands, so that it is written as a claim.
STANDING = (DIFFERS, GROWS, CROSSES, ORDERED, STOPS, EQUAL, IS)

# The columns of `Conclusion.points`.
POINTS = ("series", "x", "median", "low", "high", "n", "confidence")


@dataclass(frozen=True)
class Conclusion:
    """One conclusion.

    `id` can be a claim's; `topic` is one of `TOPICS`. `question` uses the campaign's own levels, `expect` is
    the value for the next campaign. `finding` is the stratum, among those that agree, whose numbers the
    verdict on its claim shows. `sentence` has the winner first; `footnote` has the base value, numbers of
    runs, level of the interval, days and evidence. `word` is one of `WORDS`; `size` is |log ratio|, 0 if
    nothing differs. `p` belongs to its own test, `q` to all tests of the search; both are None without a
    test.

    `points` are the data of its figure: one row per point, columns `POINTS`, ends NaN without an interval,
    attrs ``unit xlabel ylabel``. `page` is the page that shows it, or empty.
    """

    id: str
    topic: str
    question: Question
    expect: Expectation
    finding: Finding
    sentence: str
    footnote: str
    word: str
    size: float
    p: float | None
    q: float | None
    points: pd.DataFrame = field(repr=False)
    page: str = ""


def borne_out(question: Question, expect: Expectation, found: Sequence[Finding]) -> Finding | None:
    """Return the finding that decides the claim which a conclusion is written as, None if it does not hold.

    It is the one whose numbers the claim's verdict has.
    """
    resolved = resolve(Claim("", "", "", "", question, expect), found)
    return resolved.finding if resolved.word == HOLDS else None

"""How many claims have a word, and from how many distinct sets of runs."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from analysis.claims.model import Report
from analysis.claims.verdict import Verdict

# Of measured and published evidence; what a look-up says is counted with the look-ups.
_NEAR = ("same", "scaled", "analogue")
_NO_WORD = ("cannot tell", "not tested")


@dataclass(frozen=True, slots=True)
class Counts:
    """What is known of the claims of some reports; your own questions are not among them.

    `claims` are those that are not looked up: each of them has a word of measured or published runs at its
    nearest distance (`same`, `scaled`, `analogue`), or none. `contradicted` are claims, of any evidence else,
    that their report's own figures contradict. `sets` counts the distinct sets of runs behind the words, of
    all distances; several claims may share one. `nested` of them are part of another one.
    """

    claims: int
    looked_up: int
    worded: int
    same: int
    scaled: int
    analogue: int
    contradicted: int
    sets: int
    nested: int

    def as_dict(self) -> dict[str, int]:
        """Return the numbers by their names."""
        return asdict(self)


def counts(verdicts: Iterable[Verdict], reports: Sequence[Report]) -> Counts:
    """Count the claims of some reports by what their verdicts say."""
    asked = {claim.id: claim for report in reports if not report.own for claim in report.claims}
    plain = {name for name, claim in asked.items() if not claim.looked_up}
    found = [one for one in verdicts if one.claim in plain]
    worded = [one for one in found if has_word(one)]
    nearest: dict[str, str] = {}
    for one in worded:
        nearest[one.claim] = min(nearest.get(one.claim, _NEAR[-1]), one.distance, key=_NEAR.index)
    at = list(nearest.values())
    sets = {(one.campaign, frozenset(one.runs)) for one in worded}
    return Counts(
        claims=len(plain),
        looked_up=len(asked) - len(plain),
        worded=len(nearest),
        **{name: at.count(name) for name in _NEAR},
        contradicted=len({one.claim for one in found if one.verdict == "inconsistent"}),
        sets=len(sets),
        nested=sum(any(a == b and part < whole for b, whole in sets) for a, part in sets),
    )


def has_word(one: Verdict) -> bool:
    """Tell whether runs, measured or published, gave a claim a word."""
    of_runs = one.evidence in ("measured", "published") and one.distance in _NEAR
    return of_runs and one.verdict not in _NO_WORD

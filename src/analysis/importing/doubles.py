"""Files that say once more what another one says: copies, and what each rank of a run leaves."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from analysis import readers
from analysis.base.files import plain_name
from analysis.importing.detect import AT_ONCE, Observation


def without_copies(observations: Iterable[Observation], unplaced: dict[str, str]) -> list[Observation]:
    """Leave out copies of results, profiles and records, each with the name of the original."""
    first: dict[str, str] = {}
    known = []
    for source in observations:
        if source.role == "nothing":
            unplaced[source.name] = source.why
            continue
        was = first.setdefault(source.digest, source.name)
        chance = was.rpartition("/")[2] != source.file.base and any(part.brief for part in source.parts)
        if was != source.name and not chance and source.role in ("result", "profile", "power", "sacct"):
            unplaced[source.name] = f"is a copy of {was}"
        else:
            known.append(source)
    return known


def attach_ranks(known: Sequence[Observation]) -> dict[str, str]:
    """Attach what the other ranks left to the file of the first; return to which: name -> name.

    Without one of the first rank, they belong to the other results of their folder: the name is empty. In a
    folder without any, that of the lowest rank is the result.
    """
    families: dict[tuple[str, ...], list[tuple[int, Observation]]] = defaultdict(list)
    having: set[tuple[str, str]] = set()  # a result of a first rank
    for source in (one for one in known if one.role == "result"):
        engine, folder = source.parts[0].engine, source.file.folder
        bare = plain_name(source.file.base)
        of_rank = re.fullmatch(readers.row(engine).of_ranks or "(?!)", bare)
        if of_rank:
            rest = f"{bare[: of_rank.start('rank')]}*{bare[of_rank.end('rank') :]}"
            families[folder, engine, rest].append((int(of_rank["rank"]), source))
        if not of_rank or not int(of_rank["rank"]):
            having.add((folder, engine))
    out: dict[str, str] = {}
    for (folder, engine, _), family in families.items():
        first: Observation | None = None
        for rank, source in sorted(family, key=lambda one: one[0]):
            if first is not None and _are_together(first, source):
                out[source.name] = first.name
            elif rank and (folder, engine) in having:
                out[source.name] = ""
            else:
                first = source
    for source in known:
        if source.name in out:
            source.role, source.what, source.parts = "beside", "of a rank after the first", []
    return out


def _are_together(first: Observation, other: Observation) -> bool:
    """Tell whether two files can be of one run, by when their ranks began."""
    one, two = (each.parts[0].facts.get("date") for each in (first, other))
    return one is None or two is None or abs(one - two) <= AT_ONCE

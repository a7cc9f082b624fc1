"""The banner that IPM printed and the file that IPM wrote: of one execution, whatever their names are.

The file has its start in s since 1970, the banner the same moment on a clock of an unknown time zone. Runs
of one program with as many ranks are so distinguished, unless they began together.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from analysis.base.slurm import QUARTER
from analysis.importing.detect import Observation

_SLACK = 2  # s; a banner has whole seconds, and its start is another rank's
_FARTHEST_ZONE = 14 * 3600  # s, of UTC+14
_SUMMER = (0, 3600, -3600)  # s; one clock shows summer time and winter time


def printed_in(observations: Iterable[Observation]) -> dict[str, Observation]:
    """Find the output that has the banner of a file of IPM.

    Returns
    -------
    dict
        Name of the file -> the output. A file that began as two banners did, or a banner that began as two
        files did, has none: nothing says which is which.
    """
    pairs = list(_alike([one for one in observations if one.facts.get("profiler") == "ipm"]))
    zones = Counter(zone for _, _, zone in pairs)
    clock = min(zones, key=lambda zone: (-zones[zone], abs(zone), zone), default=0)
    found: dict[str, Observation] = {}
    for shift in _SUMMER:
        used = {id(banner) for banner in found.values()}
        free = [
            (file, banner)
            for file, banner, zone in pairs
            if zone == clock + shift and file.name not in found and id(banner) not in used
        ]
        times = Counter(one.name for pair in free for one in pair)
        found |= {file.name: banner for file, banner in free if times[file.name] == times[banner.name] == 1}
    return found


def _alike(profiles: Iterable[Observation]) -> Iterator[tuple[Observation, Observation, float]]:
    """Yield each file with each banner of such a run that began with it, and the zone of its clock, s."""
    near: dict[tuple[object, ...], list[Observation]] = defaultdict(list)
    files = []
    for one in profiles:
        if "profile_start" in one.facts:
            files.append(one)
        elif "profile_clock" in one.facts and not one.several:
            near[*_kind(one), _slot(one.facts["profile_clock"])].append(one)
    for file in files:
        begin = file.facts["profile_start"]
        for slot in sorted({_slot(begin + late) for late in (-_SLACK, 0, _SLACK)}):
            for banner in near.get((*_kind(file), slot), ()):
                ahead = banner.facts["profile_clock"] - begin
                zone = round(ahead / QUARTER) * QUARTER
                began = abs(ahead - zone) <= _SLACK and abs(zone) <= _FARTHEST_ZONE
                if began and abs(banner.facts["profile_length"] - _length(file)) <= _SLACK:
                    yield file, banner, zone


def _kind(profile: Observation) -> tuple[object, ...]:
    return tuple(profile.facts.get(name) for name in ("ranks", "nodes", "program"))


def _slot(seconds: float) -> int:
    """Return where in a quarter of an hour a moment is, in steps of the slack."""
    return int(seconds % QUARTER // _SLACK)


def _length(file: Observation) -> float:
    start: float = file.facts["profile_start"]
    return float(file.facts.get("profile_stop", start)) - start

"""Sentences on what is not compared: a measure by itself, a set of sizes or calls, the cost of a year."""

from analysis.base.words import attached, in_order, significant
from analysis.estimates.measures import MEASURES
from analysis.estimates.numerals import display_unit, of_bytes, spell_all, times_of
from analysis.estimates.spelling import Answer, listed, measure_name, where

# How a level of a measure is said, with its value, its application and its members.
_LEVELS = {
    "mpi_fraction": "MPI takes {value} of the time of {application}",
    "imbalance": "the slowest rank of {application} computes {value} longer than the mean",
    "call_share": "{members} {take} {value} of the MPI time of {application}",
    "count_share": "{members} {make} up {value} of the MPI calls of {application}",
    "distinct_calls": "{application} makes {value} kinds of MPI calls",
    "size_share": "{value} of the messages of {calls}{application} have {sizes}",
    "bytes_per_call": "{members} {carry} {value} per call in {application}",
    "first_rank_excess": "rank 0 of {application} sends {value} what the median of the other ranks sends",
    "rank_bytes": "a rank of {application} hands {value} to MPI",
    "rank_memory": "a rank of {application} takes {value} of memory",
    "node_memory": "{application} takes {value} of memory on a node",
    "node_memory_slurm": "{application} takes {value} of memory on a node, by Slurm",
    "latency": "a message of {members} B takes {value} in {application}",
    "bandwidth": "messages of {members} B move at {value} in {application}",
    "jobs_per_day": "the nodes finish {value} of {application}",
    "energy_per_job": "a job of {application} takes {value}",
    "pair_rate": "the largest pair of ranks of {application} exchanges {value}",
    "mean_power": "{application} draws {value}",
    "reduction_share": "reductions of dot products take {value} of the time of {application}",
    "sent_share": "{members} {carry} {value} of the bytes that {application} sends",
    "message_share": "{sizes} are the sizes of {value} of the calls of {application} that have one",
    "pair_spread": "the busiest pair of ranks of {application} exchanges {value} the bytes of the least busy",
    "grid_ratio": "the global grid of {application} has {value} times the points of its ranks' grids",
    "stated_figure": "a source gives {value} as {members}",
}
# The same of a claim whose `scale` multiplies the measure: of a rank to a node, of a second to a run.
_MULTIPLES = {
    "rank_bytes": "{times} times what a rank of {application} hands to MPI is {value}",
    "rank_memory": "{times} times the memory of a rank of {application} is {value}",
    "pair_rate": "the largest pair of ranks of {application} exchanges {value} in {times} s",
}


def cost(answer: Answer) -> str:
    """Word the cost of a year, or what one level saves of it."""
    value, sure = spell_all([one.estimate for one in answer.found], answer.unit.removesuffix("/year"))
    if answer.question.compare is None:
        return f"a year of jobs costs {value} {answer.place} ({sure})"
    first, second = answer.names
    if any(one.estimate.bounded and one.estimate.low < 0 < one.estimate.high for one in answer.found):
        unclear = f"It is not clear whether {first} saves money over {second} {answer.place}"
        return f"{unclear}: {value} a year ({sure})"
    return f"{first} saves {value} a year over {second} {answer.place} ({sure})"


def level(answer: Answer) -> str:
    """Word a measure by itself: a share, a size, a rate."""
    asked = answer.question
    estimates = [one.estimate for one in answer.found]
    unit = "" if asked.variable == "distinct_calls" else answer.unit or MEASURES[asked.variable].unit
    if estimates[0].level == 1 and estimates[0].low != estimates[0].high:  # an exact one is its range
        unit, size = of_bytes(estimates[0].high) if unit == "B" else (unit, 1.0)
        ends = [significant(end / size) for end in (estimates[0].low, estimates[0].high)]
        value, sure = attached(" to ".join(dict.fromkeys(ends)), display_unit(unit)), ""
    else:
        value, sure = spell_all(estimates, unit)
    if sure == "exact" and all(one.level == 1 for one in estimates):
        sure = ""
    if not answer.decided:
        n = sum(one.n for one in estimates)
        sure = "in a single run" if n == 1 else f"in {n} runs" + " of unlike kinds" * (len(estimates) > 1)
    members = [str(one) for one in asked.members]
    sizes = [f"{one:,}" for one in asked.members if not isinstance(one, str)]
    calls = listed([one for one in asked.members if isinstance(one, str)])
    names = [one.replace("_", " ") for one in members] if asked.variable == "stated_figure" else members
    several = len(members) > 1
    words = {"take": "take" if several else "takes", "make": "make" if several else "makes"}
    words |= {"carry": "carry" if several else "carries", "members": listed(names)}
    words["calls"] = f"{calls} in " if calls else ""
    if asked.variable == "size_share" and len(sizes) == 2:
        words["sizes"] = f"{sizes[1]} B at most" if sizes[0] == "0" else f"{sizes[0]} to {sizes[1]} B"
    else:
        words["sizes"] = f"{listed(sizes)} B"
    of = f" of {listed(members)}" if members and asked.variable not in _LEVELS else ""
    text = f"the {measure_name(asked.variable)}{of} of {{application}} is {{value}}"
    words["times"] = times_of(asked.scale, unit)
    if words["times"] == "1" or asked.scale == 1:
        text = _LEVELS.get(asked.variable, text)
    else:
        text = _MULTIPLES.get(asked.variable, f"{{times}} times {text}")
    text = text.format(value=value, application=answer.application, **words)
    there = where(answer.campaign, answer.given, answer.places)
    return f"{text}{', ' if there else ''}{there}" + (f" ({sure})" if sure else "")


def set_of(answer: Answer) -> str:
    """Word a set: the sizes of messages, the calls that are made most."""
    (finding,) = answer.found
    members = [one if isinstance(one, str) else f"{one:,}" for one in in_order(finding.members or ())]
    text = f"the messages of {answer.application} have {listed(members)} B"
    if answer.question.variable != "message_sizes":
        text = f"the calls that {answer.application} makes most are {listed(members)}"
    there = where(answer.campaign, answer.given, answer.places)
    return f"{text}{', ' if there else ''}{there}" + ", not all of them in every run" * bool(finding.unequal)

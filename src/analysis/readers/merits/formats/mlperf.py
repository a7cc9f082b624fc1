"""MLPerf's training logs (``:::MLLOG`` lines of mllog): the time to train of each run, samples, accuracy."""

import json
from typing import Any

from analysis.readers.merits.formats.mlperf_inference import DETAIL
from analysis.readers.merits.output import Output, TextFormat
from analysis.readers.text import is_number

_ENTRY = r":::MLLOG (?P<entry>\{.*\})[ \t]*$"
_FACTS = {
    "submission_benchmark": "benchmark", "global_batch_size": "batch", "submission_division": "division",
    "number_of_nodes": "nodes", "number_of_ranks": "ranks",
}  # fmt: skip


def _is_training(head: bytes) -> bool:
    """Tell whether these are lines of mllog; those of an inference run begin with LoadGen's version."""
    return b":::MLLOG {" in head and DETAIL not in head


def _finish(output: Output) -> None:
    """Add the time of each run, from its start to its stop; a run that did not succeed failed its check."""
    if output.rest.rstrip().endswith("}}"):  # an entry is whole without the line's end
        output.text, output.rest = f"{output.text}{output.rest}\n", ""
    begin: tuple[int, float] | None = None
    result = -1
    for line, match in output.find(_ENTRY):
        try:
            entry: dict[str, Any] = json.loads(match["entry"])
            key, now = str(entry["key"]), float(entry["time_ms"])
        except (ValueError, KeyError, TypeError, RecursionError):
            output.faults.damage(line, "an entry that is no JSON of mllog", "left out; get the log again")
            continue
        value, about = entry.get("value"), entry.get("metadata")
        if key in _FACTS:
            output.facts.setdefault(_FACTS[key], value)
        if key == "run_start":
            begin, result = (line, now), result + 1
        elif key == "run_stop" and begin:
            output.verify(line, now >= begin[1], f"the stop at {now:.0f} ms is before its start")
            output.add("time to train", f"{(now - begin[1]) / 1e3:.3f}", "s", line, result=result)
            output.check(result, isinstance(about, dict) and about.get("status") == "success")
            begin = None
        elif key == "eval_accuracy" and is_number(str(value)):
            output.add("accuracy", str(value), "", line, result=max(result, 0))
    if begin:
        output.faults.damage(begin[0], "a run that did not stop", "its time is not known")


FORMAT = TextFormat(
    engine="mlperf", tool="MLPerf", marks=(b":::MLLOG {",), near="(?i)mlperf|:::MLL", test=_is_training,
    figure_of_merit="time to train", unit="s", higher_is_better=False, time="time to train",
    closing=r':::MLLOG .*"key": "run_stop".*$', closed_by="'run_stop'", opening="",
    problem=("benchmark", "batch", "division"), finish=_finish, given="the log of a training run",
)  # fmt: skip

"""MLPerf Inference: what LoadGen writes of a run, ``mlperf_log_summary.txt``.

``mlperf_log_detail.txt`` has its settings and times, and its rates with fewer digits: it gives no figure.
"""

from analysis.base.errors import ReadError
from analysis.readers.merits.output import Output, TextFormat, agree

# A run's result is above `Result is`; the statistics below it have more rates and percentiles.
_RESULT = (
    r"^(?P<name>(?:(?:Scheduled|Completed) )?(?:[Ss]amples|[Tt]okens) per second(?: \(inferred\))?"
    r"|Samples per query|\d+(?:\.\d+)?th percentile latency \(ns\)) *: (?P<value>\S+)$"
)
_PERCENTILE = r"^(?P<part>\d+(?:\.\d+)?) percentile latency \(ns\) +: (?P<value>\S+)$"
# A run is as long as it was asked to be, in ms, so its samples follow from its rate.
_ASKED = r'^(?:min_duration \(ms\) *: |:::MLLOG .*"key": "effective_min_duration_ms", "value": )(\d+)000\b'
_ACCURACY = r'"key": "(?:effective|requested)_test_mode", "value": "(AccuracyOnly)"'
DETAIL = b'"key": "loadgen_version"'  # the first entry of the detailed log
_MAIN = (
    *("completed tokens per second", "tokens per second"),
    *("samples per second", "scheduled samples per second", "completed samples per second"),
    *("samples per query", "90th percentile latency", "99th percentile latency"),
)


def _stated(summary: str, detail: str) -> str:
    """Return the pattern of a fact in both files; `detail` is its key in the second."""
    return rf'^(?:{summary}|:::MLLOG .*"key": "{detail}", "value": "?([^",]+))'


def _finish(output: Output) -> None:
    """Add the result of the scenario, then the percentiles of the latency, one of which it may be."""
    if output.first(_ACCURACY):
        raise ReadError.at(output.source, 0, "a test of accuracy, without a rate", "give a performance run's")
    if output.facts["version"]:  # the summary has none
        output.silent = "the figures are in mlperf_log_summary.txt next to it"
    end = next((line for line, _ in output.find(r"^Result is *:")), 0)
    results: dict[str, str] = {}
    for line, match in output.find(_RESULT):
        if line < end:
            name = match["name"].lower().replace(" (ns)", "")
            unit = "tokens/s" if "tokens" in name else "1" if "query" in name else "samples/s"
            if "latency" in name:
                unit, results[f"{float(name.partition('th')[0]):g}"] = "ns", match["value"]
            output.add(name, match["value"], unit, line)
    for line, match in output.find(_PERCENTILE):
        part = f"{float(match['part']):g}"
        if stated := results.get(part):
            found = f"its {part}th percentile above is {stated} ns"
            output.verify(line, agree((stated,), (match["value"],)), found)
        else:
            output.add(f"latency at {part} %", match["value"], "ns", line)


FORMAT = TextFormat(
    engine="mlperf_inference", tool="MLPerf Inference",
    marks=(b"MLPerf Results Summary\n", (b":::MLLOG {", DETAIL)), near=r"(?i)loadgen|MLPerf Results",
    opening="", closing=r'^Test Parameters Used\n|^:::MLLOG .*"key": "result_validity".*\n',
    closed_by="'Test Parameters Used'",
    facts={
        "scenario": _stated(r"Scenario *: (.+)", "effective_scenario"),
        "samples": _stated(r"performance_sample_count *: (\d+)", "effective_performance_sample_count"),
        "bound": _stated(r"(?:target|ttft)_latency \(ns\) *: (\d+)", "effective_target_latency_ns"),
        "target_time": _ASKED,
        "version": r'^:::MLLOG .*"key": "loadgen_version", "value": "(\S+)',
    },
    passed=r"^Result is *: VALID", failed=r"^Result is *: INVALID",
    figure_of_merit="samples per second", unit="samples/s", main=_MAIN, fixed_time=True,
    problem=("scenario", "samples", "bound"), finish=_finish, given="LoadGen's mlperf_log_summary.txt",
)  # fmt: skip

"""IO500: its score and each phase, from ``result_summary.txt``, ``result.txt`` or what it prints."""

from analysis.readers.merits.output import Output, TextFormat, agree
from analysis.readers.text import number

_PHASE = (
    r"^\[RESULT(?P<invalid>-invalid)?\] +(?:(?:BW|IOPS) +phase +\d+ +)?(?P<name>[a-z]\S+) +(?P<value>\S+) "
    r"(?P<unit>Gi?B/s|k[Ii][Oo][Pp][Ss]) *: time +\S+ seconds(?P<marked> +\[INVALID\])?"
)
_SCORE = (
    r"^\[SCORE(?P<invalid>-invalid)? ?\] +Bandwidth (?P<bandwidth>\S+) (?P<unit>Gi?B/s) : "
    r"IOPS (?P<iops>\S+) kiops : TOTAL (?P<score>\S+)(?P<marked> +\[INVALID\])?"
)
# Of result.txt: a section for each phase, and one for the score.
_SECTION = r"^\[(?P<name>ior-\w+-\w+|mdtest-\w+-\w+|find)\]$|^score += (?P<value>\S+)"
_SCORES = r"^(?P<name>MD|BW|SCORE) += (?P<value>\S+)"
_INI = {"MD": ("iops", "kIOPS"), "BW": ("bandwidth", "GiB/s"), "SCORE": ("score", "1")}
_PRODUCT = "product of bandwidth and iops"  # was the score until 2018
_IOR = tuple(f"ior-{how}-{access}" for how in ("easy", "hard") for access in ("write", "read"))


def _finish(output: Output) -> None:
    """Add the phases and the score of each execution, and compare them; an invalid one failed its check."""
    ends = [line for line, _ in output.find(_SCORE)]
    values: dict[int, dict[str, tuple[str, str, int]]] = {}
    for line, match in output.find(_PHASE):
        result = sum(end < line for end in ends[:-1])
        # Its scripts of before 2020 print each phase again in front of the score.
        name = match["name"].replace("_", "-")
        values.setdefault(result, {})[name] = match["value"], match["unit"], line
        if match["invalid"] or match["marked"]:
            output.check(result, passed=False)
    for result, (line, match) in enumerate(output.find(_SCORE)):
        for name, unit in (("bandwidth", match["unit"]), ("iops", "kIOPS"), ("score", "1")):
            values.setdefault(result, {})[name] = match[name], unit, line
        if match["invalid"] or match["marked"]:
            output.check(result, passed=False)
    if not values and (found := _ini(output)):
        values[0] = found
    for result, found in sorted(values.items()):
        texts = {name: text for name, (text, _, _) in found.items()}
        means = (texts.get("bandwidth", ""), texts.get("iops", ""))
        if number(texts.get("score", "")) > 0 and agree((texts["score"],), means, slack=1e-4):
            found = {_PRODUCT if name == "score" else name: one for name, one in found.items()}
        else:
            _verify(output, texts, max(line for _, _, line in found.values()))
        for name, (text, unit, line) in found.items():
            output.add(name, text, unit, line, result=result)


def _ini(output: Output) -> dict[str, tuple[str, str, int]]:
    """Return the figures of a ``result.txt``: text, unit and line."""
    found, name = dict[str, tuple[str, str, int]](), ""
    for line, match in output.find(_SECTION):
        name = match["name"] or name
        if match["value"] and name:
            found[name], name = (match["value"], "GiB/s" if name in _IOR else "kIOPS", line), ""
    for line, match in output.find(_SCORES):
        name, unit = _INI[match["name"]]
        found.setdefault(name, (match["value"], unit, line))  # that of the extended phases is below it
    for _ in output.find(r"^; ERROR INVALID"):
        output.check(0, passed=False)
    return found


def _verify(output: Output, texts: dict[str, str], line: int) -> None:
    """Compare a score with its parts: each is the geometric mean of those below it."""
    score, bandwidth, iops = (texts.get(name, "") for name in ("score", "bandwidth", "iops"))
    found = f"score {score}, bandwidth {bandwidth}, iops {iops} contradict each other"
    output.verify(line, agree((score, score), (bandwidth, iops), slack=1e-4), found)
    rest = [name for name in texts if name == "find" or name.startswith("mdtest-")]
    for what, mean, names in (("bandwidth", bandwidth, _IOR), ("iops", iops, rest)):
        each = [texts[name] for name in names if name in texts]
        if len(each) == {"bandwidth": 4, "iops": 8}[what]:
            fits = agree([mean] * len(each), each, slack=1e-3)
            output.verify(line, fits, f"{what} {mean} is not the mean of its {len(each)} phases")


FORMAT = TextFormat(
    engine="io500", tool="IO500",
    marks=(
        (b"[SCORE", b" kiops : TOTAL "), b"IO500 version ", b"[RESULT] BW   phase ",
        (b"[ior-easy-write]", b"config-hash"),
    ),
    near=r"(?i)\bio-?500\b", first_line=r"^IO500 version ", opening="",
    closing=r"^\[SCORE\S* ?\] +Bandwidth .*\n|^SCORE += .*\n", closed_by="'[SCORE'",
    facts={
        "version": r"^(?:IO500 version|version +=) (\S+)",
        "ranks": r"^procs +=(.*)$",
        "mode": r"^(?:IO500 version \S+ \((\w+)\)|mode += (\w+))",
        "config": r"^config-hash +=(.*)$",
    },
    figure_of_merit="score", unit="1", main=("score", _PRODUCT), problem=("mode", "config"), finish=_finish,
    given="the result_summary.txt or result.txt of IO500",
)  # fmt: skip

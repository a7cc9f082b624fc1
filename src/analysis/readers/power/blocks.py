"""Logs that repeat a block of ``label: value`` lines, one block per reading, as IPMI tools do."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from analysis.base import units
from analysis.readers.power.clock import Stamps
from analysis.readers.power.log import MeterLog, MeterReadings, readings_of
from analysis.readers.power.rows import refuse_torn
from analysis.readers.text import quantity


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels of one tool's block."""

    power: str  # before the reading; it also begins a block
    stamp: str  # before the controller's own time
    state: str  # before the state of the power measurement
    active: str  # what the state says while the controller measures


@dataclass(slots=True)
class _Block:
    line: int
    power: float
    logged: str
    logged_line: int
    own: str = ""


def read(log: MeterLog, labels: Labels, *, order: str) -> MeterReadings:
    """Read repeated blocks; a prefix like ``node01:`` (from pdsh or clush) names the meter.

    The time is the logger's, where it wrote a line with a stamp before the block, else the
    controller's own, which is often not set (1970).
    """
    clock = Stamps(log, order=order)
    blocks: dict[str, list[_Block]] = {}
    logged: dict[str, tuple[str, int]] = {}
    power = re.compile(rf"^(?P<head>.*?){re.escape(labels.power)}\s*:\s*(?P<cell>\S+\s*\S*)(?P<rest>.*)$")
    stamp = re.compile(rf"{re.escape(labels.stamp)}\s*:\s*(.*?)(?:\s+Sampling.*)?$")
    state = re.compile(rf"{re.escape(labels.state)}\s*:\s*(\S.*?)\s*$")
    for number, line in enumerate(log.lines(), 1):
        node, text = _prefix(line)
        found = power.match(text)
        if found:
            _begin(log, clock, blocks, logged, node, found.groupdict(), number)
        elif clock.is_stamp(text):
            logged[node] = (text, number)
        if node in blocks:
            block = blocks[node][-1]
            own, active = stamp.search(text), state.search(text)
            block.own = own[1] if own else block.own
            if active and active[1].lower() != labels.active:
                log.faults.note(number, f"power reading is {active[1]}", "the reading is left blank")
                block.power = math.nan
    if not blocks:
        raise log.empty(f"line {labels.power!r}")
    return _readings(log, clock, blocks)


def _prefix(line: str) -> tuple[str, str]:
    match = re.match(r"([A-Za-z][\w.-]*):\s+(?=\S)(?!\d)", line)
    if match and not re.match(r"\s*(IPMI|Sampling|Power|Current|Time|Statistics)\b", line):
        return match[1], line[match.end() :]
    match = re.match(r"(?=[A-Za-z][\w.-]*\d)([\w.-]++):\s*+(.*)", line)
    return (match[1], match[2]) if match else ("", line)


def _begin(
    log: MeterLog,
    clock: Stamps,
    blocks: dict[str, list[_Block]],
    logged: Mapping[str, tuple[str, int]],
    node: str,
    part: Mapping[str, str],
    number: int,
) -> None:
    before = logged.get(node) or logged.get("", ("", 0))
    head = part["head"].strip(" \t,;|")
    if head and clock.is_stamp(head):
        before = (head, number)
    value, unit = quantity(part["cell"])
    if unit == "?" or (unit and math.isnan(units.watts(unit))):
        log.faults.note(number, f"{part['cell'].strip()!r} is no power", "the reading is left blank")
        value = math.nan
    scale = units.watts(unit) if unit and unit != "?" else 1.0
    blocks.setdefault(node, []).append(_Block(number, value * scale, *before))


def _readings(log: MeterLog, clock: Stamps, blocks: Mapping[str, list[_Block]]) -> MeterReadings:
    """Choose each block's clock; a controller that says 1970 has none."""
    flat = [(node, block) for node, own in blocks.items() for block in own]
    logger = sum(bool(block.logged) for _, block in flat) >= sum(map(_is_set, (b.own for _, b in flat)))
    texts = [block.logged if logger else block.own for _, block in flat]
    lines = [(block.logged_line if logger else 0) or block.line for _, block in flat]
    unset = [bool(text) and not _is_set(text) for text in texts]
    if any(unset) and not logger:
        log.faults.damage(
            lines[unset.index(True)], "the controller's clock is not set (1970)", "log the time"
        )
        texts = ["" if bad else text for text, bad in zip(texts, unset, strict=True)]
    time = clock.utc(texts, lines)
    names = [node or log.options.meter or "node" for node, _ in flat]
    readings = readings_of(time, names, [block.power for _, block in flat])
    refuse_torn(log, readings, lines)
    return readings


def _is_set(stamp: str) -> bool:
    return bool(stamp) and re.search(r"\b1970\b", stamp) is None

"""The kinds of meters, by their ``type`` in a cluster's file; each meter asked once, before a campaign."""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from analysis.base.errors import ConfigError, Fault
from analysis.measure.power import config
from analysis.measure.power.bmc import IpmitoolMeter, RedfishMeter
from analysis.measure.power.config import MeterSpec
from analysis.measure.power.credentials import redact
from analysis.measure.power.local import NvidiaSmiMeter, PowercapMeter, SlurmMeter
from analysis.measure.power.meters import Commands, Context, Meter, MeterError
from analysis.measure.power.snmp import SnmpMeter

KINDS: dict[str, type[Meter]] = {
    "ipmitool": IpmitoolMeter, "redfish": RedfishMeter, "snmp": SnmpMeter, "powercap": PowercapMeter,
    "nvidia-smi": NvidiaSmiMeter, "slurm": SlurmMeter,
}  # fmt: skip


class Unusable(Meter):
    """A meter that cannot be asked, such as one without its secret: it costs its own readings only."""

    def __init__(self, spec: MeterSpec, context: Context, fault: str) -> None:
        super().__init__(spec, context)
        self._fault = fault
        context.warnings.append(f"{spec.name}: {fault}")

    def read(self) -> dict[str, float]:
        """Say what is wrong."""
        raise MeterError(self._fault)


def make_all(specs: tuple[MeterSpec, ...], context: Context) -> list[Meter]:
    """Make all meters; what cannot be used is named in the context's warnings."""
    meters: list[Meter] = []
    faults: list[Fault] = []
    for spec in specs:
        try:
            meters.append(KINDS[spec.type](spec, context))
        except ConfigError as error:
            faults += error.faults
            meters.append(Unusable(spec, context, "; ".join(map(str, error.faults))))
    if all(isinstance(meter, Unusable) for meter in meters):
        raise ConfigError(*faults)
    return meters


_AT_ONCE = 32  # meters; a rack's worth should not take minutes
_BETWEEN = 1.0  # s between two readings of a counter


@dataclass(frozen=True, slots=True)
class MeterCheck:
    """What one meter reads, and where it is declared."""

    name: str
    type: str
    location: str
    line: int
    accuracy: float | None  # limit of error as a fraction of the reading, if declared
    watts: dict[str, float] = field(default_factory=dict)  # by reading; empty if there was none
    seconds: float = 0.0  # that a reading took
    fault: str = ""  # why there was none, or which was missing
    warnings: tuple[str, ...] = ()  # what has to be shown to the user


def trials(path: str | Path, nodes: Sequence[str] = ()) -> Iterator[MeterCheck]:
    """Ask every meter of a cluster's file once, as a job of some nodes would; a counter twice.

    In the order of the file; `ConfigError` if it or a secret cannot be used.
    """
    wanted = config.load(path, nodes)
    context = Context(Commands(), wanted.timeout)
    meters = make_all(wanted.meters, context)
    try:
        with ThreadPoolExecutor(min(_AT_ONCE, len(meters))) as pool:
            yield from pool.map(lambda meter: _ask(meter, context), meters)
    finally:
        for meter in meters:
            meter.close()


def _ask(meter: Meter, context: Context) -> MeterCheck:
    watts: dict[str, float] = {}
    seconds, fault = 0.0, ""
    try:
        begin = time.monotonic()
        watts = meter.read()
        seconds = time.monotonic() - begin
        if meter.counts:
            watts = _rate(meter, watts, begin)
        absent = [name for name in meter.names() if name not in watts]
        fault = f"no value of {', '.join(absent)}" if absent else ""
    except MeterError as error:
        watts, fault = {}, redact(str(error), context.secrets)
    spec, options = meter.spec, meter.spec.options
    place = str(options.get("location", meter.location))
    own = tuple(line for line in context.warnings if f"{meter.name}:" in line)
    accuracy = options.get("accuracy")
    return MeterCheck(spec.name, spec.type, place, spec.line, accuracy, watts, seconds, fault, own)


def _rate(meter: Meter, first: dict[str, float], begin: float) -> dict[str, float]:
    """Return the mean power in W since a first reading of a counter in µJ."""
    time.sleep(_BETWEEN)
    passed = time.monotonic() - begin
    ranges = meter.ranges()
    second = meter.read()
    return {
        name: (value - first[name] + (ranges.get(name, 0) if value < first[name] else 0)) / 1e6 / passed
        for name, value in second.items()
        if name in first
    }

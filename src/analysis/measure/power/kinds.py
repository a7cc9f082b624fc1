"""The kinds of meters, known once their modules are imported; a kind more is a module and its name here."""

from __future__ import annotations

from analysis.base.errors import ConfigError, Fault
from analysis.measure.power import ipmi, local, redfish, snmp  # noqa: F401  # each joins `Meter.kinds`
from analysis.measure.power.commands import MeterError
from analysis.measure.power.config import MeterSpec
from analysis.measure.power.meters import Context, Meter


def make(spec: MeterSpec, context: Context) -> Meter:
    """Make the meter of a declared entry; a ConfigError if it cannot be used."""
    return Meter.kinds[spec.type](spec, context)


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
            meters.append(make(spec, context))
        except ConfigError as error:
            faults += error.faults
            meters.append(Unusable(spec, context, "; ".join(map(str, error.faults))))
    if all(isinstance(meter, Unusable) for meter in meters):
        raise ConfigError(*faults)
    return meters

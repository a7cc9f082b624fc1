"""The kinds of meters, by what is ``type`` in a cluster's file."""

from __future__ import annotations

from analysis.base.errors import ConfigError, Fault
from analysis.measure.power.bmc import Ipmitool, Redfish
from analysis.measure.power.commands import MeterError
from analysis.measure.power.config import MeterSpec
from analysis.measure.power.local import NvidiaSmi, Powercap, Slurm
from analysis.measure.power.meters import Context, Meter
from analysis.measure.power.snmp import Snmp

KINDS: dict[str, type[Meter]] = {"ipmitool": Ipmitool, "redfish": Redfish, "snmp": Snmp, "powercap": Powercap}
KINDS |= {"nvidia-smi": NvidiaSmi, "slurm": Slurm}


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

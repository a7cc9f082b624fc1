"""A node's power as its BMC gives it to ipmitool: DCMI, or a sensor in watts."""

from __future__ import annotations

import re

from analysis.measure.power.commands import MeterError
from analysis.measure.power.config import MeterSpec
from analysis.measure.power.meters import Context, Meter, quantity, watts

_DCMI = re.compile(r"Instantaneous power reading\s*:\s*(\S+(?:\s+\S+)?)\s*$", re.MULTILINE)
_STATE = re.compile(r"Power reading state is\s*:\s*(\S+)")
_SENSOR = re.compile(r"Sensor Reading\s*:\s*([\d.,]+)\s*(?:\([^)]*\))?\s*(\w+)")


class Ipmitool(Meter):
    """A BMC over the network (lanplus), or this node's own through its driver.

    The password goes to ipmitool through its environment (``-E``), where other users cannot read it.
    """

    location = "node input, by the BMC"

    def __init__(self, spec: MeterSpec, context: Context) -> None:
        super().__init__(spec, context)
        self._password = context.secret(spec, "password")
        options = spec.options
        argv = [str(options.get("program", "ipmitool"))]
        if "host" in options:
            # Its own retries have to end before the time limit does.
            pause = max(1, int(context.timeout / 3))
            argv += ["-I", "lanplus", "-H", options["host"], "-p", str(options.get("port", 623))]
            argv += ["-U", options["user"], "-E", "-N", str(pause), "-R", "1"]
            argv += ["-C", str(options["cipher"])] if "cipher" in options else []
            argv += ["-L", options.get("privilege", "USER")]
        sensor = options.get("sensor")
        self._argv = [*argv, *(("sdr", "get", sensor) if sensor else ("dcmi", "power", "reading"))]

    def read(self) -> dict[str, float]:
        """Return the momentary power."""
        secret = {"IPMI_PASSWORD": self._password.reveal()} if self._password else None
        text = self.run(self._argv, secret)
        return {self.name: _sensor(text) if "sensor" in self.spec.options else _dcmi(text)}


def _dcmi(text: str) -> float:
    found, state = _DCMI.search(text), _STATE.search(text)
    if state and state[1].lower() != "activated":
        raise MeterError(f"the BMC's power reading is {state[1]}")
    if found is None:
        raise MeterError("ipmitool printed no power reading")
    return watts(found[1])


def _sensor(text: str) -> float:
    found = _SENSOR.search(text)
    if found is None:
        raise MeterError("ipmitool printed no reading of the sensor")
    if quantity(found[2])[1] is None:
        raise MeterError(f"the sensor reads {found[2]}, not watts")
    return watts(f"{found[1]} {found[2]}")

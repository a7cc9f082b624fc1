"""What a board management controller measures: by ipmitool (DCMI, or a sensor), or over Redfish."""

import base64
import http.client
import json
import re
import ssl
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from analysis.base.words import SIMULATED
from analysis.measure.power.config import MeterSpec
from analysis.measure.power.meters import Context, Meter, MeterError, quantity, watts

_DCMI = re.compile(r"Instantaneous power reading\s*:\s*(\S+(?:\s+\S+)?)\s*$", re.MULTILINE)
_STATE = re.compile(r"Power reading state is\s*:\s*(\S+)")
_SENSOR = re.compile(r"Sensor Reading\s*:\s*([\d.,]+)\s*(?:\([^)]*\))?\s*(\w+)")
_LARGEST = 4 << 20  # B; a resource about power has a few thousand
LOOPBACK = ("127.0.0.1", "::1", "localhost")
_STALE = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)


class IpmitoolMeter(Meter):
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


class RedfishMeter(Meter):
    """One resource: Power, EnvironmentMetrics, PowerSupplyMetrics or Sensor.

    Redirections are not followed, so that the password goes to the declared host only.
    """

    location = "chassis, by the BMC"

    def __init__(self, spec: MeterSpec, context: Context) -> None:
        super().__init__(spec, context)
        parts = urlsplit(spec.options["url"])
        self._host, self._port = parts.hostname or "", parts.port
        self._path = parts.path + (f"?{parts.query}" if parts.query else "")
        self._tls = self._context(parts.scheme)
        self._connection: http.client.HTTPConnection | None = None
        self._password = context.secret(spec, "password")

    def _context(self, scheme: str) -> ssl.SSLContext | None:
        """Return how the connection is secured; None for plain http, where that is declared."""
        options = self.spec.options
        insecure = bool(options.get("insecure", False))
        if scheme == "http" and self._host in LOOPBACK and "password" not in options:
            return None  # no secret is sent, and nobody else listens
        if insecure:
            what = "plain http" if scheme == "http" else "a certificate that nobody checks"
            danger = "whoever is on the network can read or take over the password"
            self.context.warnings.append(f"WARNING: {self.name}: {what}: {danger}")
        elif scheme == "http":
            raise self.spec.error("plain http would send the password in the clear", "use https")
        if scheme == "http":
            return None
        try:
            tls = ssl.create_default_context(cafile=options.get("ca"))
        except (OSError, ssl.SSLError) as error:
            found = f"no certificates in {options.get('ca')}: {error.strerror or error}"
            raise self.spec.error(found, "give the authority's in PEM") from None
        if insecure:
            tls.check_hostname = False
            tls.verify_mode = ssl.CERT_NONE
        return tls

    def read(self) -> dict[str, float]:
        """Return every reading of the resource."""
        found = dict(_readings(self._get()))
        if not found:
            raise MeterError("the resource holds no power")
        # One reading is the meter itself; several have the names that the resource gives them.
        alone = len(found) == 1 and SIMULATED not in found
        return self.found({self.name if alone else f"{self.name}:{label}": w for label, w in found.items()})

    def _get(self) -> Any:
        try:
            status, body = self._ask_again() if self._connection is not None else self._ask()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise MeterError(self._reason(error)) from None
        if status != 200:
            raise MeterError(f"HTTP status {status}")
        try:
            return json.loads(body)
        except ValueError:
            raise MeterError("the answer is no JSON") from None

    def _reason(self, error: Exception) -> str:
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"certificate refused: {error.verify_message}"
        if isinstance(error, TimeoutError):
            return f"no answer in {self.context.timeout:g} s"
        return f"{type(error).__name__}: {error}"

    def _ask_again(self) -> tuple[int, bytes]:
        """Ask over the connection that is open; the BMC may have closed it, as it was idle."""
        try:
            return self._ask()
        except _STALE:
            self.close()
            return self._ask()

    def _ask(self) -> tuple[int, bytes]:
        if self._connection is None:
            self._connection = self._connect()
        headers = {"Accept": "application/json", "OData-Version": "4.0"}
        if self._password:
            pair = f"{self.spec.options['user']}:{self._password.reveal()}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        self._connection.request("GET", self._path, headers=headers)
        answer = self._connection.getresponse()
        body = answer.read(_LARGEST)
        if answer.will_close or not answer.isclosed():
            self.close()
        return answer.status, body

    def _connect(self) -> http.client.HTTPConnection:
        timeout = self.context.timeout
        if self._tls is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=timeout)
        return http.client.HTTPSConnection(self._host, self._port, timeout=timeout, context=self._tls)

    def close(self) -> None:
        """Close the connection; the next reading opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _readings(resource: Any) -> Iterator[tuple[str, float]]:
    """Yield label and W of each reading in a resource; null is none."""
    if not isinstance(resource, dict):
        return
    controls = resource.get("PowerControl")
    for position, control in enumerate(controls if isinstance(controls, list) else []):
        if isinstance(control, dict):
            label = str(control.get("MemberId") or control.get("Name") or position)
            yield from _number(label, control.get("PowerConsumedWatts"))
    for key in ("PowerWatts", "InputPowerWatts"):
        value = resource.get(key)
        yield from _number(key, value.get("Reading") if isinstance(value, dict) else value)
    if str(resource.get("ReadingUnits", "")) in ("W", "Watts"):
        yield from _number("Reading", resource.get("Reading"))


def _number(label: str, value: Any) -> Iterator[tuple[str, float]]:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9:
        yield "".join(c if c.isalnum() or c in "_.-" else "_" for c in label), float(value)

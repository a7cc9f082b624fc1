"""A power meter to try without hardware: a BMC that serves this machine's load as watts over Redfish.

Every reading of it is called ``simulated``, in the resource and so in the log of a run. No energy is made
of it (see `analysis.energy.meters.measured`).
"""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from analysis.base.errors import ConfigError
from analysis.base.words import SIMULATED

RESOURCE = "/redfish/v1/Chassis/1/Power"
_STAT = Path("/proc/stat")


class SimulatedPower:
    """Watts between `idle` and `busy`, by the share of processor time that was used since the last reading.

    `stat` is the kernel's file of processor times; ConfigError if it cannot be read.
    """

    def __init__(self, idle: float, busy: float, stat: Path = _STAT) -> None:
        self._idle, self._busy, self._stat = idle, busy, stat
        self._lock = threading.Lock()
        self._before, self._load = self._times(), 0.0

    def watts(self) -> float:
        """Return the power in W; after no time it is that of the last reading."""
        with self._lock:
            now = self._times()
            total, rest = (after - before for after, before in zip(now, self._before, strict=True))
            if total > 0:
                self._before, self._load = now, min(1.0, max(0.0, 1.0 - rest / total))
            return round(self._idle + self._load * (self._busy - self._idle), 1)

    def _times(self) -> tuple[int, int]:
        """Return the ticks of all processors since the start, and those in which they had nothing to do."""
        try:
            ticks = [int(cell) for cell in self._stat.read_text(encoding="ascii").split("\n")[0].split()[1:9]]
            return sum(ticks), ticks[3] + ticks[4]  # idle, and waiting for a disk
        except (OSError, ValueError, IndexError):
            remedy = "start it on a Linux machine"
            raise ConfigError.at(str(self._stat), 0, "tells no load of this machine", remedy) from None


def server(address: str, port: int, watts: Callable[[], float]) -> ThreadingHTTPServer:
    """Make a Redfish service of one chassis; port 0 is any that is free. ConfigError if the port is taken."""

    class Answer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            """Serve the power, and the way to it."""
            status = 200
            found: dict[str, Any] = {}
            if self.path == RESOURCE:
                found = resource(watts())
            elif self.path == "/redfish/v1/":
                found = {"Chassis": {"@odata.id": RESOURCE}}
            else:
                status = 404
            body = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing: there is a question a second."""

    try:
        return ThreadingHTTPServer((address, port), Answer)
    except (OSError, OverflowError) as error:
        what = f"cannot be served at: {getattr(error, 'strerror', '') or error}"
        raise ConfigError.at(f"{address}:{port}", 0, what, "choose another --port") from None


def resource(watts: float) -> dict[str, Any]:
    """Return the resource Power of a chassis that draws some W."""
    control = {"@odata.id": f"{RESOURCE}#/PowerControl/0", "MemberId": SIMULATED, "Name": SIMULATED}
    return {
        "@odata.id": RESOURCE,
        "@odata.type": "#Power.v1_5_0.Power",
        "Id": "Power",
        "Name": "Simulated power of no meter",
        "PowerControl": [{**control, "PowerConsumedWatts": watts}],
    }

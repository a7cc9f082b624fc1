"""Meters and the sampler's loop in this process, where answers and faults can be made at will."""

from __future__ import annotations

import http.server
import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from analysis.base.errors import ConfigError
from analysis.energy.integral import energy
from analysis.measure.power import bmc
from analysis.measure.power.config import MeterSpec, PowerConfig
from analysis.measure.power.kinds import KINDS
from analysis.measure.power.meters import Commands, Context, Meter, MeterError, quantity, watts
from analysis.measure.power.output import POWER, LogFile
from analysis.measure.power.sampler import Sampler


@pytest.fixture
def context() -> Context:
    return Context(Commands(), timeout=2.0, environment={"P": "s3cret"})


def spec(kind: str, **options: object) -> MeterSpec:
    return MeterSpec(kind, "n1", {"type": kind, "name": "n1", **options}, "c.yaml", 3)


def make(declared: MeterSpec, context: Context) -> Meter:
    return KINDS[declared.type](declared, context)


class Scripted(Meter):
    """A meter that answers as the test says, and notes when it was asked."""

    def __init__(self, context: Context, answers: object, pause: float = 0.0) -> None:
        super().__init__(spec("scripted"), context)
        self.answers, self.pause, self.asked = iter(answers), pause, []

    def read(self) -> dict[str, float]:
        self.asked.append(time.monotonic())
        time.sleep(self.pause)
        answer = next(self.answers)
        if isinstance(answer, Exception):
            raise answer
        return {"n1": answer}


def sample(
    tmp_path: Path, meter: Scripted, context: Context, period: float, until: int
) -> tuple[dict, list[str], list[str]]:
    """Run a sampler until the meter was asked so often; return summary, log and rows."""
    said: list[str] = []
    config = PowerConfig(period, 2.0, 4 * period, ())
    log = LogFile(tmp_path / "p.csv", POWER)
    stop, result = threading.Event(), {}
    sampler = Sampler(config, [meter], {False: log}, context, said.append)
    thread = threading.Thread(target=lambda: result.update(sampler.run(stop)))
    thread.start()
    latest = time.monotonic() + 20
    while len(meter.asked) <= until and time.monotonic() < latest:
        time.sleep(0.01)
    stop.set()
    thread.join()
    return result, said, (tmp_path / "p.csv").read_text().splitlines()


def test_sampler__does_not_drift(tmp_path, context):
    meter = Scripted(context, [100.0] * 100, pause=0.13)
    sample(tmp_path, meter, context, 0.1, 12)
    late = np.mod(np.array(meter.asked) - meter.asked[0] + 0.05, 0.1) - 0.05
    # One that waits a period after each reading would be late by 0.03 s more each time.
    assert np.median(np.abs(late)) < 0.02
    assert np.median(np.diff(meter.asked)) == pytest.approx(0.2, abs=0.03)


def test_sampler__asks_a_lost_meter_ever_more_rarely_and_notes_the_gap(tmp_path, context):
    context.secret(spec("x", password={"env": "P"}), "password")
    fault = MeterError('no route, "s3cret" was refused; really')
    meter = Scripted(context, [100.0, *[fault] * 5, *[200.0] * 50])
    summary, said, rows = sample(tmp_path, meter, context, 0.1, 10)
    # Waits of 1, 2, 4, 4 (the longest) and 4 periods after the five faults.
    steps = np.round(np.diff(meter.asked) / 0.1)
    assert steps[:6].tolist() == [1, 1, 2, 4, 4, 4]
    [one] = summary["meters"]
    assert one["blank"] == 1 + 1 + 2 + 4 + 4 + 4 - 1
    [gap] = one["gaps"]
    assert gap["reason"] == 'no route, "***" was refused; really'
    assert [line.split(" ")[1] for line in said] == ["lost", "back"]
    assert sum("not asked: lost, next try in" in row for row in rows) == one["blank"] - 5
    assert "s3cret" not in "".join(rows + said)
    with xr.open_dataset(tmp_path / "p.csv", engine="power_csv") as ds:
        values = ds["power"].values[0]
        assert np.isnan(values).sum() == one["blank"]
        assert set(values[np.isfinite(values)]) == {100.0, 200.0}
        whole = energy(ds, ds["time"].values[0], ds["time"].values[-1], max_gap=0.35)
    assert float(whole["covered"][0]) < 0.6  # the blanks are a gap of 1.6 s, not a bridge
    assert float(whole["energy_low"][0]) < float(whole["energy_high"][0])


def test_sampler__a_fault_of_ours_is_a_gap_and_not_the_end(tmp_path, context):
    meter = Scripted(context, [100.0, ZeroDivisionError("division by zero"), *[200.0] * 50])
    _, _, rows = sample(tmp_path, meter, context, 0.05, 4)
    assert "unexpected ZeroDivisionError: division by zero" in rows[2]
    assert rows[3].endswith(",n1,200,")


def test_output__a_full_disk_costs_rows_but_leaves_lines_whole(tmp_path, monkeypatch):
    log = LogFile(tmp_path / "p.csv", POWER)
    real = os.write
    room = [20]

    def write(fd: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(28, "No space left on device")
        part = data[: room[0]]
        room[0] -= len(part)
        return real(fd, part)

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(OSError, match="No space left"):
        log.add(0, [("n1", 1.0, "")])
    with pytest.raises(OSError, match="No space left"):
        log.add(10**9, [("n1", 2.0, "")])
    monkeypatch.setattr(os, "write", real)
    log.add(2 * 10**9, [("n1", 3.0, 'a, "b"')])
    log.close()
    assert (tmp_path / "p.csv").read_text().splitlines() == [
        "time,meter,power_W,note",
        "1970-01-01T00:00:00.",
        "1970-01-01T00:00:02.000000Z,n1,3,\"a, 'b'\"",
    ]


@pytest.mark.parametrize(
    ("text", "scale", "value"),
    [("212 Watts", 1.0, 212.0), ("4125", 0.1, 412.5), ("0.4 kW", 0.1, 400.0), ("1500 mW", 1.0, 1.5)],
)
def test_watts__of_what_tools_print(text, scale, value):
    assert watts(text, scale) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "No Such Object", "-3", "3 A", "4294967295", "1 MW", "nan"])
def test_watts__what_is_no_power_of_a_machine(text):
    with pytest.raises(MeterError):
        watts(text)
    assert quantity("3 A") == (3.0, None)


SENSOR = """Sensor ID              : Pwr Consumption (0x77)
 Entity ID             : 7.1
 Sensor Type (Threshold)  : Current
 Sensor Reading        : 154 (+/- 0) {unit}
 Status                : ok
"""


def test_ipmitool__a_sensor_in_watts_and_no_other(tmp_path, context):
    for unit in ("Watts", "Amps"):
        tool = tmp_path / f"ipmitool-{unit}"
        tool.write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/asked\ncat <<E\n{SENSOR.format(unit=unit)}E\n')
        tool.chmod(0o755)
    good = make(spec("ipmitool", sensor="Pwr Consumption", program=f"{tmp_path}/ipmitool-Watts"), context)
    assert good.read() == {"n1": 154.0}
    assert (tmp_path / "asked").read_text() == "sdr get Pwr Consumption\n"
    bad = make(spec("ipmitool", sensor="Pwr Consumption", program=f"{tmp_path}/ipmitool-Amps"), context)
    with pytest.raises(MeterError, match="reads Amps, not watts"):
        bad.read()


@pytest.mark.parametrize(
    ("resource", "found"),
    [
        ({"PowerControl": [{"MemberId": "0", "PowerConsumedWatts": 344}]}, {"0": 344.0}),
        (
            {
                "PowerControl": [
                    {"Name": "CPU Power", "PowerConsumedWatts": 90.5},
                    {"PowerConsumedWatts": None},
                ]
            },
            {"CPU_Power": 90.5},
        ),
        ({"PowerWatts": {"Reading": 374.2}, "EnergykWh": {"Reading": 9}}, {"PowerWatts": 374.2}),
        ({"InputPowerWatts": {"Reading": 937.4}}, {"InputPowerWatts": 937.4}),
        ({"Reading": 12.5, "ReadingUnits": "W"}, {"Reading": 12.5}),
        ({"Reading": 12.5, "ReadingUnits": "Cel"}, {}),
        ({"PowerControl": [{"PowerConsumedWatts": True}]}, {}),
        ({"PowerControl": "broken"}, {}),
        ([1], {}),
    ],
)
def test_redfish__resources(resource, found):
    assert dict(bmc._readings(resource)) == found


def test_redfish__plain_http_by_declaration_and_null_is_a_gap(context):
    bodies = [b'{"PowerWatts": {"Reading": 250.5}}', b'{"PowerWatts": {"Reading": null}}', b"<html>"]
    seen = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers["Authorization"])
            body = bodies.pop(0)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()  # HTTP/1.0: the connection closes after each answer
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/x"
        meter = make(spec("redfish", url=url, user="u", password={"env": "P"}, insecure=True), context)
        assert "WARNING: n1: plain http" in context.warnings[0]
        assert meter.read() == {"n1": 250.5}
        with pytest.raises(MeterError, match="holds no power"):
            meter.read()
        with pytest.raises(MeterError, match="no JSON"):
            meter.read()
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    with pytest.raises(MeterError, match="ConnectionRefusedError"):
        meter.read()
    assert seen == ["Basic dTpzM2NyZXQ="] * 3  # u:s3cret, by base64 of coreutils


def test_snmp__a_short_pass_phrase_and_a_unit_of_another_quantity_are_refused(context):
    common = {"host": "h", "objects": {"1": "1.3.6"}}
    with pytest.raises(ConfigError, match=r"c\.yaml:3: n1: auth_password is shorter than 8 characters"):
        make(spec("snmp", version="3", user="u", auth="SHA", auth_password={"env": "P"}, **common), context)
    with pytest.raises(ConfigError, match=r"the unit '0\.1 A' is no power"):
        make(spec("snmp", version="2c", community={"env": "P"}, unit="0.1 A", **common), context)

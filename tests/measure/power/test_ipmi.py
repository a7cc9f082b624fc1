"""ipmitool against ipmi_sim, with a module that answers DCMI."""

from __future__ import annotations

import contextlib
import json
import math
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .helpers import Sampler, assert_nowhere, free_port, need, powers, server, wrapper

PASSWORD = "ipmi-s3cret-9"
MODULE = Path(__file__).with_name("programs") / "dcmi.c"
LAN = """
name "bmc"
set_working_mc 0x20
loadlib "{module}" "{watts}"
startlan 1
  addr 127.0.0.1 {port}
  priv_limit admin
  allowed_auths_admin md5
  guid a123456789abcdefa123456789abcdef
endlan
user 2 true "bench" "{password}" admin 10 md5
"""
BMC = "mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr\nmc_enable 0x20\n"
CONFIG = """
power:
  period: 0.2
  timeout: 3
  longest_wait: 0.4
  meters:
    - {{type: ipmitool, name: "{{node}}", host: 127.0.0.1, port: {port}, user: bench, cipher: 3,
       privilege: ADMINISTRATOR, password: {password}, program: {program}, accuracy: 0.02}}
"""


@pytest.fixture
def bmc(tmp_path: Path) -> tuple[int, Path, contextlib.AbstractContextManager[object]]:
    """Prepare a BMC outside the folder that is searched; its port, its watts, and how it is run."""
    need("ipmitool", "ipmi_sim", "gcc")
    place = tmp_path / "bmc"
    place.mkdir()
    port = free_port(socket.SOCK_DGRAM)
    built = subprocess.run(
        ["gcc", "-shared", "-fPIC", "-o", place / "dcmi.so", MODULE],
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode:
        pytest.skip("no headers of OpenIPMI; run tests/measure/power/install.sh")
    (place / "watts").write_text("212")
    names = {"module": place / "dcmi.so", "watts": place / "watts", "port": port, "password": PASSWORD}
    (place / "lan.conf").write_text(LAN.format(**names))
    (place / "bmc.emu").write_text(BMC)

    @contextlib.contextmanager
    def run() -> Iterator[None]:
        argv = ["ipmi_sim", "-n", "-c", f"{place}/lan.conf", "-f", f"{place}/bmc.emu", "-s", f"{place}/state"]
        with server(argv, place / "log"):
            yield

    return port, place / "watts", run


def test_ipmi__a_bmc_that_dies_leaves_a_gap_and_the_password_is_nowhere(bmc, tmp_path):
    port, watts, run = bmc
    job = tmp_path / "job"
    job.mkdir()
    program = wrapper(job, "ipmitool")
    config = CONFIG.format(port=port, password="{env: BMC_PASSWORD}", program=program)
    with run():
        sampler = Sampler(config, job, "--nodes", "n07", BMC_PASSWORD=PASSWORD)
        sampler.await_rows(",n07,212,", 4)
    sampler.await_rows(",n07,,", 2)  # the BMC is dead
    watts.write_text("347")
    with run():
        sampler.await_rows(",n07,347,", 4)
        assert sampler.end() == 0
    values = powers(sampler.out, "n07")
    seen = [value for value in values if not math.isnan(value)]
    assert set(seen) == {212.0, 347.0}
    assert seen == sorted(seen)
    assert sum(map(math.isnan, values)) >= 2
    [meter] = json.loads((job / "power.summary.json").read_text())["meters"]
    [gap] = meter["gaps"]
    assert gap["start"] < gap["end"]
    assert "Unable to establish" in gap["reason"]
    assert meter["accuracy"] == 0.02
    assert meter["readings"] == len(seen)
    assert "n07: lost at" in sampler.said()
    assert "n07: back at" in sampler.said()
    assert " -E " in (job / "ipmitool.argv").read_text()  # the search below searches what was run
    assert_nowhere(PASSWORD, sampler)


def test_ipmi__a_wrong_password_is_a_gap_that_does_not_print_it(bmc, tmp_path):
    port, _, run = bmc
    job = tmp_path / "job"
    job.mkdir()
    file = tmp_path / "password"
    file.write_text("not-the-pass\n")
    file.chmod(0o600)
    program = wrapper(job, "ipmitool")
    with run():
        config = CONFIG.format(port=port, password=f"{{file: {file}}}", program=program)
        sampler = Sampler(config, job, "--nodes", "n07")
        sampler.await_rows(",n07,,", 2)
        assert sampler.end() == 0
    assert all(map(math.isnan, powers(sampler.out, "n07")))
    assert_nowhere("not-the-pass", sampler)

"""Redfish against sushy-tools' emulator over TLS, with an authority that the test makes."""

from __future__ import annotations

import base64
import contextlib
import json
import math
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .helpers import Sampler, assert_nowhere, free_port, need, powers, server, wait_for

PASSWORD = "redfish-s3cret-4"
PROGRAM = Path(__file__).with_name("programs") / "redfish.py"
CONFIG = """
power:
  period: 0.2
  timeout: 3
  longest_wait: 0.4
  meters:
    - {{type: redfish, name: n1, url: "{url}", user: bench, password: {{env: BMC}}{more}}}
"""


@pytest.fixture(scope="session")
def emulator(tmp_path_factory) -> Path:
    """Install the emulator into an environment of its own; it is no dependency of the project."""
    place = tmp_path_factory.mktemp("emulator")
    for argv in (
        [sys.executable, "-m", "venv", place],
        [place / "bin/pip", "install", "--quiet", "sushy-tools==2.2.0", "bcrypt"],
    ):
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip() or "nothing").splitlines()[-1]
            pytest.skip(f"the Redfish emulator sushy-tools cannot be installed from PyPI: {last}")
    return place / "bin/python"


def certificate(place: Path, name: str, subject: str = "IP:127.0.0.1") -> None:
    """Make an authority and a certificate of 127.0.0.1, or of other names, that it signed."""
    need("openssl")
    quiet = ["-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj"]
    key, request = f"{place}/{name}.key", f"{place}/{name}.csr"
    authority = (f"{place}/{name}-ca.pem", f"{place}/{name}-ca.key")
    signed = ["x509", "-req", "-CAcreateserial", "-days", "2", "-extfile", f"{place}/san"]
    (place / "san").write_text(f"subjectAltName={subject}\n")
    for argv in (
        ["req", "-x509", *quiet, f"/CN={name} authority", "-keyout", authority[1], "-out", authority[0]],
        ["req", *quiet, "/CN=127.0.0.1", "-keyout", key, "-out", request],
        [*signed, "-in", request, "-CA", authority[0], "-CAkey", authority[1], "-out", f"{place}/{name}.pem"],
    ):
        subprocess.run(["openssl", *argv], capture_output=True, check=True)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "bmc"
    folder.mkdir()
    (folder / "watts").write_text("431.5")
    (folder / "password").write_text(PASSWORD)
    certificate(folder, "right")
    certificate(folder, "other")
    (tmp_path / "job").mkdir()
    return folder


@contextlib.contextmanager
def bmc(python: Path, place: Path, port: int) -> Iterator[None]:
    argv = [str(python), str(PROGRAM), str(port), f"{place}/right.pem", f"{place}/right.key", str(place)]
    with server(argv, place / "log"):

        def answers() -> bool:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return True
            return False

        wait_for(answers, "the emulator's start")
        yield


@pytest.mark.slow
def test_redfish__power_over_tls_with_a_gap_and_no_password_anywhere(emulator, place, tmp_path):
    port, job = free_port(socket.SOCK_STREAM), tmp_path / "job"
    url = f"https://127.0.0.1:{port}/redfish/v1/Chassis/1/Power"
    with bmc(emulator, place, port):
        sampler = Sampler(CONFIG.format(url=url, more=f", ca: {place}/right-ca.pem"), job, BMC=PASSWORD)
        sampler.await_rows(",n1,431.5,", 4)
    sampler.await_rows(",n1,,", 2)
    (place / "watts").write_text("600")
    with bmc(emulator, place, port):
        sampler.await_rows(",n1,600,", 3)
        assert sampler.end() == 0
    seen = [value for value in powers(sampler.out, "n1") if not math.isnan(value)]
    assert set(seen) == {431.5, 600.0}
    assert len(json.loads((job / "power.summary.json").read_text())["meters"][0]["gaps"]) == 1
    assert_nowhere(PASSWORD, sampler)
    assert_nowhere(base64.b64encode(f"bench:{PASSWORD}".encode()).decode(), sampler)


@pytest.mark.slow
def test_redfish__refuses_a_certificate_of_another_authority_and_sends_no_password(emulator, place, tmp_path):
    port, job = free_port(socket.SOCK_STREAM), tmp_path / "job"
    url = f"https://127.0.0.1:{port}/redfish/v1/Chassis/1/Power"
    with bmc(emulator, place, port):
        sampler = Sampler(CONFIG.format(url=url, more=f", ca: {place}/other-ca.pem"), job, BMC=PASSWORD)
        sampler.await_rows("certificate refused", 2)
        assert sampler.end() == 0
        assert "GET /redfish" not in (place / "log").read_text()
    assert all(map(math.isnan, powers(sampler.out, "n1")))


def test_redfish__a_wrong_password_is_a_gap(emulator, place, tmp_path):
    port, job = free_port(socket.SOCK_STREAM), tmp_path / "job"
    url = f"https://127.0.0.1:{port}/redfish/v1/Chassis/1/Power"
    with bmc(emulator, place, port):
        sampler = Sampler(CONFIG.format(url=url, more=f", ca: {place}/right-ca.pem"), job, BMC="wrong")
        sampler.await_rows("HTTP status 401", 2)
        assert sampler.end() == 0


@pytest.mark.slow
def test_redfish__without_a_check_of_the_certificate_only_with_a_loud_warning(emulator, place, tmp_path):
    port, job = free_port(socket.SOCK_STREAM), tmp_path / "job"
    url = f"https://127.0.0.1:{port}/redfish/v1/Chassis/1/Power"
    with bmc(emulator, place, port):
        sampler = Sampler(CONFIG.format(url=url, more=", insecure: true"), job, BMC=PASSWORD)
        sampler.await_rows(",n1,431.5,", 1)
        assert sampler.end() == 0
    assert "WARNING: n1: a certificate that nobody checks" in sampler.said()
    assert "WARNING" in json.loads((job / "power.summary.json").read_text())["warnings"][0]


def test_redfish__plain_http_is_refused(tmp_path):
    sampler = Sampler(CONFIG.format(url="http://127.0.0.1:1/x", more=""), tmp_path, BMC=PASSWORD)
    assert sampler.wait() == 1
    assert "cluster.yaml:7: n1: plain http would send the password in the clear; use https" in sampler.said()
    assert not sampler.out.exists()

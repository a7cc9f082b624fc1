"""snmpget against net-snmp's own agent, v2c and v3."""

from __future__ import annotations

import contextlib
import math
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from .helpers import Sampler, assert_nowhere, free_port, need, powers, server, wrapper

COMMUNITY, AUTH, PRIVACY = "c0mmunity-s3cret", "auth-s3cret-1", "priv-s3cret-2"
OUTLET = "1.3.6.1.4.1.99999.1"
AGENT = f"""
agentaddress udp:127.0.0.1:{{port}}
rocommunity {COMMUNITY} 127.0.0.1
createUser bench SHA-256 "{AUTH}" AES "{PRIVACY}"
rouser bench priv
override {OUTLET}.1 integer 4125
override {OUTLET}.2 octet_str "398.5"
"""
CONFIG = """
power:
  period: 0.2
  timeout: 2
  longest_wait: 0.4
  meters:
    - type: snmp
      name: pdu1
      host: 127.0.0.1
      port: {port}
      program: {program}
      unit: 0.1 W
      objects: {{"1": {oid}.1, "2": {oid}.2, "3": {oid}.3}}
      {access}
"""
V2C = 'version: "2c"\n      community: {env: COMMUNITY}'
V3 = """version: "3"
      user: bench
      auth: SHA-256
      auth_password: {env: AUTH}
      privacy: AES
      privacy_password: {env: PRIVACY}"""


@contextlib.contextmanager
def agent(place: Path, port: int) -> Iterator[None]:
    place.mkdir(exist_ok=True)
    (place / "snmpd.conf").write_text(AGENT.format(port=port))
    own = f"SNMP_PERSISTENT_DIR={place}/kept SNMPCONFPATH={place} MIBS="
    with server(["sh", "-c", f"{own} exec snmpd -f -Lo -C -c {place}/snmpd.conf"], place / "log"):
        yield


@pytest.mark.parametrize(
    ("access", "secrets"),
    [(V2C, {"COMMUNITY": COMMUNITY}), (V3, {"AUTH": AUTH, "PRIVACY": PRIVACY})],
    ids=["v2c", "v3"],
)
def test_snmp__outlets_are_read_and_an_agent_that_dies_leaves_a_gap(access, secrets, tmp_path):
    need("snmpget", "snmpd")
    port = free_port(socket.SOCK_DGRAM)
    job = tmp_path / "job"
    job.mkdir()
    program = wrapper(job, "snmpget")
    with agent(tmp_path / "agent", port):
        config = CONFIG.format(port=port, program=program, oid=OUTLET, access=access)
        sampler = Sampler(config, job, **secrets)
        sampler.await_rows(",pdu1:1,412.5,", 4)
        assert list((job / "tmp").glob("benchbook-snmp-*/*"))  # searched while it is there
        for secret in secrets.values():
            for path in (job / "tmp").rglob("*"):
                assert path.is_symlink() or path.is_dir() or secret.encode() not in path.read_bytes()
    sampler.await_rows(",pdu1:1,,", 2)
    assert sampler.end() == 0
    assert [v for v in powers(sampler.out, "pdu1:1") if not math.isnan(v)][:4] == [412.5] * 4
    assert powers(sampler.out, "pdu1:2")[0] == 39.85  # 398.5 counts of 0.1 W, a number in a string
    assert all(map(math.isnan, powers(sampler.out, "pdu1:3")))  # an object that the agent lacks
    assert math.isnan(powers(sampler.out, "pdu1:1")[-1])
    assert "snmpget" in (job / "snmpget.argv").read_text()
    assert not list((job / "tmp").iterdir())
    for secret in secrets.values():
        assert_nowhere(secret, sampler)

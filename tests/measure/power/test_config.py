from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

from analysis.base.errors import ConfigError
from analysis.base.slurm import node_names
from analysis.measure.power.config import check, here, load, variables
from analysis.measure.power.credentials import Secret, redact, resolve
from analysis.measure.power.meters import Commands, MeterError
from analysis.measure.power.snmp import _outlets


def written(tmp_path, meters: str):
    path = tmp_path / "c.yaml"
    path.write_text(f"power:\n  meters:\n{meters}")
    return path


def test_config__a_secret_written_in_the_configuration_is_refused_and_not_repeated(tmp_path):
    for entry in (
        "    - {type: ipmitool, name: a, host: h, user: u, password: hunter2}\n",
        "    - {type: ipmitool, name: a, host: h, user: u, password: {file: x, env: hunter2}}\n",
        '    - {type: snmp, name: a, host: h, version: "2c", community: hunter2, objects: {o: "1.3"}}\n',
        '    - {type: snmp, name: a, host: h, version: hunter2, community: {env: A}, objects: {o: "1.3"}}\n',
        '    - {type: redfish, name: a, url: "https://u:hunter2@h/x"}\n',
    ):
        with pytest.raises(ConfigError) as caught:
            load(written(tmp_path, entry))
        assert "hunter2" not in str(caught.value)
        assert "c.yaml:3: power.meters.0" in str(caught.value)


def test_config__one_meter_for_each_node_of_the_job(tmp_path):
    entry = '    - {type: ipmitool, name: "{node}", host: "{node}-bmc", user: u, password: {env: P}}\n'
    meters = load(written(tmp_path, entry), node_names("n[08-10],x7")).meters
    assert [meter.name for meter in meters] == ["n08", "n09", "n10", "x7"]
    assert [meter.options["host"] for meter in meters] == ["n08-bmc", "n09-bmc", "n10-bmc", "x7-bmc"]


def test_config__a_local_meter_is_that_of_this_node(tmp_path, monkeypatch):
    monkeypatch.setattr("socket.gethostname", lambda: "n09.cluster.example")
    meters = load(written(tmp_path, '    - {type: powercap, name: "{node}"}\n'), ["n08", "n09"]).meters
    assert [meter.name for meter in meters] == ["n09"]


def test_config__a_job_reads_the_meters_of_its_own_nodes(tmp_path):
    pdu = '    - {type: snmp, name: pdu, host: p, version: "2c", community: {env: P},\n'
    pdu += '       nodes: {n1: "1.3.1", n2: ["1.3.2", "1.3.3"], n3: "1.3.4"}}\n'
    bmc = "    - {type: ipmitool, name: b1, host: b1, node: n1, user: u, password: {env: P}}\n"
    path = written(tmp_path, pdu + bmc)
    (one,) = load(path, ["n2"]).meters
    feeds, objects = _outlets(one)
    assert feeds == {"pdu:n2:1": "n2", "pdu:n2:2": "n2"}  # two cords, which add up
    assert list(objects.values()) == ["1.3.2", "1.3.3"]
    assert [meter.node for meter in load(path, ["n1", "n2"]).meters] == ["", "n1"]
    with pytest.raises(ConfigError, match=r"c\.yaml:2: no meter measures n9"):
        load(path, ["n9"])
    assert variables(path) == ["P"]


def test_config__the_example_in_the_documentation_can_be_used(tmp_path):
    page = (Path(__file__).parents[3] / "docs/power.md").read_text(encoding="utf-8")
    (tmp_path / "c.yaml").write_text(re.search(r"```yaml\n(power:.*?)```", page, re.DOTALL)[1])
    check(tmp_path / "c.yaml", several=True)
    meters = load(tmp_path / "c.yaml", ["n01", "n02"]).meters
    each = ["ipmitool", "redfish"]  # two nodes
    local = ["powercap", "nvidia-smi"]  # this one
    assert sorted(m.type for m in meters) == sorted([*each, *each, "snmp", *local, "slurm", "slurm"])


def test_config__local_meters_are_told_apart_by_their_node(tmp_path):
    path = written(tmp_path, "    - {type: powercap, name: cpu}\n")
    assert [meter.node for meter in load(path, [here()]).meters] == [here()]
    with pytest.raises(ConfigError, match=r"c\.yaml:3: cpu: every node of a job has one of its own; write"):
        check(path, several=True)
    check(path, several=False)
    both = '    - {type: powercap, name: "{node}"}\n    - {type: slurm, name: s, node: n2}\n'
    assert [meter.type for meter in load(written(tmp_path, both), ["n2"], local=True).meters] == ["powercap"]


@pytest.mark.parametrize(
    ("meters", "found"),
    [
        ("    - {type: powercap, name: a}\n    - {type: powercap, name: a}\n", ":3: a: two meters have this"),
        (
            '    - {type: redfish, name: "{node}", url: "https://{node}/x"}\n',
            ":3: {node} stands for the job's nodes",
        ),
        (
            "    - {type: wattmeter, name: a}\n",
            ":3: power.meters.0.type: what is written",
        ),
        ("    - {type: ipmitool, name: a, host: h}\n", "'user' is a dependency of 'host'"),
        (
            '    - {type: snmp, name: a, host: h, version: "3", objects: {o: "1.3"}}\n',
            "'user' is a required property",
        ),
        (
            "    - {type: ipmitool, name: a, host: -Kx, user: u, password: {env: P}}\n",
            "host: what is written there does not",
        ),
    ],
)
def test_config__faults_have_their_line(tmp_path, meters, found):
    with pytest.raises(ConfigError) as caught:
        load(written(tmp_path, meters))
    assert found in str(caught.value)


def test_credentials__a_file_open_to_others_is_refused_by_name(tmp_path):
    file = tmp_path / "password"
    file.write_text("hunter2\n")
    for mode in (0o640, 0o604, 0o620, 0o644):
        file.chmod(mode)
        with pytest.raises(ConfigError, match=rf"c:3: .*password has mode {mode:o}.*chmod 600") as caught:
            resolve({"file": str(file)}, {}, "c", 3)
        assert "hunter2" not in str(caught.value)
    for mode in (0o600, 0o400):
        file.chmod(mode)
        assert resolve({"file": str(file)}, {}, "c", 3).reveal() == "hunter2"


def test_credentials__absent_ones_are_named(tmp_path):
    with pytest.raises(ConfigError, match="the variable BMC is not set"):
        resolve({"env": "BMC"}, {"BMC": ""}, "c", 1)
    with pytest.raises(ConfigError, match=r"cannot read .*/none: No such file"):
        resolve({"file": str(tmp_path / "none")}, {}, "c", 1)


def test_credentials__a_secret_does_not_print_itself():
    secret = Secret("hunter2")
    assert f"{secret} {secret!r}" == "Secret(***) Secret(***)"
    assert redact("said hunter2 and hunter22", [secret, Secret("hunter22")]) == "said *** and ***"
    with pytest.raises(TypeError):
        pickle.dumps(secret)


def test_credentials__a_tools_long_words_are_cut_after_their_secrets_are_gone(tmp_path):
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\nprintf '%0150d' 0 >&2\necho ' hunter2-and-more' >&2\nexit 1\n")
    tool.chmod(0o755)
    with pytest.raises(MeterError) as caught:
        Commands().run([str(tool)], {}, 5.0)
    said = redact(str(caught.value), [Secret("hunter2-and-more")])
    assert "ended with 1: 000" in said
    assert "hunter" not in said
    assert len(redact("x" * 999, [])) == 600

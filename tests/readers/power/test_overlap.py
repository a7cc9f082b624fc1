"""Meters of one log that overlap: which are named, by the names that each tool's reader gives."""

import pytest

from analysis import readers
from analysis.readers.power.log import overlapping


@pytest.mark.parametrize(
    ("tool", "counted", "apart"),
    [
        ("turbostat", ["package", "memory"], ["cores", "graphics", "system"]),
        ("turbostat", ["cores"], []),  # without a package they are all there is
        (
            "perf stat",
            ["S0/energy-pkg", "S0/energy-ram", "S1/energy-pkg"],
            ["S0/energy-cores", "energy-psys"],
        ),
        ("powercap", ["package-0 intel-rapl:0", "dram intel-rapl:0:1"], ["core intel-rapl:0:0", "psys"]),
        ("powercap", ["intel-rapl:0", "intel-rapl:1"], ["intel-rapl:0:0"]),
        ("Cray pm_counters", ["n1/node", "n2/node"], ["n1/cpu", "n1/memory", "n2/accel0"]),
        ("GEOPM", ["n1/package", "n1/dram"], ["n1/board"]),
        ("Redfish", ["1/System Power Control"], ["1/CPU Sub-system Power", "1/Memory Sub-system Power"]),
        ("Redfish", ["SystemInputPower"], ["TotalCPUPower", "SystemPowerConsumption", "SystemOutputPower"]),
        (
            "Redfish",
            ["1 PowerWatts"],
            ["1/CPU1 PowerWatts", "1/PSU1 InputPowerWatts", "1/PSU1 OutputPowerWatts"],
        ),
        ("Redfish", ["1/A InputPowerWatts", "1/B InputPowerWatts"], ["1/A OutputPowerWatts"]),
        ("power_csv", ["cores", "package", "system"], []),  # whoever wrote it knows what they are
    ],
)
def test_overlapping__leaves_what_adds_up(tool: str, counted: list[str], apart: list[str]) -> None:
    assert sorted(overlapping(tool, [*apart, *counted])) == sorted(apart)


def test_overlapping__is_said_by_the_dataset_which_keeps_all() -> None:
    text = "CPU\tTime_Of_Day_Seconds\tPkgWatt\tCorWatt\tRAMWatt\n"
    text += "".join(f"-\t{1700000000 + i}.000000\t50.00\t30.00\t5.00\n" for i in range(3))
    ds = readers.parse(text.encode(), "t.log", engine="turbostat")
    assert ds["meter"].values.tolist() == ["package", "cores", "memory"]
    assert ds.attrs["apart"] == ["cores"]

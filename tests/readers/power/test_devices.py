"""GPUs, Redfish, and meters at the wall."""

import json

import numpy as np
import pytest

from analysis import readers
from analysis.base.errors import ReadError
from analysis.readers.power.formats import nvidia_smi, ptdaemon, redfish, rocm_smi, wattsup, yokogawa

T0 = "2026-03-01T10:00:00Z"


def times(ds):
    return [str(t)[:23] for t in ds["time"].values.astype("datetime64[ms]")]


def test_nvidia_smi__csv_with_units_and_blanks():
    text = (
        "timestamp, index, power.draw [W], temperature.gpu\n"
        "2026/03/01 10:00:00.100, 0, 61.50 W, 40\n2026/03/01 10:00:00.100, 1, [N/A], 41\n"
        "2026/03/01 10:00:01.100, 0, 0.0625 kW, 40\n2026/03/01 10:00:01.100, 1, 70.00 W, 41\n"
    )
    ds = nvidia_smi.parse(text.encode(), tz="UTC")
    assert ds["meter"].values.tolist() == ["0", "1"]
    assert ds["power"].values[0].tolist() == [61.5, 62.5]
    assert np.isnan(ds["power"].values[1, 0])
    assert times(ds)[0] == "2026-03-01T10:00:00.100"


def test_nvidia_smi__instant_power_goes_before_the_average():
    text = "timestamp, power.draw.average [W], power.draw.instant [W]\n2026/03/01 10:00:00, 60.0, 90.0\n"
    assert nvidia_smi.parse(text.encode())["power"].item() == 90


def xml(*gpus, stamp="Sun Mar  1 10:00:00 2026", section="gpu_power_readings"):
    body = "".join(
        f'  <gpu id="{i}">\n    <{section}>\n'
        + "".join(f"      <{tag}>{text}</{tag}>\n" for tag, text in gpu.items())
        + f"    </{section}>\n    <module_power_readings>\n      <power_draw>5 W</power_draw>\n"
        "    </module_power_readings>\n  </gpu>\n"
        for i, gpu in enumerate(gpus)
    )
    head = f'<?xml version="1.0" ?>\n<nvidia_smi_log>\n  <timestamp>{stamp}</timestamp>\n'
    return f"{head}{body}</nvidia_smi_log>\n"


def test_nvidia_smi__xml_documents_one_after_the_other():
    text = xml({"power_draw": "67.03 W"}, {"power_draw": "N/A"})
    text += xml({"power_draw": "70 W"}, {"power_draw": "20 W"}, stamp="Sun Mar  1 10:00:01 2026")
    ds = nvidia_smi.parse(text.encode(), tz="UTC")
    assert ds["power"].values[0].tolist() == [67.03, 70]
    assert np.isnan(ds["power"].values[1, 0])
    cut = nvidia_smi.parse(text.encode()[:-200], tz="UTC")
    assert cut["power"].values[0].tolist() == [67.03, 70]


def test_nvidia_smi__closing_tag_without_a_line_end_is_whole():
    ds = nvidia_smi.parse(xml({"power_draw": "67.03 W"}).rstrip().encode(), tz="UTC")
    assert (ds["power"].item(), ds.attrs["complete"]) == (67.03, True)


def test_nvidia_smi__xml_of_newer_drivers():
    gpu = {"average_power_draw": "60 W", "instant_power_draw": "90 W"}
    assert nvidia_smi.parse(xml(gpu).encode())["power"].item() == 90
    gpu["instant_power_draw"] = "N/A"
    assert nvidia_smi.parse(xml(gpu).encode())["power"].item() == 60


def test_rocm_smi__cards_and_present_before_average():
    card = {"Average Graphics Package Power (W)": "36.0", "Max Graphics Package Power (W)": "290.0"}
    newer = {"Current Socket Graphics Package Power (W)": "550.5"}
    text = json.dumps({"card0": card, "card1": newer, "card2": {"GPU use (%)": "0"}, "system": {}}, indent=2)
    ds = rocm_smi.parse(text.encode(), start=T0)
    assert ds["meter"].values.tolist() == ["card0", "card1"]
    assert ds["power"].values.tolist() == [[36], [550.5]]
    assert times(ds) == ["2026-03-01T10:00:00.000"]


def test_rocm_smi__documents_with_the_loggers_stamps():
    one = json.dumps({"card0": {"Average Graphics Package Power (W)": "36.0"}})
    ds = rocm_smi.parse(f"2026-03-01T10:00:00Z\n{one}\n2026-03-01T10:00:01Z {one}\n".encode())
    assert times(ds) == ["2026-03-01T10:00:00.000", "2026-03-01T10:00:01.000"]
    with pytest.raises(ReadError, match="no reading with a time"):
        rocm_smi.parse(f"{one}\n{one}\n".encode())


def test_amd_smi__shapes_of_its_versions():
    def gpu(number, **powers):
        return {"gpu": number, "usage": {}, "power": {"throttle_status": "UNTHROTTLED", **powers}}

    watts = {"value": 142, "unit": "W"}
    first = [
        gpu(0, socket_power=watts),
        gpu(1, socket_power="N/A"),
        {"gpu": 2, "limit": {"socket_power": watts}},
    ]
    later = {
        "gpu_data": [
            gpu(0, current_socket_power="N/A", average_socket_power={"value": 90}),
            gpu(1, socket_power=7),
        ]
    }
    text = f"{T0}\n{json.dumps(first, indent=1)}\n2026-03-01T10:00:01Z\n{json.dumps(later)}\n"
    ds = readers.parse(text.encode())
    assert (ds.attrs["tool"], ds["meter"].values.tolist()) == ("amd-smi", ["gpu0", "gpu1"])
    assert np.array_equal(ds["power"].values, [[142, 90], [np.nan, 7]], equal_nan=True)


POWER = {
    "@odata.id": "/redfish/v1/Chassis/1U/Power",
    "PowerControl": [
        {"Name": "Server", "PowerConsumedWatts": 344, "PowerMetrics": {"AverageConsumedWatts": 319}}
    ],
    "PowerSupplies": [{"PowerInputWatts": 900}],
}


def test_redfish__power_with_a_declared_time():
    ds = redfish.parse(json.dumps(POWER, indent=2).encode(), start=T0)
    assert ds["meter"].values.tolist() == ["1U/Server"]
    assert ds["power"].item() == 344
    assert times(ds) == ["2026-03-01T10:00:00.000"]


def test_redfish__one_document_without_a_time_says_so():
    ds = redfish.parse(json.dumps(POWER).encode(), "p.json")
    assert ds["power"].item() == 344
    assert np.isnat(ds["time"].values[0])
    # The file is whole: it has no place on a time axis, that is all.
    assert ds.attrs["complete"] is True
    assert ds.attrs["warnings"] == ["p.json:1: the reading has no time; pass start= with it"]


def test_redfish__resources_of_the_power_subsystem():
    metrics = {"@odata.id": "/redfish/v1/Chassis/1U/EnvironmentMetrics", "PowerWatts": {"Reading": 374}}
    supply = {
        "@odata.id": "/redfish/v1/Chassis/1U/PowerSubsystem/PowerSupplies/1/Metrics",
        "InputPowerWatts": {"Reading": 200.5},
        "OutputPowerWatts": {"Reading": 180},
    }
    lines = [
        json.dumps({"timestamp": T0, "data": [metrics, supply]}),
        json.dumps({"timestamp": T0[:-2] + "9Z", "data": metrics}),
    ]
    ds = redfish.parse("\n".join(lines).encode())
    assert ds["meter"].values.tolist() == ["1U PowerWatts", "1U/1 InputPowerWatts", "1U/1 OutputPowerWatts"]
    assert ds["power"].values[0].tolist() == [374, 374]
    assert ds["power"].values[1:, 0].tolist() == [200.5, 180]


def test_redfish__resources_of_one_chassis_stay_apart():
    # Two GPUs, two supplies, two controls with one name: their means would be numbers of nothing.
    place = "/redfish/v1/Systems/HGX/Processors/GPU_{}/EnvironmentMetrics"
    gpus = [{"@odata.id": place.format(i), "PowerWatts": {"Reading": 200 + i}} for i in (0, 1)]
    place = "/redfish/v1/Chassis/1U/PowerSubsystem/PowerSupplies/Bay{}/Metrics"
    supplies = [{"@odata.id": place.format(i), "InputPowerWatts": {"Reading": 300 + i}} for i in (1, 2)]
    named = [{"MemberId": str(i), "Name": "Input", "PowerConsumedWatts": 400 + i} for i in (0, 1)]
    power = {"@odata.id": "/redfish/v1/Chassis/1U/Power", "PowerControl": named}
    ds = redfish.parse(json.dumps([*gpus, *supplies, power]).encode(), start=T0)
    assert dict(zip(ds["meter"].values, ds["power"].values[:, 0], strict=True)) == {
        "HGX/GPU_0 PowerWatts": 200,
        "HGX/GPU_1 PowerWatts": 201,
        "1U/Bay1 InputPowerWatts": 301,
        "1U/Bay2 InputPowerWatts": 302,
        "1U/Input 0": 400,
        "1U/Input 1": 401,
    }


def test_redfish__schema_of_power_is_no_reading():
    text = {"@odata.id": "x", "PowerControl": "a text", "properties": {"PowerWatts": {"$ref": "#/Power"}}}
    with pytest.raises(ReadError, match="no reading of power in these resources"):
        redfish.parse(json.dumps(text).encode())


def test_redfish__telemetry_report_has_its_own_times():
    values = [
        {"MetricId": "PowerConsumedWatts", "MetricValue": "300", "Timestamp": "2026-03-01T11:00:00+01:00"},
        {"MetricId": "PowerConsumedWatts", "MetricValue": "310", "Timestamp": "2026-03-01T11:00:10+01:00"},
        {"MetricId": "TotalCPUPower", "MetricValue": "120", "Timestamp": "2026-03-01T11:00:10+01:00"},
        {"MetricId": "ApparentPower", "MetricValue": "9", "Timestamp": "2026-03-01T11:00:10+01:00"},
        {"MetricId": "InletTemp", "MetricValue": "20", "Timestamp": "2026-03-01T11:00:10+01:00"},
    ]
    ds = redfish.parse(
        json.dumps({"@odata.id": "/redfish/v1/TelemetryService/x", "MetricValues": values}).encode()
    )
    assert ds["power"].values[0].tolist() == [300, 310]
    assert ds["meter"].values.tolist() == ["PowerConsumedWatts", "TotalCPUPower"]
    assert ds["power"].values[1, 1] == 120
    assert times(ds)[0] == "2026-03-01T10:00:00.000"


def test_redfish__null_is_blank_and_broken_json_is_named():
    null = json.dumps(POWER | {"PowerControl": [{"Name": "Server", "PowerConsumedWatts": None}]})
    assert np.isnan(redfish.parse(null.encode(), start=T0)["power"].item())
    broken = json.dumps(POWER, indent=1).replace('"Server"', "Server")
    with pytest.raises(ReadError, match=r"p.json:5: no JSON: Expecting value"):
        redfish.parse(broken.encode(), "p.json")
    both = T0 + "\n" + json.dumps(POWER) + "\n" + T0[:-2] + "5Z\n" + broken + "\n"
    ds = redfish.parse(both.encode(), "p.json")
    assert ds["power"].values.tolist() == [[344]]
    assert ds.attrs["complete"] is False


def test_redfish__supply_without_readings_is_refused():
    with pytest.raises(ReadError, match="no reading of power in these resources"):
        redfish.parse(json.dumps({"@odata.id": "/redfish/v1/x", "PowerCapacityWatts": 400}).encode())


def test_ptdaemon__american_dates_and_errors():
    row = "Time,12-23-2026 10:21:5{},Watts,{},Volts,228.37,Amps,0.2,PF,0.5,Mark,x\n"
    text = row.format("1.496", "23.43") + row.format("2.505", "-1.0") + row.format("3.514", "41.33")
    ds = ptdaemon.parse(text.encode(), "spl.txt", tz="Europe/Berlin")
    assert np.array_equal(ds["power"].values[0], [23.43, np.nan, 41.33], equal_nan=True)
    assert times(ds)[0] == "2026-12-23T09:21:51.496"
    assert "spl.txt:2: Watts is '-1.0'; the reading is left blank" in ds.attrs["warnings"][0]
    channels = text.replace(",x\n", ",x,Ch1,Watts,11.0,Volts,228.0,Ch2,Watts,12.4,Volts,228.0\n")
    assert float(ptdaemon.parse(channels.encode(), "spl.txt")["power"].values[0][0]) == 23.43


def test_wattsup__tenths_disabled_fields_and_stamps():
    text = (
        "2026-03-01T10:00:00Z #d,-,18,1240,1191,97,0,_,_,_,124,_,_,_,_,_,100,_,_,_,_;\n"
        "2026-03-01T10:00:01Z #d,-,18,_,1191,97,0,_,_,_,124,_,_,_,_,_,100,_,_,_,_;\n"
        "2026-03-01T10:00:02Z #d,-,18,1260,1191,97,0,_,_\n"
    )
    ds = wattsup.parse(text.encode())
    assert np.array_equal(ds["power"].values[0], [124.0, np.nan], equal_nan=True)
    assert ds.attrs["accuracy"] == 0.015
    assert ds.attrs["complete"] is False


def test_wattsup__records_without_stamps_count_seconds():
    ds = wattsup.parse(b"#d,-,18,100,1191;\n#d,-,18,110,1191;\n", start=T0)
    assert times(ds) == ["2026-03-01T10:00:00.000", "2026-03-01T10:00:01.000"]
    assert ds["power"].values.tolist() == [[10, 11]]


WT = """Model,WT310E
Store No.,Date,Time,Millisecond,U-E1,I-E1,P-E1,LAMBDA-E1
1,2026/03/01,10:00:00,50,229.9,0.5,101.25,0.9
2,2026/03/01,10:00:00,550,229.9,0.5,NAN,0.9
3,2026/03/01,10:00:01,50,229.9,0.5,1.0350E+02,0.9
"""


def test_yokogawa__milliseconds_have_a_column():
    assert yokogawa.sniff(WT.encode(), "")
    ds = yokogawa.parse(WT.encode(), tz="UTC")
    assert ds["meter"].values.tolist() == ["analyser"]
    assert np.array_equal(ds["power"].values[0], [101.25, np.nan, 103.5], equal_nan=True)
    assert times(ds)[0] == "2026-03-01T10:00:00.050"


def test_yokogawa__sum_goes_before_the_elements():
    text = "Store No.,Date,Time,P-E1,P-E2,P-SIGMA,PF\n1,2026/03/01,10:00:00,100,200,300,1\n"
    assert yokogawa.parse(text.encode())["power"].values.tolist() == [[300]]
    elements = text.replace(",P-SIGMA", ",S-SIGMA")
    assert yokogawa.parse(elements.encode())["power"].values.tolist() == [[100], [200]]


# nvidia-smi --query-gpu=timestamp,index,power.draw,utilization.gpu --format=csv,noheader
BARE = "".join(
    f"2026/03/01 10:00:{second:02}.{gpu:03}, {gpu}, {100 + second + 50 * gpu}.25 W, 97 %\n"
    for second in range(4)
    for gpu in range(2)
)


def test_nvidia_csv__rows_without_headings():
    ds = readers.parse(BARE.encode(), "f", tz="UTC")
    assert ds.tool == "nvidia-smi"
    assert ds["meter"].values.tolist() == ["0", "1"]
    row = ds["power"].values[1]
    assert row[~np.isnan(row)].tolist() == [150.25, 151.25, 152.25, 153.25]
    named = BARE.replace(", 0, ", ", GPU-aa-0, ").replace(", 1, ", ", GPU-aa-1, ")
    assert readers.parse(named.encode(), "f", tz="UTC")["meter"].values.tolist() == ["GPU-aa-0", "GPU-aa-1"]


def test_nvidia_csv__rows_without_headings_that_are_damaged_or_not_told_apart():
    ds = readers.parse(BARE.replace("151.25 W, 97 %", "151.25 W").encode(), "f", tz="UTC")
    assert ds.complete is False
    assert ds.warnings[0].startswith("f:4: 3 of 4 columns; ")
    alike = BARE.replace(", 0, ", ", ").replace(", 1, ", ", ")
    with pytest.raises(ReadError, match="nothing that identifies the GPU; log with index"):
        readers.parse(alike.encode(), "f", tz="UTC")
    blank = readers.parse(
        BARE.replace("100.25 W", "[N/A]").replace("101.25 W", "oops").encode(),
        "f",
        engine="nvidia_csv",
        tz="UTC",
    )
    assert blank.complete is False

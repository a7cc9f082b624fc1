"""Output of other tools is no power log."""

import pytest

from analysis import readers

POWER = [name for name, module in readers.ENGINES.items() if ".power." in module]


@pytest.mark.parametrize(
    "text",
    [
        "HPCG-Benchmark\nversion=3.1\nDate=March 28, 2019\nFinal Summary::HPCG result is VALID=53.8\n",
        "# OSU MPI Allreduce Latency Test v5.8\n# Size       Avg Latency(us)\n4                      10.23\n",
        "JobID|Start|End|ConsumedEnergyRaw\n7|2026-03-01T10:00:00|2026-03-01T10:01:00|100\n",
        '<?xml version="1.0" encoding="iso-8859-1"?>\n<ipm_job_profile>\n',
        "@ mpiP\n@ Command : ./power_balance\n",
        '{"job_id": "1", "start": "2026-03-01T10:00:00Z"}\n',
        "",
    ],
)
def test_sniff__leaves_other_output_alone(text):
    assert [name for name in POWER if readers.reader(name).sniff(text.encode(), "x")] == []

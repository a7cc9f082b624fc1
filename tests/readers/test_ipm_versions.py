import numpy as np

from analysis.readers.ipm import parse_xml

# The elements of IPM 0.9x in their order, with numbers of our own.
OLD = b"""<?xml version="1.0" encoding="iso-8859-1"?>
<ipm_job_profile>
<task ipm_version="0.983" cookie="c" mpi_rank="0" mpi_size="1" stamp_init="1.500000" stamp_final="3.500000" \
username="u" allocationname="a" flags="1" pid="7" >
<job nhosts="1" ntasks="1" start="1" final="3" cookie="c" code="x" >7</job>
<host mach_name="m" mach_info="i" >n07</host>
<perf wtime="2.00000e+00" utime="2.50000e+00" stime="1.000e-01" mtime="7.50000e-01" gflop="0.00000e+00" \
gbyte="5.00000e-01" ></perf>
<switch bytes_tx="0.00000e+00" bytes_rx="0.00000e+00" > none </switch>
<cmdline realpath="/a" >./a < in</cmdline>
<exec><pre>
/a: ELF <64-bit>
</pre></exec>
<env>PS1=<\\u></env>
<ru_s_ti>1.2000e-02 6.0003e-02 0 0</ru_s_ti>
<regions n="2" >
<region label="ipm_global" nexits="1" wtime="2.0000e+00" utime="2.5000e+00" stime="1.0000e-01" \
mtime="5.0000e-01" >
 <hpm api="PAPI" ncounter="0" eventset="0" gflop="0.0000e+00" >
</hpm>
<func name="MPI_Allreduce" count="5" > 5.0000e-01 </func>
</region>
<region label="loop" nexits="1" wtime="1.0000e+00" utime="1.0000e+00" stime="0.0000e+00" \
mtime="2.5000e-01" >
 <hpm api="PAPI" ncounter="0" eventset="0" gflop="0.0000e+00" >
</hpm>
<func name="MPI_Send" count="2" > 2.5000e-01 </func>
</region>
</regions>
"""
OLD_HASH = b"""<hash nlog="7" nkey="2" >
<hent key="2305843009213694016" call="MPI_Allreduce" bytes="8" orank="-1" region="0" count="5" >\
5.0000e-01 1.0000e-03 2.0000e-01</hent>
<hent key="17" call="MPI_Send" bytes="96" orank="0" region="1" count="2" >\
2.5000e-01 0.0000e+00 2.5000e-01</hent>
</hash>
"""
OLD_END = b"""<internal rank="0" log_i="3.500000" log_t="1.0e+00" report_delta="0.0e+00" \
fname="f" logrank="0" ></internal>
</task>
</ipm_job_profile>
"""


def test_ipm_versions__version_0_9():
    # Trap 8: no calltable, no tid, no callsite, decimal keys, regions without ids, -1 for no partner.
    ds = parse_xml(OLD + OLD_HASH + OLD_END)
    assert ds.attrs["complete"]
    assert ds.attrs["warnings"] == []
    assert ds["call"].values.tolist() == ["MPI_Allreduce", "MPI_Send"]
    assert ds["region"].values.tolist() == ["ipm_global", "loop"]
    assert ds["peer"].values.tolist() == [-1, 0]
    assert ds["site"].values.tolist() == [-1, -1]
    assert ds["bytes"].values.tolist() == [40.0, 192.0]
    assert (ds["user_time"].item(), ds["app_time"].item(), ds["memory"].item()) == (2.5, 2.0, 2.0**29)
    assert ds.attrs["command"] == "./a < in"
    assert ds["host"].item() == "n07"


def test_ipm_versions__version_0_9_without_records():
    ds = parse_xml(OLD + OLD_END)
    assert ds["count"].values.tolist() == [5, 2]
    assert ds["region"].values.tolist() == ["ipm_global", "loop"]
    assert np.isnan(ds["bytes"].values).all()
    assert not ds.attrs["has_sizes"]


def test_ipm_versions__nested_regions_count_once():
    # Under IPM_NESTED_REGIONS the <func> lines of a region contain those of the regions in it.
    inner = b"""<regions n="1" >
<region label="inner" nexits="1" wtime="1.0e+00" utime="0.0e+00" stime="0.0e+00" mtime="5.0e-02" id="2">
<func name="MPI_Send" count="1" > 5.0000e-02 </func>
</region>
</regions>
"""
    line = b'<func name="MPI_Send" count="2" > 2.5000e-01 </func>\n'
    ds = parse_xml((OLD + OLD_END).replace(line, line + inner))
    table = ds.set_index(obs=["region", "call"])["count"].to_series().to_dict()
    assert table == {("ipm_global", "MPI_Allreduce"): 5, ("inner", "MPI_Send"): 1, ("loop", "MPI_Send"): 1}


def test_ipm_versions__a_region_whose_calls_are_all_in_an_inner_one_has_none_of_its_own():
    inner = b"""<regions n="1" >
<region label="inner" nexits="1" wtime="1.0e+00" utime="0.0e+00" stime="0.0e+00" mtime="2.5e-01" id="2">
<func name="MPI_Send" count="2" > 2.5000e-01 </func>
</region>
</regions>
"""
    line = b'<func name="MPI_Send" count="2" > 2.5000e-01 </func>\n'
    ds = parse_xml((OLD + OLD_END).replace(line, line + inner))
    rows = list(zip(ds["region"].values, ds["call"].values, ds["count"].values, strict=True))
    assert rows == [("ipm_global", "MPI_Allreduce", 5), ("inner", "MPI_Send", 2)]

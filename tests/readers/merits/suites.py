"""Outputs of WRF, IO500, fio and SPEC's suites in the shape that they write; the numbers are our own."""

# ruff: noqa: E501

from __future__ import annotations

# WRF 4.1 (`rsl.out.0000`): steps of 72 s, 0.25, 0.35 and 0.3 s after the first.
WRF = """\
taskid: 0 hostname: n01
Quilting with   1 groups of   0 I/O tasks.
 Ntasks in X            2 , ntasks in Y            4
*************************************
Configuring physics suite 'conus'

         mp_physics:      8
         cu_physics:      6
*************************************
WRF V4.1.4 MODEL
 *************************************
 Parent domain
 ids,ide,jds,jde            1         425           1         300
 ims,ime,jms,jme           -4          44          -4          22
 *************************************
Timing for Writing wrfout_d01_2019-11-26_12:00:00 for domain        1:    0.50000 elapsed seconds
WRF NUMBER OF TILES FROM OMP_GET_MAX_THREADS =   2
Timing for main: time 2019-11-26_12:01:12 on domain   1:    2.10000 elapsed seconds
Timing for main: time 2019-11-26_12:02:24 on domain   1:    0.25000 elapsed seconds
Timing for main: time 2019-11-26_12:03:36 on domain   1:    0.35000 elapsed seconds
Timing for main: time 2019-11-26_12:04:48 on domain   1:    0.30000 elapsed seconds
d01 2019-11-26_12:04:48 wrf: SUCCESS COMPLETE WRF
"""

_PHASES = (
    ("ior-easy-write", "GiB/s", 16.0),
    ("mdtest-easy-write", "kIOPS", 32.0),
    ("ior-hard-write", "GiB/s", 1.0),
    ("mdtest-hard-write", "kIOPS", 8.0),
    ("find", "kIOPS", 1024.0),
    ("ior-easy-read", "GiB/s", 16.0),
    ("mdtest-easy-stat", "kIOPS", 64.0),
    ("ior-hard-read", "GiB/s", 1.0),
    ("mdtest-hard-stat", "kIOPS", 32.0),
    ("mdtest-easy-delete", "kIOPS", 16.0),
    ("mdtest-hard-read", "kIOPS", 16.0),
    ("mdtest-hard-delete", "kIOPS", 8.0),
)
# IO500 of ISC 2024: means of 4 GiB/s and 32 kIOPS, a score of the root of 128.
IO500 = "".join(
    (
        "IO500 version io500-isc24_v3 (standard)\n",
        *(
            f"[RESULT] {name:>20} {value:>15.6f} {unit} : time 300.125 seconds\n"
            for name, unit, value in _PHASES
        ),
        "[SCORE ] Bandwidth 4.000000 GiB/s : IOPS 32.000000 kiops : TOTAL 11.313708\n",
    )
)
# The same run in its result.txt; and as its scripts of 2019 print it.
IO500_INI = "".join(
    (
        "[run]\nprocs           = 64\nversion         = io500-isc24_v3\nconfig-hash     = 6C6B3A84\n"
        "mode            = standard\n; START 2024-05-03 09:25:48\n\n\n",
        *(
            f"[{name}]\nt_start         = 2024-05-03 09:25:48\nscore           = {value:.6f}\nt_delta         = 300.1250\n\n"
            for name, _, value in _PHASES
        ),
        "[SCORE]\nMD              = 32.000000\nBW              = 4.000000\nSCORE           = 11.313708\n"
        "hash            = A7748DEE\n; END 2024-05-03 10:17:13\n",
    )
)
IO500_2019 = "".join(
    (
        *(
            f"[RESULT] {'BW  ' if unit == 'GiB/s' else 'IOPS'} phase 1 {name.replace('-', '_'):>25} "
            f"{value:>20.3f} {'GB/s' if unit == 'GiB/s' else 'kiops'} : time 300.12 seconds\n"
            for name, unit, value in _PHASES
        ),
        "[SCORE] Bandwidth 4.000 GB/s : IOPS 32.000 kiops : TOTAL 11.3137\n",
    )
)

# fio 3.1 (`stat.c`): 1,024 MiB in 61.568 s, which is 17.44 MB/s.
FIO_TEXT = """\
read: (g=0): rw=read, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=64
fio-3.1
Starting 1 process

read: (groupid=0, jobs=1): err= 0: pid=17966: Sun Mar  1 08:31:48 2026
   read: IOPS=4.26k, BW=16.6MiB/s (17.4MB/s)(1024MiB/61568msec)
    slat (usec): min=2, max=2566, avg= 4.29, stdev=21.76
   bw (  KiB/s): min= 8208, max=18832, per=99.85%, avg=17005.35, stdev=998.94, samples=123

Run status group 0 (all jobs):
   READ: bw=16.6MiB/s (17.4MB/s), 16.6MiB/s-16.6MiB/s (17.4MB/s-17.4MB/s), io=1024MiB (1074MB), run=61568-61568msec

Disk stats (read/write):
  sdb: ios=261897/0, merge=0/0, ticks=3912108/0, in_queue=3474336, util=90.09%
"""
# fio 1.57 and 2.1: two groups, one of four processes.
FIO_OLD = """\
a: (g=0): rw=write, bs=8K-8K/8K-8K, ioengine=sync, iodepth=1
...
a: (g=0): rw=write, bs=8K-8K/8K-8K, ioengine=sync, iodepth=1
b: (g=1): rw=randread, bs=8K-8K/8K-8K, ioengine=sync, iodepth=1
fio 1.57
Starting 5 processes
a: (groupid=0, jobs=4): err= 0: pid=2447
  write: io=596856KB, bw=56946KB/s, iops=7118 , runt= 10481msec
b: (groupid=1, jobs=1): err= 0: pid=2452
  read : io=8192.0MB, bw=7454.5MB/s, iops=954179 , runt=  1099msec

Run status group 0 (all jobs):
  WRITE: io=596856KB, aggrb=56946KB/s, minb=58313KB/s, maxb=58313KB/s, mint=10481msec, maxt=10481msec

Run status group 1 (all jobs):
   READ: io=8192.0MB, aggrb=7454.5MB/s, minb=7454.5MB/s, maxb=7454.5MB/s, mint=1099msec, maxt=1099msec
"""

# SPEC CPU2017 1.1.5, text and CSV, of a suite of two benchmarks: the root of 32 x 2.
SPEC = """\
                         SPEC CPU(R)2017 Floating Point Rate Result
                                      Maker Inc.
                                 Model 7 Server System
                                  2.00 GHz, Model Processor

Benchmarks       Copies  Run Time     Rate        Copies  Run Time     Rate
--------------- -------  ---------  ---------    -------  ---------  ---------
503.bwaves_r         64        600       32.0  S      64        600       32.0  S
503.bwaves_r         64        601       32.0  *      64        601       32.0  *
508.namd_r           64        220       2.00  *     128        374       4.50  *
=================================================================================
503.bwaves_r         64        601       32.0  *      64        601       32.0  *
508.namd_r           64        220       2.00  *     128        374       4.50  *
 SPECrate(R)2017_fp_base                 8.00
 SPECrate(R)2017_fp_peak                                                   12.0

                                        HARDWARE
                                        --------
            CPU Name: Intel Xeon Gold 6148
              Memory: 384 GB (12 x 32 GB 2Rx4 PC4-2666V-R)
            Compiler: C/C++/Fortran: Version 3.0.0 of AOCC

Tested with SPEC CPU(R)2017 v1.1.5 on 2021-03-07 04:00:35-0500.
"""
_COLUMNS = "".join(
    f'"{tuning} # Copies","{tuning} Run Time","{tuning} Rate","{tuning} Selected","{tuning} Status",'
    for tuning in ("Base", "Peak")
)
SPEC_CSV = f"""\
valid,1

"SPEC CPU2017 Floating Point Rate Result"

"Full Results Table"

Benchmark,{_COLUMNS}Description
503.bwaves_r,64,600.101,32.031,0,S,64,600.101,32.031,0,S,"refrate(ref) iteration #1"

"Selected Results Table"

Benchmark,{_COLUMNS}Description
503.bwaves_r,64,601.101,31.998,1,S,64,601.101,31.998,1,S,"SelectedIteration (base #2; peak #2)"
508.namd_r,64,220.202,2.0001,1,S,128,374.303,4.5002,1,S,"SelectedIteration (base #1; peak #1)"

SPECrate2017_fp_base,8.000,,8.000
SPECrate2017_fp_peak,12.000,,,,,,,12.000

"Hardware Model:","Model 7 Server System 2.00 GHz, Model Processor"

HARDWARE

"CPU Name","Intel Xeon Gold 6148"

"Base Unknown Flags"
503.bwaves_r,"-m64","-std=c99",,,,,,
"Tested with SPEC CPU2017",v1.1.5.
"Result run on","2021-03-07 04:00:35-0500."
"""

_RULE = "=" * 48 + "\n"
# LoadGen 1.1 (`mlperf_log_summary.txt`), all queries at once; and of a stream of single ones.
MLPERF_INFERENCE = "".join(
    (
        f"{_RULE}MLPerf Results Summary\n{_RULE}SUT name : PySUT\nScenario : Offline\n",
        "Mode     : PerformanceOnly\nSamples per second: 14442.9\nResult is : VALID\n",
        f"  Min duration satisfied : Yes\n  Min queries satisfied : Yes\n\n{_RULE}Additional Stats\n{_RULE}",
        "Mean latency (ns)               : 2064167\n50.00 percentile latency (ns)   : 2057909\n",
        f"90.00 percentile latency (ns)   : 2500000\n\n{_RULE}Test Parameters Used\n{_RULE}",
        "samples_per_query : 1\ntarget_qps : 1000\ntarget_latency (ns): 0\nmin_duration (ms): 600000\n",
        "performance_sample_count : 1024\n\n",
        "No warnings encountered during test.\n\nNo errors encountered during test.\n",
    )
)
MLPERF_SINGLE = MLPERF_INFERENCE.replace("Offline", "SingleStream").replace(
    "Samples per second: 14442.9", "90th percentile latency (ns) : 2500000"
)
# The same run in `mlperf_log_detail.txt`, with the times of a meter's readings.
LOADGEN = "".join(
    f':::MLLOG {{"key": "{key}", "value": {value}, "time_ms": 0.013393, "namespace": "mlperf::logging", '
    '"event_type": "POINT_IN_TIME", "metadata": {"is_error": false, "is_warning": false, "file": "loadgen.cc", '
    '"line_no": 58, "pid": 5760, "tid": 5760}}\n'
    for key, value in (
        ("loadgen_version", '"1.1 @ 6ac37b3c2d"'),
        ("test_datetime", '"2021-08-05T01:41:29Z"'),
        ("requested_test_mode", '"PerformanceOnly"'),
        ("effective_scenario", '"Offline"'),
        ("effective_test_mode", '"PerformanceOnly"'),
        ("effective_target_latency_ns", "0"),
        ("effective_performance_sample_count", "1024"),
        ("power_begin", '"08-05-2021 08:41:35.935"'),
        ("power_end", '"08-05-2021 08:43:35.096"'),
        ("result_validity", '"VALID"'),
        ("result_90.00_percentile_latency_ns", "2500000"),
    )
)

SUITES = {"wrf": WRF, "io500": IO500, "spec": SPEC, "mlperf_inference": MLPERF_INFERENCE}
# By eye: figure of merit, unit, step, time by the program's own clock, ranks, threads, nodes; and the version.
KNOWN_SUITES = {
    "wrf": (0.3, "s", 1e-6, 3.0, 8, 2, -1),
    "io500": (11.313708, "1", 1e-6, float("nan"), -1, -1, -1),
    "mlperf_inference": (14442.9, "samples/s", 0.1, float("nan"), -1, -1, -1),
    "spec": (8.0, "1", 0.01, float("nan"), 64, -1, -1),
}
VERSIONS_SUITES = {"wrf": "4.1.4", "io500": "io500-isc24_v3", "spec": "1.1.5"}
CLOSED_BY_SUITES = {
    "wrf": "SUCCESS COMPLETE WRF",
    "io500": "TOTAL 11.313708\n",
    "mlperf_inference": "Test Parameters Used\n",
    "spec": "_base                 8.00\n",
}
WRONG_SUITES = {
    "io500": ("TOTAL 11.313708", "TOTAL 12.313708"),
    "spec": ("_base                 8.00", "_base                 8.10"),
}

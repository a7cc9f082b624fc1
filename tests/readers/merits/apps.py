"""Outputs of mini-applications and of codes that were added later, as `texts` has them; the numbers are our own."""

# ruff: noqa: E501, W291, W293

from __future__ import annotations

import json

# AMG2023 of 2024 (`amg.c`): 1.2e9 nonzeros over 3 s of setup and 6 s of solve.
AMG2023 = """\
Running with these driver parameters:
  Problem ID    = 2

=============================================
Hypre init times:
=============================================
Hypre init:
  wall clock time = 0.000044 seconds
  Laplacian_7pt:
    (Nx, Ny, Nz) = (512, 512, 256)
    (Px, Py, Pz) = (4, 4, 2)

=============================================
Problem 2: AMG Setup Time:
=============================================
PCG Setup:
  wall clock time = 3.000000 seconds

FOM_Setup: nnz_AP / Setup Phase Time: 4.000000e+08

=============================================
Problem 2: AMG-PCG Solve Time:
=============================================
PCG Solve:
  wall clock time = 6.000000 seconds

Iterations = 35
Final Relative Residual Norm = 5.763138e-09


FOM_Solve: nnz_AP * iterations / Solve Phase Time: 2.000000e+08



Figure of Merit (FOM): nnz_AP / (Setup Phase Time + 3 * Solve Phase Time) 5.714286e+07
"""

# Kripke 1.2.5: 4096000 unknowns, 10 iterations in 0.5 s.
KRIPKE = """\
   _  __       _         _
  |_|\\_\\|_|   |_|| .__/ |_|_\\_\\___|
                 |_|        Version 1.2.5-dev

Kripke is released under the BSD 3-Clause License, please see the
LICENSE file for the full license

  Problem Size:
    Zones:                 16 x 16 x 16  (4096 total)
    Groups:                32
    Legendre Order:        4
    Quadrature Set:        Dummy S2 with 96 points

  MPI Decomposition Options:
    Total MPI tasks:       8

  Timer                    Count       Seconds
  ----------------  ------------  ------------
  Generate                     1       2.56856
  Solve                        1       0.50000
  SweepSolver                 10       0.25000
  SweepSubdomain             800       0.05000

Figures of Merit
================

  Throughput:         8.192000e+07 [unknowns/(second/iteration)]
  Grind time :        1.220703e-08 [(seconds/iteration)/unknowns]
  Sweep efficiency :  20.00000 [100.0 * SweepSubdomain time / SweepSolver time]
  Number of unknowns: 4096000

END
"""

# Laghos 3 (`laghos_solver.cpp`), with --fom.
LAGHOS = """\
Options used:
   --dimension 3
   --mesh /opt/laghos/data/cube_311_hex.mesh
   --refine-serial 4
   --refine-parallel 2
   --problem 1
   --order-kinematic 3
   --order-thermo 2
   --fom
Number of zones in the serial mesh: 12288
Number of kinematic (position, velocity) dofs: 64478019
Number of specific internal energy dofs: 21233664
step     5,	t = 0.0000,	dt = 0.000000,	|e| = 2.9273016842e+06

CG (H1) total time: 8.0000000000
CG (H1) rate (megadofs x cg_iterations / second): 100.0000000000

CG (L2) total time: 3.0000000000
CG (L2) rate (megadofs x cg_iterations / second): 6.4120005468

Forces total time: 1.0000000000
Forces rate (megadofs x timesteps / second): 600.0000000000

UpdateQuadData total time: 1.0000000000
UpdateQuadData rate (megaquads x timesteps / second): 100.0000000000

Major kernels total time (seconds): 10.0000000000
Major kernels total rate (megadofs x time steps / second): 150.0000000000

| Ranks | Zones   | H1 dofs | L2 dofs | QP | N dofs   | FOM0   | FOM1   | T1   | FOM2   | T2   | FOM3   | T3   | FOM    | TT   |
|    128|   786432| 64478019| 21233664| 216| 320059014|  98.793| 100.000|8.000| 600.000|1.000| 100.000|1.000| 150.000|10.000| 

Energy  diff: 3.05e-16
"""

# LULESH 2.0 of 2020 with OpenMP on 8 ranks of a machine with two cores: `lulesh2.0 -s 10 -i 50`.
LULESH = """\
Running problem size 10^3 per domain until completion
Num processors: 8
Num threads: 1
Total number of elements: 8000 

To run other sizes, use -s <integer>.
To run a fixed number of iterations, use -i <integer>.
To run a more or less balanced region set, use -b <integer>.
To change the relative costs of regions, use -c <integer>.
To print out progress, use -p
To write an output file for VisIt, use -v
See help (-h) for more options

Run completed:
   Problem size        =  10
   MPI tasks           =  8
   Iteration count     =  50
   Final Origin Energy =  6.483837e+05
   Testing Plane 0 of Energy Array on rank 0:
        MaxAbsDiff   = 8.731149e-11
        TotalAbsDiff = 1.037000e-10
        MaxRelDiff   = 7.684754e-13

Elapsed time         =        2.3 (s)
Grind time (us/z/c)  =  45.285671 (per dom)  ( 2.2642836 overall)
FOM                  =  176.65632 (z/s)

"""

# miniFE 2.0 with OpenMP (`YAML_Doc.cpp`, `driver.hpp`).
MINIFE = """\
Mini-Application Name: miniFE
Mini-Application Version: 2.0
Global Run Parameters: 
  dimensions: 
    nx: 64
    ny: 64
    nz: 64
  load_imbalance: 0
  OpenMP Max Threads:: 2
  number of processors: 4
  ScalarType: double
CG solve: 
  Iterations: 200
  Final Resid Norm: 0.00124386
  WAXPY Time: 0.5
  WAXPY Flops: 2.5e+08
  WAXPY Mflops: 500
  DOT Time: 0.25
  DOT Flops: 1e+08
  DOT Mflops: 400
  MATVEC Time: 1.25
  MATVEC Flops: 1.65e+09
  MATVEC Mflops: 1320
  Total: 
    Total CG Time: 2.01234
    Total CG Flops: 1.9875e+09
    Total CG Mflops: 987.654
  Time per iteration: 0.0100617
Global All-RSS (kB): 3539788
Total Program Time: 3.5
"""

# Quicksilver of August 2023 (`MC_Fast_Timer.cc`, `CoralBenchmark.cc`): 6e9 segments in 0.75 s.
QUICKSILVER = """\
MPI Initialized         : MPI_THREAD_FUNNELED
Quicksilver Version     : 2023-Aug-18-15:12:10
Number of MPI ranks     : 8
Number of OpenMP Threads: 3

Simulation:
   inputFile: Coral2_P1.inp
   nParticles: 1342117
   nSteps: 2
   nx: 16
   ny: 16
   nz: 16
cycle           start       source           rr        split       absorb      scatter      fission      produce      collisn       escape       census      num_seg   scalar_flux      cycleInit  cycleTracking  cycleFinalize
       0            0        13423            0   1212086758    273220839   6830666802    341517797    546422415   7445405438            0   1273793961   2000000000  3.005553e+08   4.144400e-02   2.145676e-01   1.584000e-03
       1   1273793961        13423     61686353            0    479340335  11982986439    599142265    958607330  13061469039            0   1222255762   4000000000  8.229153e+08   4.151500e-02   3.813444e-01   1.161000e-03

Name                            number    microSecs    microSecs    microSecs    microSecs   Efficiency
                              of calls          min          avg          max       stddev       Rating
main                                 1    8.000e+05    8.000e+05    8.000e+05    4.436e+02       100.00
cycleTracking                        2    7.387e+05    7.398e+05    7.500e+05    3.867e+03        99.76
Figure Of Merit              8.000e+09 [Num Segments / Cycle Tracking Time]

PASS:: Absorption / Fission / Scatter Ratios maintained with 1% tolerance
"""

# NPB 3.4 with MPI (`print_results.f90`).
NPB = """\


 NAS Parallel Benchmarks 3.4 -- FT Benchmark

 Size                :   64x  64x  64  (class S)
 Number of processes :              2

 Result verification successful


 FT Benchmark Completed.
 Class           =                        S
 Size            =             64x  64x  64
 Iterations      =                        6
 Time in seconds =                     0.05
 Total processes =                        2
 Active processes=                        2
 Mop/s total     =                  3873.74
 Mop/s/process   =                  1936.87
 Operation type  =           floating point
 Verification    =               SUCCESSFUL
 Version         =                    3.4.2
 Compile date    =              25 May 2022
"""

# CASTEP 20.11 (the end of a `.castep` file).
CASTEP = """\
 +-------------------------------------------------+
 | Welcome to Academic Release CASTEP version 20.11|          
 | Ab Initio Total Energy Program                  |
 +-------------------------------------------------+
 Run started: Fri, 03 Sep 2021 13:11:00 +0000
 type of calculation                            : single point energy
 plane wave basis set cut-off                   :   300.0000   eV
 number of  electrons                           :  2376.    
                         Total number of ions in cell =  270
                              Number of kpoints used =             2
Calculation parallelised over   64 processes.
Final energy, E             =  -77705.21093039     eV
Initialisation time =      2.50 s
Calculation time    =     60.25 s
Finalisation time   =      1.25 s
Total time          =     64.00 s
Peak Memory Use     = 1520240 kB
"""

# VASP 6.4.2 (an `OUTCAR`).
VASP = """\
 vasp.6.4.2 20Jul23 (build Feb  2 2024 12:00:00) gamma-only                      
 executed on        HPECrayEX_GCC date 2024.02.03  12:24:30
 running  512 mpi-ranks, with    2 threads/rank, on    8 nodes
   k-points           NKPTS =      1   k-points in BZ     NKDIM =      1   number of bands    NBANDS=   5184
   number of dos      NEDOS =    301   number of ions     NIONS =   1080
   ENCUT  =  750.0 eV  55.12 Ry    7.42 a.u.  79.62 44.09 61.94*2*pi/ulx,y,z
   NELECT =    8640.0000    total number of electrons
      LOOP:  cpu time     18.8635: real time     18.7953
  free  energy   TOTEN  =     -3093.25066893 eV
     LOOP+:  cpu time    244.6582: real time    243.7325


 General timing and accounting informations for this job:
 ========================================================
  
                  Total CPU time used (sec):      437.189
                            User time (sec):      430.463
                          System time (sec):        6.726
                         Elapsed time (sec):      441.181
  
                   Maximum memory used (kb):      377768.
"""

# CP2K 7.1.
CP2K = """\
  **** **** ******  **  PROGRAM STARTED AT               2021-06-07 11:01:07.803
 CP2K| version string:                                          CP2K version 7.1
 CP2K| source code revision number:                                  git:e635599
 GLOBAL| Project name                                                        H2O
 GLOBAL| Run type                                                             MD
 GLOBAL| Total number of message passing processes                            96
 GLOBAL| Number of threads for this process                                    4
                             - Atoms:                                        192
                             - Spherical basis functions:                   2560
 Number of electrons:                                                        512
 ENERGY| Total FORCE_EVAL ( QS ) energy (a.u.):            -1101.031005888792151
 CP2K                                 1  1.0    0.006    0.008   15.536   15.537
 The number of warnings for this run is : 0
  **** **** ******  **  PROGRAM ENDED AT                 2021-06-07 11:01:23.929
"""

# BabelStream 5.0 (`main.cpp`): 268435456 B in each array.
BABELSTREAM = """\
BabelStream
Version: 5.0
Implementation: CUDA
Running kernels 100 times
Precision: double
Array size: 268.4 MB (=0.3 GB)
Total size: 805.3 MB (=0.8 GB)
Using CUDA device NVIDIA A100-SXM4-40GB
Function    MBytes/sec  Min (sec)   Max         Average     
Copy        536870.912  0.00100     0.00102     0.00101     
Mul         511305.631  0.00105     0.00107     0.00106     
Add         536870.912  0.00150     0.00152     0.00151     
Triad       503316.480  0.00160     0.00162     0.00161     
Dot         447392.427  0.00120     0.00122     0.00121     
"""

# nccl-tests 2.17 (`common.cu`); a mean of (0.81 + 0.83 + 1.61 + 1.65) / 4.
NCCL = """\
# nccl-tests version 2.17.6 nccl-headers=22808 nccl-library=22808
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 65536 maxBytes 131072 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid   6899 on n1 device  0 [0000:04:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   6733 on n2 device  0 [0000:04:00] NVIDIA H100 80GB HBM3
#
#                                                              out-of-place                       in-place          
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong 
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)         
       65536         16384     float     sum      -1    80.91    0.81    0.81       0    78.96    0.83    0.83       0
      131072         32768     float     sum      -1    81.41    1.61    1.61       0    79.44    1.65    1.65       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 1.225 
#
# Collective test concluded: all_reduce_perf
"""

# perftest of 2023 (`perftest_parameters.h`): 65536 B times 0.05 million per second are 3125 MiB/s.
PERFTEST = """\
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF		Device         : mlx5_0
 Number of qps   : 1		Transport type : IB
 Connection type : RC		Using SRQ      : OFF
 Mtu             : 4096[B]
 Link type       : IB
---------------------------------------------------------------------------------------
 local address: LID 0xd06 QPN 0x095f PSN 0x3fc479 RKey 0x080359 VAddr 0x007f9fc479c000
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]
 65536      5000             3126.50            3125.00		     0.050000
---------------------------------------------------------------------------------------
"""

# fio 3.26, JSON: 1000 MiB written in 8 s.
FIO = json.dumps(
    {
        "fio version": "fio-3.26",
        "jobs": [
            {
                "jobname": "seqwrite",
                "error": 0,
                "desc": "one writer of 1000 MiB, blocks of 1 MiB, " * 12,
                "read": {"io_bytes": 0, "bw_bytes": 0, "bw": 0, "iops": 0.0, "runtime": 0, "total_ios": 0},
                "write": {
                    "io_bytes": 1048576000,
                    "bw_bytes": 131072000,
                    "bw": 128000,
                    "iops": 125.0,
                    "runtime": 8000,
                    "total_ios": 1000,
                    "lat_ns": {"min": 10, "max": 9000, "mean": 7950000.5},
                },
            }
        ],
    }
)
# Terse 3 (`HOWTO.rst`): total KiB, KiB/s, operations per second, ms of reads; then of writes from field 47.
FIO_TERSE = ";".join(
    [
        "3",
        "fio-3.26",
        "seqwrite",
        "0",
        "0",
        "0",
        "0",
        "0",
        "0",
        *["0"] * 37,
        "1024000",
        "128000",
        "125",
        "8000",
    ]
)

# mllog of training 3.0.
MLPERF = "".join(
    f':::MLLOG {{"namespace": "", "time_ms": {ms}, "event_type": "{kind}", "key": "{key}", "value": {value}, '
    f'"metadata": {{"file": "main.py", "lineno": 57{more}}}}}\n'
    for ms, kind, key, value, more in (
        (1682863092888, "POINT_IN_TIME", "submission_benchmark", '"unet3d"', ""),
        (1682863092888, "POINT_IN_TIME", "submission_division", '"closed"', ""),
        (1682863100204, "POINT_IN_TIME", "global_batch_size", "32", ""),
        (1682863110337, "INTERVAL_START", "run_start", "null", ""),
        (1682865340000, "POINT_IN_TIME", "eval_accuracy", "0.90875", ""),
        (1682865340680, "INTERVAL_END", "run_stop", "null", ', "status": "success", "epoch": 1460'),
    )
)

APPS = {
    "fio": FIO,
    "mlperf": MLPERF,
    "babelstream": BABELSTREAM,
    "castep": CASTEP,
    "cp2k": CP2K,
    "nccl": NCCL,
    "perftest": PERFTEST,
    "vasp": VASP,
    "amg2023": AMG2023,
    "kripke": KRIPKE,
    "laghos": LAGHOS,
    "lulesh": LULESH,
    "minife": MINIFE,
    "npb": NPB,
    "quicksilver": QUICKSILVER,
}
# By eye: figure of merit, unit, step, time by the program's own clock, ranks, threads, nodes; and the version.
KNOWN_APPS = {
    "fio": (131072000.0, "B/s", float("nan"), float("nan"), -1, -1, -1),
    "mlperf": (2230.343, "s", 0.001, 2230.343, -1, -1, -1),
    "babelstream": (503316.48, "MB/s", 0.001, float("nan"), -1, -1, -1),
    "castep": (64.0, "s", 0.01, 64.0, 64, -1, -1),
    "cp2k": (15.537, "s", 0.001, 15.537, 96, 4, -1),
    "nccl": (1.225, "GB/s", 0.001, float("nan"), 2, -1, 2),
    "perftest": (3125.0, "MiB/sec", 0.01, float("nan"), -1, -1, -1),
    "vasp": (441.181, "s", 0.001, 441.181, 512, 2, 8),
    "amg2023": (5.714286e7, "1/s", 10.0, 6.0, 32, -1, -1),
    "kripke": (8.192e7, "1/s", 10.0, 0.5, 8, -1, -1),
    "laghos": (150.0, "megadofs x time steps", 1e-10, 10.0, 128, -1, -1),
    "lulesh": (176.65632, "kz/s", 1e-5, 2.2642836, 8, 1, -1),
    "minife": (987.654, "Mflop/s", 0.001, 2.01234, 4, 2, -1),
    "npb": (3873.74, "Mop/s", 0.01, 0.05, 2, -1, -1),
    "quicksilver": (8e9, "1/s", 1e6, float("nan"), 8, 3, -1),
}
VERSIONS_APPS = {
    "fio": "3.26",
    "babelstream": "5.0",
    "castep": "20.11",
    "cp2k": "7.1",
    "nccl": "2.17.6",
    "vasp": "6.4.2",
    "kripke": "1.2.5-dev",
    "minife": "2.0",
    "npb": "3.4.2",
    "quicksilver": "2023-Aug-18-15:12:10",
}
CLOSED_BY_APPS = {
    "mlperf": "1460}}\n",
    "babelstream": "0.00121     \n",
    "castep": "64.00 s\n",
    "cp2k": "PROGRAM ENDED AT",
    "nccl": "Avg bus bandwidth    : 1.225 \n",
    "perftest": "0.050000\n---------------------------------------------------------------------------------------",
    "vasp": "441.181\n",
    "amg2023": "5.714286e+07\n",
    "kripke": "END\n",
    "laghos": "Energy  diff: 3.05e-16\n",
    "lulesh": "(z/s)\n",
    "minife": "Total Program Time: 3.5\n",
    "npb": "Version         =                    3.4.2\n",
    "quicksilver": "Tracking Time]\n",
}
# One digit of a figure of merit that is wrong: the rest of the output contradicts it.
WRONG = {
    "babelstream": ("503316.480", "303316.480"),
    "castep": ("=     64.00", "=     65.00"),
    "cp2k": ("15.536   15.537", "15.536   95.537"),
    "nccl": (": 1.225", ": 1.325"),
    "perftest": ("            3125.00", "            3225.00"),
    "vasp": ("441.181", "141.181"),
    "amg2023": ("5.714286e+07", "5.724286e+07"),
    "kripke": ("8.192000e+07", "8.292000e+07"),
    "laghos": ("steps / second): 150.0", "steps / second): 151.0"),
    "lulesh": ("176.65632", "178.65632"),
    "minife": ("Mflops: 987.654", "Mflops: 986.654"),
    "npb": ("3873.74", "3973.74"),
    "quicksilver": ("8.000e+09", "8.100e+09"),
}

"""Outputs in the shape that programs write, each after the source that is named; the numbers are our own."""

# ruff: noqa: E501, W291

from __future__ import annotations

import json

from .apps import APPS, CLOSED_BY_APPS
from .suites import CLOSED_BY_SUITES, SUITES

# xhpl 2.3 (`HPL_pdinfo.c`, `HPL_pdtest.c`); NVIDIA's and Intel's rows after outputs of HPL-NVIDIA 1.0.0 and of
# Intel's GPU build.
HPL_HEAD = """\
================================================================================
HPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018
Written by A. Petitet and R. Clint Whaley,  Innovative Computing Laboratory, UTK
================================================================================

The following parameter values will be used:

N      :   20000
NB     :     192
P      :       2
Q      :       4

"""
HPL_TABLE = """\
================================================================================
T/V                N    NB     P     Q               Time                 Gflops
--------------------------------------------------------------------------------
"""
# Since 2.2.
HPL_CLOCK = """\
HPL_pdgesv() start time Sun Mar  1 10:00:00 2026

HPL_pdgesv() end time   Sun Mar  1 10:00:10 2026

"""
HPL_CHECK = """\
--------------------------------------------------------------------------------
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   2.50000000e-03 ...... {word}
"""
HPL_END = """\
================================================================================

Finished      1 tests with the following results:
              1 tests completed and passed residual checks,
              0 tests completed and failed residual checks,
              0 tests skipped because of illegal input values.
--------------------------------------------------------------------------------

End of Tests.
================================================================================
"""
HPL_ROW = "WR11C2R4       20000   192     2     4              10.50             5.0800e+02\n"
HPL = HPL_HEAD + HPL_TABLE + HPL_ROW + HPL_CHECK.format(word="PASSED") + HPL_END

# NVIDIA's HPL-MxP 25.x, after what users quote of it; no whole output was seen.
HPL_MXP = """\
HPL-MxP-NVIDIA 25.4.0  -- NVIDIA accelerated HPL-MxP benchmark -- NVIDIA
****** Matrix Generation ******
LU seconds: AVG = 4.25
Solver iteration 1, L-infinite residual = 1.5e-06
||Ax-b||_oo / (EPS * (||A||_oo * ||x||_oo + ||b||_oo) * N) = 0.00025 ...... PASSED
GFLOPS = 6.2500e+04, per GPU =   15625.00
LU GFLOPS = 8.5000e+04, per GPU =   21250.00
"""

# stream.c 5.10.
STREAM = """\
-------------------------------------------------------------
STREAM version $Revision: 5.10 $
-------------------------------------------------------------
This system uses 8 bytes per array element.
-------------------------------------------------------------
Array size = 80000000 (elements), Offset = 0 (elements)
Memory per array = 610.4 MiB (= 0.6 GiB).
Each kernel will be executed 10 times.
-------------------------------------------------------------
Number of Threads requested = 16
Number of Threads counted = 16
-------------------------------------------------------------
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:          101250.5     0.012741     0.012642     0.012892
Scale:          98400.3     0.013100     0.013008     0.013211
Add:           110800.7     0.017400     0.017329     0.017555
Triad:         111220.9     0.017350     0.017263     0.017501
-------------------------------------------------------------
Solution Validates: avg error less than 1.000000e-13 on all three arrays
-------------------------------------------------------------
"""

# LAMMPS of December 2018 and April 2024 (`finish.cpp`).
LAMMPS = """\
LAMMPS (29 Aug 2024 - Update 1)
units           real
Loop time of 12.5 on 64 procs for 200 steps with 32000 atoms

Performance: 1.382 ns/day, 17.361 hours/ns, 16.000 timesteps/s, 512.000 katom-step/s
99.1% CPU use with 32 MPI tasks x 2 OpenMP threads

Total wall time: 0:00:14
"""

# GROMACS 2018 to 2021 (`md.log`).
GROMACS = """\
                      :-) GROMACS - gmx mdrun, 2021.1 (-:

GROMACS:      gmx mdrun, version 2021.1
GROMACS version:    2021.1
Running on 2 nodes with total 64 cores, 128 logical cores
   nsteps                         = 10000
Using 32 MPI processes
Using 2 OpenMP threads per MPI process
Started mdrun on rank 0 Sun Mar  1 10:00:00 2026
               Core t (s)   Wall t (s)        (%)
       Time:     7680.128      120.002     6400.0
                 (ns/day)    (hour/ns)
Performance:       14.402        1.666
Finished mdrun on rank 0 Sun Mar  1 10:02:00 2026

"""

# NAMD 2.12 to 2.14.
NAMD = """\
Info: NAMD 2.14 for Linux-x86_64-MPI
Info: Running on 64 processors, 32 nodes, 2 physical nodes.
Info: 92224 ATOMS
Info: Benchmark time: 64 CPUs 0.0125 s/step 0.144676 days/ns 812.5 MB memory
WallClock: 21.500000  CPUTime: 20.250000  Memory: 812.500000 MB
[Partition 0][Node 0] End of program
"""

# simpleFoam of OpenFOAM v2312.
OPENFOAM = """\
/*---------------------------------------------------------------------------*\\
| =========                 |                                                 |
| \\\\      /  F ield         | OpenFOAM: The Open Source CFD Toolbox           |
|  \\\\    /   O peration     | Version:  2312                                  |
\\*---------------------------------------------------------------------------*/
Build  : _1d8f0d55f7-20231221 OPENFOAM=2312 version=v2312
Exec   : simpleFoam -parallel
Host   : n1
nProcs : 8
Time = 1

ExecutionTime = 2.5 s  ClockTime = 3 s

Time = 2

ExecutionTime = 4.25 s  ClockTime = 5 s

Time = 3

ExecutionTime = 6.1 s  ClockTime = 7 s

End

Finalising parallel run
"""

# pw.x 5.0 to 7.3.
QE = """\
     Program PWSCF v.7.2 starts on  1Mar2026 at 10: 0: 0

     Parallel version (MPI & OpenMP), running on      64 processor cores
     Number of MPI processes:                32
     Threads/MPI process:                     2

     number of atoms/cell      =           12
!    total energy              =    -221.12345678 Ry
     PWSCF        :   4m27.13s CPU   4m40.76s WALL


=------------------------------------------------------------------------------=
   JOB DONE.
=------------------------------------------------------------------------------=
"""

# cp.x 6.7 on 2 ranks: a water molecule, 20 steps. Parts of its output.
CP = """\
     Program CP v.6.7MaX starts on 26Nov2026 at 11:33:39

     This program is part of the open-source Quantum ESPRESSO suite
     for quantum simulation of materials; please cite
         "P. Giannozzi et al., J. Phys.:Condens. Matter 21 395502 (2009);
         "P. Giannozzi et al., J. Phys.:Condens. Matter 29 465901 (2017);
          URL http://www.quantum-espresso.org",
     in publications or presentations arising from this work. More details at
     http://www.quantum-espresso.org/quote

     Parallel version (MPI), running on     2 processors

     MPI processes distributed on     1 nodes
     R & G space division:  proc/nbgrp/npool/nimage =       2
     Reading input from h2o.in

   Job Title: Water Molecule

   Restart Mode       =      -1   from_scratch
   Number of MD Steps =      20
   omega =    1728.00000000
   Ecutwfc =   40.0 Ry,      Ecutrho =  160.0 Ry,      Ecuts =  160.0 Ry
   Number of Electrons=     8, of States =     4
   sorted by specie, and converted to real a.u. coordinates
   Species   1 atoms =    1 mass =     29166.22 (a.u.),        16.00 (amu) rcmax =   0.80 (a.u.)
        0.009900     0.009900     0.000000
   Species   2 atoms =    2 mass =      1822.89 (a.u.),         1.00 (amu) rcmax =   0.80 (a.u.)
        1.832500    -0.224300    -0.000100
       -0.224300     1.832500     0.000200
   Ionic position read from input file
 * Physical Quantities at step:    20


                total energy =      -11.70976053033 Hartree a.u.
              kinetic energy =        6.10178 Hartree a.u.
        electrostatic energy =      -13.62783 Hartree a.u.
                         esr =        0.14128 Hartree a.u.
                       eself =       18.94976 Hartree a.u.
      pseudopotential energy =       -5.00248 Hartree a.u.
  n-l pseudopotential energy =        3.41748 Hartree a.u.
 exchange-correlation energy =       -2.59870 Hartree a.u.
           average potential =        0.00000 Hartree a.u.
     CP           :      3.24s CPU     18.29s WALL


   This run was terminated on:  11:33:58  26Nov2026

=------------------------------------------------------------------------------=
   JOB DONE.
=------------------------------------------------------------------------------=
"""

# NWChem 7.0.
NWCHEM = """\
             Northwest Computational Chemistry Package (NWChem) 7.0.0
             --------------------------------------------------------
    nwchem branch   = 7.0.0
    nproc           =       64
         Total DFT energy =    -76.419735912345
 Task  times  cpu:       10.1s     wall:       10.8s
 Total times  cpu:       11.2s     wall:       12.5s
"""

# Graph500 reference 3.0 (`main.c`).
GRAPH500 = """\
SCALE:                          22
edgefactor:                     16
NBFS:                           64
graph_generation:               1.5
num_mpi_processes:              16
construction_time:              2.25
bfs  min_time:                  0.0625
bfs  max_time:                  0.125
min_nedge:                      67108864
bfs  min_TEPS:                  5.36871e+08
bfs  median_TEPS:               8.25e+08
bfs  max_TEPS:                  1.07374e+09
bfs  harmonic_mean_TEPS:     !  8.00125e+08
bfs  harmonic_stddev_TEPS:      1.25e+07
bfs  min_validate:              -1
bfs  max_validate:              -1
"""

# IOR 3.3 (`ior-output.c`).
IOR = """\
IOR-3.3.0: MPI Coordinated Test of Parallel I/O
Began               : Sun Mar  1 10:00:00 2026
Command line        : ior -a MPIIO -i 2 -t 1m -b 64m
Machine             : Linux n1

Options: 
api                 : MPIIO
nodes               : 2
tasks               : 16
repetitions         : 2

Results: 

access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
write     1250.50    1251.20    0.012786    65536      1024.00    0.001505   0.818850   0.000400   0.818871   0   
read      2400.25    2401.00    0.006600    65536      1024.00    0.000205   0.426500   0.000100   0.426600   0   
write     1300.75    1301.20    0.012786    65536      1024.00    0.001505   0.787220   0.000400   0.787238   1   
read      2500.25    2501.00    0.006600    65536      1024.00    0.000205   0.409500   0.000100   0.409560   1   
Max Write: 1300.75 MiB/sec (1363.93 MB/sec)
Max Read:  2500.25 MiB/sec (2621.70 MB/sec)

Finished            : Sun Mar  1 10:00:09 2026
"""

# mdtest 1.9.3 (`mdtest.c`).
MDTEST = """\
-- started at 03/01/2026 10:00:00 --

mdtest-1.9.3 was launched with 32 total task(s) on 4 node(s)
Command line used: mdtest -n 1024 -F -d /scratch/md
Path: /scratch/md
FS: 451.6 TiB   Used FS: 25.5%   Inodes: 454.9 Mi   Used Inodes: 5.2%

32 tasks, 32768 files

SUMMARY: (of 2 iterations)
   Operation                      Max            Min           Mean        Std Dev
   ---------                      ---            ---           ----        -------
   File creation     :      10300.520      10100.520      10200.520        141.421
   File stat         :      17500.250      17300.250      17400.250        141.421
   File read         :          0.000          0.000          0.000          0.000
   Tree creation     :       2062.096       2042.096       2052.096         14.142

-- finished at 03/01/2026 10:01:31 --
"""

# ReFrame 4.7 (`reporting/__init__.py`, `schemas/runreport.json`), 4.x performance logs of excalibur-tests.
REFRAME = json.dumps(
    {
        "session_info": {"data_version": "4.1", "version": "4.7.2", "num_cases": 1},
        "runs": [
            {
                "testcases": [
                    {
                        "name": "StreamTest",
                        "display_name": "StreamTest %num_threads=16",
                        "system": "daint",
                        "partition": "mc",
                        "environ": "gnu",
                        "num_tasks": 1,
                        "result": "pass",
                        "perfvalues": {"daint:mc:triad_bw": [98765.5, 95000, -0.05, None, "MB/s", "pass"]},
                    }
                ]
            }
        ],
    }
)

# `jube result`, pretty, 2.6 (`tests/examples_result_output`).
JUBE = """\
result:
| nodes | library | bandwidth[GB/s] |
|-------|---------|-----------------|
|     1 |   mpich |           12.25 |
|     2 |   mpich |           24.75 |
"""

# `ramble workspace analyze` (`experiment_result.py`).
RAMBLE = json.dumps(
    {
        "experiments": [
            {
                "name": "hpl.standard.n4",
                "RAMBLE_STATUS": "SUCCESS",
                "n_ranks": "64",
                "n_nodes": 4,
                "RAMBLE_VARIABLES": {"n_threads": "1"},
                "CONTEXTS": [
                    {
                        "name": "null",
                        "foms": [
                            {"name": "GFlops", "value": "512.25", "units": "GFLOP/s", "origin": "hpl"},
                            {"name": "Status", "value": "PASSED", "units": "", "origin": "hpl"},
                        ],
                    }
                ],
            }
        ]
    }
)

# `hpcbench collate` of 0.2: `infolog` and `slurmlog` in the job, `gmxlog` and `sacct` after it.
HPCBENCH = json.dumps(
    {
        "sysinfo": {
            "kernel-release": "5.14.21-x",
            "CPU": {"Architecture": "x86_64", "CPU(s)": "256", "Model name": "AMD EPYC 7742 64-Core Processor"},
            "env": [
                "SLURM_JOB_ID=4711", "SLURM_JOB_NUM_NODES=2", "SLURM_JOB_NODELIST=nid[000011-000012]",
                "SLURM_CPU_FREQ_REQ=2250000", "SLURM_CLUSTER_NAME=birch", "OMP_NUM_THREADS=8",
                "LOADEDMODULES=gcc/11.2.0:cray-mpich/8.1.23",
            ],
        },
        "version": "0.2",
        "run": {
            "Gromacs info": {"GROMACSversion": "2022.4"},
            "Totals": {
                "Wall Clock Time (s)": "216.566", "Number of atoms": "81743.0", "Number of steps": "10000.0",
                "ns/day": "7.98", "step/s": "46.175", "Consumed Energy (J)": "184396.0", "J/step": "18.4396",
            },
        },
        "accounting": {
            "NodeList": "nid[000011-000012]", "ElapsedRaw": "243", "JobID": "4711", "ConsumedEnergyRaw": "0",
        },
        "slurm": {
            "slurm": {"nodes": "2", "ntasks-per-node": "16", "cpus-per-task": "16", "partition": "standard"},
            "modules": ["gromacs"],
            "program": "GROMACS",
            "date": 1709322636.75,
        },
        "meta": {"Machine": "Birch", "Atoms": "82k"},
    },
    indent=4,
)  # fmt: skip

# darshan-parser --total --perf of Darshan 3.5.0, on the log of a program of ours.
DARSHAN = """\
# darshan log version: 3.41
# compression method: ZLIB
# exe: ./io
# nprocs: 1
# run time: 0.2578
# metadata: lib_ver = 3.5.0

# *******************************************************
# POSIX module data
# *******************************************************
total_POSIX_OPENS: 1
total_POSIX_READS: 4
total_POSIX_WRITES: 12
total_POSIX_BYTES_READ: 262144
total_POSIX_BYTES_WRITTEN: 786432
total_POSIX_F_SLOWEST_RANK_TIME: 0.000415

# performance
# -----------
# total_bytes: 1048576
# agg_time_by_slowest: 0.000415 # seconds
# agg_perf_by_slowest: 2410.519540 # MiB/s
"""

TEXTS = {
    "darshan": DARSHAN,
    "graph500": GRAPH500,
    "gromacs": GROMACS,
    "hpl": HPL,
    "hpl_mxp": HPL_MXP,
    "hpcbench": HPCBENCH,
    "ior": IOR,
    "jube": JUBE,
    "lammps": LAMMPS,
    "mdtest": MDTEST,
    "namd": NAMD,
    "nwchem": NWCHEM,
    "openfoam": OPENFOAM,
    "quantum_espresso": QE,
    "ramble": RAMBLE,
    "reframe": REFRAME,
    "stream": STREAM,
    **APPS,
    **SUITES,
}

# Up to the words that close an output; programs print more after them, and nothing of it is read.
_CLOSED_BY = {
    "graph500": "harmonic_stddev_TEPS:      1.25e+07\n",
    "gromacs": "Finished mdrun on",
    "hpl": "End of Tests.",
    "ior": "Finished            :",
    "lammps": "Total wall time:",
    "mdtest": "-- finished at",
    "namd": "Memory: 812.500000 MB\n",
    "openfoam": "\nEnd",
    "quantum_espresso": "JOB DONE.",
    "stream": "Solution Validates",
    **CLOSED_BY_APPS,
    **CLOSED_BY_SUITES,
}
SAMPLES = {
    engine: text[: text.rindex(mark) + len(mark)] if (mark := _CLOSED_BY.get(engine)) else text
    for engine, text in TEXTS.items()
}

"""The tables of the registry: one block per kind of dataset, one line per variable.

A line is ``name | dims | dtype | unit | meaning``; ``*`` before the name marks a coordinate and
``?`` one that a dataset may lack. Dims are separated by commas; none means a scalar.
"""

from dataclasses import dataclass

from analysis.schema import runs
from analysis.schema.factors import TABLE


@dataclass(frozen=True, slots=True)
class Variable:
    """A declared variable; a `coordinate` labels a dimension rather than holding a measured value."""

    name: str
    dims: tuple[str, ...]
    dtype: str  # a key of `registry._KINDS`
    unit: str  # UDUNITS spelling; 1 for pure numbers, empty for labels
    meaning: str
    coordinate: bool = False
    required: bool = True  # in every dataset of its kind


_PROFILE = """
*rank          | obs      | i4  |     | rank in MPI_COMM_WORLD
*call          | obs      | str |     | MPI call, spelt like MPI_Send; read, write, ... for POSIX calls
*size          | obs      | i8  | B   | bytes per call, -1 where the tool does not say
*peer          | obs      | i4  |     | partner or root rank, -1 where there is none
*region        | obs      | str |     | code region, empty where the tool has none
*site          | obs      | i4  |     | call site id of the tool, -1 where it has none
*host          | rank     | str |     | node of the rank, empty where the file does not say
count          | obs      | i8  | 1   | number of calls
time           | obs      | f8  | s   | time in the calls, summed over count
bytes          | obs      | f8  | B   | payload, summed over count; NaN where the tool did not record it
?exclusive_time | obs     | f8  | s   | time in the calls without that of calls made in them
?time_min      | obs      | f8  | s   | shortest call
?time_max      | obs      | f8  | s   | longest call
app_time       | rank     | f8  | s   | wall-clock time of the rank between MPI_Init and MPI_Finalize
mpi_time       | rank     | f8  | s   | time of the rank inside MPI
memory         | rank     | f8  | B   | largest resident set of the rank
?user_time     | rank     | f8  | s   | user CPU time of the rank
?system_time   | rank     | f8  | s   | system CPU time of the rank
*?callsite     | callsite | i4  |     | call site id
?callsite_name | callsite | str |     | place of the call: file:line function, or an address
?callsite_call | callsite | str |     | MPI call made there
*?histogram_call | histogram | str |   | MPI call of a row of the size histogram
*?histogram_kind | histogram | str |   | collective or point-to-point
*?comm_low     | histogram | i8 | 1   | smallest communicator size of the bin
*?comm_high    | histogram | i8 | 1   | largest communicator size of the bin
*?size_low     | histogram | i8 | B   | smallest payload of the bin
*?size_high    | histogram | i8 | B   | largest payload of the bin
?share         | histogram | f8 | percent | share in MPI time (collective) or bytes sent (point-to-point)
"""

# What several blocks have: the size of a job, and what publications state of machine and job.
_JOB = """
ranks          |          | i8  | 1   | MPI processes, -1 where the file does not say
threads        |          | i8  | 1   | threads per process, -1 where the file does not say
"""
_STATED = "\n".join(
    f"{one.name} | figure | i8 | 1 | {one.meaning}, -1 where the source does not say"
    if one.numeric
    else f"{one.name} | figure | str | | {one.meaning}"
    for one in TABLE
    if one.needed and one.kind != "problem"
)

_HPCG = """
*kernel        | kernel   | str |     | DDOT, WAXPBY, SpMV, MG or Total
time           | kernel   | f8  | s   | time in the kernel on rank 0
flops          | kernel   | f8  | 1   | floating-point operations of the kernel
gflops         | kernel   | f8  | Gflop/s | rate of the kernel
rating         |          | f8  | Gflop/s | HPCG's result line, the figure of merit
valid          |          | bool |    | whether HPCG calls its result valid
{job}
local_size     | axis     | i8  | 1   | local grid points per axis
process_grid   | axis     | i8  | 1   | processes per axis
global_size    | axis     | i8  | 1   | global grid points per axis
*axis          | axis     | str |     | x, y or z
setup_time     |          | f8  | s   | time to set the problem up
benchmark_time |          | f8  | s   | time of the rated phase
official_time  |          | f8  | s   | least time that HPCG asks for an official result
iterations     |          | f8  | 1   | optimised CG iterations in all
data_memory    |          | f8  | B   | memory HPCG counts for its data, over all processes
allreduce_time | statistic | f8 | s   | time in MPI_Allreduce of the dot products across ranks
*statistic     | statistic | str |    | min, max or avg
*entry         | entry    | str |     | key of a line as written, joined with ::
value          | entry    | str |     | value of that line as written
"""

# What OSU's and Intel's micro-benchmarks both print; {0} is the dimension.
_MICRO = """
?latency       | {0}      | f8  | us  | average latency; overall time of a non-blocking collective
?latency_min   | {0}      | f8  | us  | least latency over ranks
?latency_max   | {0}      | f8  | us  | largest latency over ranks
?compute_time  | {0}      | f8  | us  | computation meant to overlap a non-blocking collective
?communication_time | {0} | f8  | us  | time of a non-blocking collective without computation
?overlap       | {0}      | f8  | percent | share of the communication hidden behind computation
?iterations    | {0}      | i8  | 1   | iterations
?bandwidth     | {0}      | f8  | MB/s | bandwidth, 1 MB = 10^6 B
?message_rate  | {0}      | f8  | 1/s | messages per second
"""

_OSU = (
    """
*size          | size     | i8  | B   | message size, -1 where the benchmark has none (osu_barrier, osu_init)
"""
    + _MICRO.format("size")
    + """
?latency_p50   | size     | f8  | us  | median latency over iterations
?latency_p90   | size     | f8  | us  | latency not exceeded in 90 % of the iterations
?latency_p99   | size     | f8  | us  | latency not exceeded in 99 % of the iterations
?init_time     | size     | f8  | us  | time to start a non-blocking collective
?test_time     | size     | f8  | us  | time in MPI_Test while computing
?wait_time     | size     | f8  | us  | time in MPI_Wait after computing
?bandwidth_p50 | size     | f8  | MB/s | median bandwidth over iterations
?bandwidth_p90 | size     | f8  | MB/s | bandwidth that the tool's 90th percentile column gives
?bandwidth_p99 | size     | f8  | MB/s | bandwidth that the tool's 99th percentile column gives
?validation    | size     | str |     | outcome of the data check, Pass or Fail
"""
)

_IMB = (
    """
*benchmark     | row      | str |     | benchmark as written; Multi- before it where groups ran at once
*processes     | row      | i8  | 1   | processes that took part, of each group
*groups        | row      | i8  | 1   | groups that ran at once
*group         | row      | i8  |     | group of the row, -1 for all together
*mode          | row      | str |     | AGGREGATE or NON-AGGREGATE (one-sided, files), else empty
*size          | row      | i8  | B   | message size, -1 where the benchmark has none (Barrier)
ranks          |          | i8  | 1   | processes of the job, waiting ones included; -1 if not known
"""
    + _MICRO.format("row")
    + """
?defect        | row      | f8  | 1   | deviation that a build with data checks found
"""
)

_HPCC = """
*entry         | entry    | str |     | key of the summary, as written
value          | entry    | f8  | 1   | its number in the unit that HPCC's key implies, NaN for text
text           | entry    | str |     | its value as written
"""

_PROXY = """
pattern        |          | str |     | halo, allreduce, bcast, master-io, mixed or exchange
ranks          |          | i8  | 1   | MPI processes
bytes          |          | i8  | B   | size of a block
count          |          | i8  | 1   | timed steps
work           |          | i8  | 1   | words computed by each rank in a step
time           |          | f8  | s   | time of the timed steps on the slowest rank, the figure of merit
time_min       |          | f8  | s   | the same on the fastest rank
io_time        |          | f8  | s   | part of it that rank 0 wrote to its file
checksum       |          | str |     | sum over all that was received and computed, hexadecimal
*?size         | size     | i8  | B   | size of a message, of the pattern exchange
?partners      | size     | i8  | 1   | messages that each rank sends and receives in an exchange
?latency       | size     | f8  | us  | time of an exchange on the slowest rank, median of batches
?latency_least | size     | f8  | us  | the least of the batches
?iterations    | size     | i8  | 1   | timed exchanges
"""

_PUBLISHED = """
*figure        | figure   | str |     | name of the figure
run            | figure   | str |     | run that it belongs to with others, empty for a figure by itself
source         | figure   | str |     | key of the source in sources.csv
place          | figure   | str |     | place of the figure in the source
application    | figure   | str |     | program that gave it; specification for what a maker states
version        | figure   | str |     | its version
case           | figure   | str |     | input case or benchmark
cluster        | figure   | str |     | cluster
{stated}
environment    | figure   | str |     | system and compiler
transport      | figure   | str |     | settings of the MPI library or the network
size           | figure   | i8  | B   | message size, -1 where there is none
metric         | figure   | str |     | what the figure is, such as rating or latency
value          | figure   | f8  |     | the figure, in its unit
high           | figure   | f8  |     | upper end where the source gives a range
unit           | figure   | str |     | its unit
qualifier      | figure   | str |     | about, over, at most, range, suspect, or empty
remark         | figure   | str |     | what to know of it
"""

_SACCT = """
*job_id        | record   | str |     | job, with array or heterogeneous part
*step          | record   | str |     | step (batch, extern, 0 ...), empty for the job itself
job_name       | record   | str |     | name of job or step
state          | record   | str |     | state, first word
exit_code      | record   | i4  | 1   | exit code, -1 where none is given
exit_signal    | record   | i4  | 1   | signal that ended it, 0 for none, -1 where none is given
submit         | record   | datetime64[ns] | | submitted (time zone as in the attribute time_zone)
start          | record   | datetime64[ns] | | started
end            | record   | datetime64[ns] | | ended
elapsed        | record   | f8  | s   | wall-clock time by Slurm, whole seconds
nodes          | record   | i4  | 1   | nodes, -1 where none is given
cpus           | record   | i4  | 1   | CPUs, -1 where none is given
node_list      | record   | str |     | nodes as Slurm prints them
memory_max     | record   | f8  | B   | MaxRSS: largest resident set of a task
memory_mean    | record   | f8  | B   | AveRSS: mean resident set of the tasks
cpu_time       | record   | f8  | s   | TotalCPU
energy         | record   | f8  | J   | ConsumedEnergyRaw; NaN where blank
comment        | record   | str |     | comment of the job
resources      | record   | str |     | AllocTRES as printed
"""

# `power` of a meter that counts energy is the mean since its reading before; there `energy_counter`
# is finite at every reading, so that a reading whose interval is unknown (a reset) can be told.
_POWER = """
*meter         | meter    | str |     | name of the meter, with the sensor where it has several
*time          | time     | datetime64[ns] | | time of the reading, UTC, clock offset applied
power          | meter, time | f8 | W | power; NaN where the meter has no value
?energy_counter | meter, time | f8 | J | energy since the meter's first reading, over known intervals
"""

_LSDYNA = """
*section       | section  | str |     | row of the timing table as written, without its dots
parent         | section  | str |     | section that an indented row is part of, empty for none
cpu_time       | section  | f8  | s   | CPU time in the section
cpu_share      | section  | f8  | percent | the same as a share of the total
clock_time     | section  | f8  | s   | wall-clock time in the section
clock_share    | section  | f8  | percent | the same as a share of the total
elapsed        |          | f8  | s   | elapsed time to solution
elapsed_resolution |      | f8  | s   | step in which it is printed
cycles         |          | i8  | 1   | cycles computed, -1 where the file does not say
{job}
termination    |          | str |     | normal, error or none
valid          |          | bool |    | whether it ended normally and says how long it took
elements       |          | i8  | 1   | elements and SPH particles of the model, -1 where it does not say
problem_time   |          | f8  |     | simulated time reached, in the unit of the input deck
problem_cycle  |          | i8  | 1   | cycle reached
cpu_total      |          | f8  | s   | CPU time in all
cpu_per_zone_cycle |      | f8  | ns  | CPU time per zone and cycle
clock_per_zone_cycle |    | f8  | ns  | wall-clock time per zone and cycle
start          |          | datetime64[ns] | | start by the host's own clock
end            |          | datetime64[ns] | | end by the host's own clock
"""

_OPENATOM = """
*step          | step     | i8  | 1   | iteration or BOMD step, in the order of the output
iteration_time | step     | f8  | s   | time of the iteration
step_time      |          | f8  | s   | mean time of an iteration after start-up, the figure of merit
startup_steps  |          | i8  | 1   | iterations at the beginning that the mean leaves out
startup_time   |          | f8  | s   | time of all start-up phases
total_time     |          | f8  | s   | time of all iterations, NaN where the file does not say
ranks          |          | i8  | 1   | processors (PEs) of Charm++, -1 where the file does not say
charm_nodes    |          | i8  | 1   | nodes that Charm++ found, -1 where the file does not say
atoms          |          | i8  | 1   | atoms, -1 where the file does not say
states         |          | i8  | 1   | electronic states, -1 where the file does not say
cutoff         |          | f8  | Ry  | energy cutoff of the states, NaN where the file does not say
"""

# Figures of merit of any program: what `analysis.readers.merits` makes of its output.
_MERITS = """
*merit         | merit    | str |     | name of a figure, in the program's words
*result        | merit    | i8  |     | which of the file's results it is part of, from 0
*case          | merit    | str |     | test or experiment of the figure, empty if the file has only one
value          | merit    | f8  |     | the figure, in its unit
unit           | merit    | str |     | its unit, empty where the file has none
resolution     | merit    | f8  |     | step in which it is printed, NaN where none is known
problem        | merit    | str |     | size of its problem, where results of one file differ in it
check          | merit    | str |     | passed or failed, empty where the file does not say
line           | merit    | i8  |     | line of the file that has it, -1 where the file has no lines
figure_of_merit |         | f8  |     | main figure of the file; NaN if the file is incomplete
figure_of_merit_unit |    | str |     | its unit
figure_of_merit_resolution | | f8 |   | step in which it is printed
benchmark_time |          | f8  | s   | time of that result by the program's own clock, NaN where it has none
{job}
nodes          |          | i8  | 1   | nodes, -1 where the file does not say
size           |          | str |     | size of the problem in the program's words
valid          |          | bool |    | whether there is a figure and no check failed
"""

_BLOCKS = {
    "profile": _PROFILE, "hpcg": _HPCG, "osu": _OSU, "imb": _IMB, "hpcc": _HPCC, "lsdyna": _LSDYNA,
    "openatom": _OPENATOM, "merits": _MERITS, "proxy": _PROXY, "published": _PUBLISHED, "sacct": _SACCT,
    "power": _POWER, "run": runs.RUN, "runs": runs.RUNS, "calls": runs.CALLS, "messages": runs.MESSAGES,
    "ranks": runs.RANKS, "matrix": runs.MATRIX, "micro": runs.MICRO, "files": runs.FILES, "facts": runs.FACTS,
    "meters": runs.METERS,
}  # fmt: skip


def _variable(line: str) -> Variable:
    head, dims, dtype, unit, meaning = (part.strip() for part in line.split("|"))
    name = head.lstrip("*?")
    marks = head[: len(head) - len(name)]
    return Variable(
        name=name,
        dims=tuple(dim.strip() for dim in dims.split(",") if dim.strip()),
        dtype=dtype,
        unit=unit,
        meaning=meaning,
        coordinate="*" in marks,
        required="?" not in marks,
    )


def _table(block: str) -> dict[str, Variable]:
    variables = [_variable(line) for line in block.format(job=_JOB, stated=_STATED).splitlines() if line]
    table = {variable.name: variable for variable in variables}
    if len(table) != len(variables):
        raise ValueError("a variable is declared twice in one kind")
    return table


REGISTRY: dict[str, dict[str, Variable]] = {kind: _table(block) for kind, block in _BLOCKS.items()}

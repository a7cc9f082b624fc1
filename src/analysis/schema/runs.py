"""Tables of the registry for runs and campaigns; for the form of a line see `analysis.schema.profiles`."""

from analysis.schema.factors import TABLE

# What a run is called, and its factors from their own table.
_HEAD = """
*run           | run | str |   | name of the run within its campaign
*campaign      | run | str |   | campaign
*evidence      | run | str |   | evidence class
*question      | run | str |   | what the run was made for
"""
_TAIL = """
*repeat        | run | i4  | 1 | repetition
*order         | run | i4  | 1 | position in the shuffled order of execution
"""
_FACTORS = (
    _HEAD
    + "\n".join(f"*{one.name} | run | {one.dtype} | {one.unit} | {one.meaning}" for one in TABLE)
    + _TAIL
)

RUN = (
    _FACTORS
    + """
job_id         | run | str |   | Slurm job
node_list      | run | str |   | nodes, separated by commas
command        | run | str |   | launch line
start          | run | datetime64[ns] | | start, UTC
end            | run | datetime64[ns] | | end, UTC
elapsed        | run | f8  | s | wall-clock time from launch to exit
exit_code      | run | i4  | 1 | exit code, -1 where none was recorded
timing         | run | bool |  | whether its times may enter a statistic (false: oversubscribed or the like)
load_before    | run | f8  | 1 | load average before the start
"""
)

# A campaign's own tables. `runs` has one row per execution, failed ones included; the others are
# in long form and name their run.
RUNS = (
    _FACTORS
    + """
valid          | run | bool |    | whether the run may enter a statistic
reason         | run | str  |    | why it may not, empty if it may
timing         | run | bool |    | whether its times may enter a statistic
figure_of_merit | run | f8 |     | figure of merit of the application, NaN where it has none
figure_of_merit_unit | run | str | | its unit
?figure_of_merit_resolution | run | f8 | | step in which it is printed, in its unit; NaN where none is known
?peak          | run | f8   |    | greatest rate of the machine, in the unit of the figure of merit
?cores         | run | i4   | 1  | cores of the machine, -1 where not stated
elapsed        | run | f8   | s  | wall-clock time from launch to exit
elapsed_slurm  | run | f8   | s  | the same by Slurm, whole seconds
benchmark_time | run | f8   | s  | the application's own rated phase
?reduction_time | run | f8  | s  | mean time of a rank in the reductions of dot products, by the output
mpi_fraction   | run | f8   | 1  | MPI time over wall-clock time, summed over ranks; profiled runs only
imbalance      | run | f8   | 1  | largest over mean time outside MPI across ranks, minus 1
rank_memory    | run | f8   | B  | largest resident set of a rank, mean over ranks; profiled runs only
node_memory    | run | f8   | B  | the same summed over the ranks of a node, largest node
node_memory_slurm | run | f8 | B | MaxRSS of the job's steps summed by node, largest node
data_memory    | run | f8   | B  | memory the application counts for its data, over all ranks
grid_ratio     | run | f8   | 1  | global grid over local grid times process grid (HPCG: 1)
official_time  | run | f8   | s  | least time for an official result, by the output
energy         | run | f8   | J  | energy of the job over its meters, NaN where it is not known
energy_low     | run | f8   | J  | lower bound where the log has gaps
energy_high    | run | f8   | J  | upper bound where the log has gaps
?energy_uncertainty | run | f8 | J | standard, from sampling, clocks and, if stated, the meters' accuracy
?energy_accuracy | run | f8  | 1  | the meters' limit of error as a share of the reading, NaN where not stated
energy_covered | run | f8   | 1  | share of the run that readings cover
?energy_shared | run | f8   | 1  | part of the run in which it had less than the whole of a meter
?energy_rule   | run | str  |    | how a meter was split between nodes and jobs, empty where none was
?energy_location | run | str |   | where the meters measure
?energy_reason | run | str  |    | why there is no energy, empty where there is
?idle_power    | run | f8   | W  | the run's part of its meters' power while no job ran
mean_power     | run | f8   | W  | energy over the run's time
exit_code      | run | i4   | 1  | exit code, -1 where none was recorded
state          | run | str  |    | state by Slurm, empty without a record
job_id         | run | str  |    | Slurm job
node_list      | run | str  |    | nodes
command        | run | str  |    | launch line
start          | run | datetime64[ns] | | start, UTC
end            | run | datetime64[ns] | | end, UTC
load_before    | run | f8   | 1  | load average before the start
checksum       | run | str  |    | SHA-256 over names and contents of the run's files
?source        | run | str  |    | key of the source in sources.csv, of runs that others published
"""
)

CALLS = """
*run           | row | str | | run
*call          | row | str | | MPI call
count          | row | i8 | 1 | calls, summed over ranks
time           | row | f8 | s | time, summed over ranks
bytes          | row | f8 | B | payload, summed over ranks
time_rank_min  | row | f8 | s | least over ranks
time_rank_max  | row | f8 | s | largest over ranks
"""

MESSAGES = """
*run           | row | str | | run
*call          | row | str | | MPI call
*size          | row | i8 | B | bytes per call
count          | row | i8 | 1 | calls, summed over ranks
time           | row | f8 | s | time, summed over ranks
"""

RANKS = """
*run           | row | str | | run
*rank          | row | i4 | | rank
host           | row | str | | node of the rank
app_time       | row | f8 | s | wall-clock time of the rank
mpi_time       | row | f8 | s | time of the rank inside MPI
memory         | row | f8 | B | largest resident set of the rank
"""

MATRIX = """
*run           | row | str | | run
*rank          | row | i4 | | sender
*peer          | row | i4 | | receiver
count          | row | i8 | 1 | point-to-point sends
bytes          | row | f8 | B | payload sent point to point
"""

MICRO = """
*run           | row | str | | run
*case          | row | str | | benchmark
*size          | row | i8 | B | message size
latency        | row | f8 | us | average latency; of the proxy's exchange the median of batches
latency_least  | row | f8 | us | least of the batches, where the tool has some
bandwidth      | row | f8 | MB/s | bandwidth, 1 MB = 10^6 B
"""

FILES = """
*path          | file | str | | path within the campaign
run            | file | str | | run that the file belongs to, empty for the campaign's own
engine         | file | str | | reader that read it, empty if none did
bytes          | file | i8 | B | size as stored
checksum       | file | str | | SHA-256 as stored
complete       | file | bool | | whether it was whole
"""

# What the records of runs state in addition to the columns of `runs`, and in which they differ.
FACTS = """
*run           | row | str | | run
*fact          | row | str | | name of what is stated: of the node, the environment, a file
level          | row | str | | what the record says, empty if it does not
"""

# The meters of logs that hold many runs; how each was split and what the clock was corrected by.
METERS = """
*log           | row | str | | path or pattern of the log's files within the campaign
*meter         | row | str | | meter
nodes          | row | str | | nodes that it feeds, separated by commas
kind           | row | str | | nodes, or switch for what adds to the energy and meters no node
location       | row | str | | where it measures
interval       | row | f8 | s | median time between readings
max_gap        | row | f8 | s | longer between two readings is a gap, whose energy is bounded
accuracy       | row | f8 | 1 | limit of error as a share of the reading, NaN where not stated
clock_offset   | row | f8 | s | added to the meter's clock
clock_error    | row | f8 | s | standard uncertainty of that offset
clock          | row | str | | where the offset comes from: declared, estimated, or empty for none
rule           | row | str | | how it is split
readings       | row | i8 | 1 | readings
first          | row | datetime64[ns] | | first reading, UTC
last           | row | datetime64[ns] | | last reading, UTC
idle           | row | f8 | W | median power while no run was on its nodes
idle_readings  | row | i8 | 1 | readings behind that
"""

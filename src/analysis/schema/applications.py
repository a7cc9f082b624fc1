"""Tables of the registry for single applications, in the form of `analysis.schema.profiles`."""

from __future__ import annotations

LSDYNA = """
*section       | section  | str |     | row of the timing table as written, without its dots
parent         | section  | str |     | section that an indented row is part of, empty for none
cpu_time       | section  | f8  | s   | CPU time in the section
cpu_share      | section  | f8  | percent | the same as a share of the total
clock_time     | section  | f8  | s   | wall-clock time in the section
clock_share    | section  | f8  | percent | the same as a share of the total
elapsed        |          | f8  | s   | elapsed time to solution
elapsed_resolution |      | f8  | s   | step in which it is printed
cycles         |          | i8  | 1   | cycles computed, -1 where the file does not say
ranks          |          | i8  | 1   | MPP processes, -1 where the file does not say
threads        |          | i8  | 1   | SMP threads (per process), -1 where the file does not say
termination    |          | str |     | normal, error or none
valid          |          | bool |    | whether it ended normally and says how long it took
problem_time   |          | f8  |     | simulated time reached, in the unit of the input deck
problem_cycle  |          | i8  | 1   | cycle reached
cpu_total      |          | f8  | s   | CPU time in all
cpu_per_zone_cycle |      | f8  | ns  | CPU time per zone and cycle
clock_per_zone_cycle |    | f8  | ns  | wall-clock time per zone and cycle
start          |          | datetime64[ns] | | start by the host's own clock
end            |          | datetime64[ns] | | end by the host's own clock
"""

OPENATOM = """
*step          | step     | i8  | 1   | iteration or BOMD step, in the order of the output
iteration_time | step     | f8  | s   | time of the iteration
step_time      |          | f8  | s   | mean time of an iteration after start-up, the figure of merit
startup_steps  |          | i8  | 1   | iterations at the beginning that the mean leaves out
startup_time   |          | f8  | s   | time of all start-up phases
total_time     |          | f8  | s   | time of all iterations, NaN where the file does not say
ranks          |          | i8  | 1   | processors (PEs) of Charm++, -1 where the file does not say
charm_nodes    |          | i8  | 1   | nodes that Charm++ found, -1 where the file does not say
"""

# Figures of merit of any program: what `analysis.readers.merits` makes of its output.
MERITS = """
*merit         | merit    | str |     | name of a figure, in the program's words
*result        | merit    | i8  |     | which of the file's results it is part of, from 0
*case          | merit    | str |     | test or experiment that it is of, empty where the file is of one
value          | merit    | f8  |     | the figure, in its unit
unit           | merit    | str |     | its unit, empty where the file has none
resolution     | merit    | f8  |     | step in which it is printed, NaN where none is known
problem        | merit    | str |     | size of its problem, where results of one file differ in it
check          | merit    | str |     | passed or failed, empty where the file does not say
line           | merit    | i8  |     | line on which it stands, -1 where the file has no lines
figure_of_merit |         | f8  |     | the figure that speaks for the file; NaN of a file that is not whole
figure_of_merit_unit |    | str |     | its unit
figure_of_merit_resolution | | f8 |   | step in which it is printed
benchmark_time |          | f8  | s   | time of that result by the program's own clock, NaN where it has none
ranks          |          | i8  | 1   | MPI processes, -1 where the file does not say
threads        |          | i8  | 1   | threads per process, -1 where the file does not say
nodes          |          | i8  | 1   | nodes, -1 where the file does not say
size           |          | str |     | size of the problem in the program's words
valid          |          | bool |    | whether there is a figure and no check failed
"""

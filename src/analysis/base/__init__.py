"""Ground: faults, the project, YAML, units, Slurm; it knows no benchmark."""

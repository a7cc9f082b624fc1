"""Sample power beside a job: meters asked at a steady pace, readings as CSV that our readers read.

A job script starts and stops the sampler::

    python -m analysis.measure.power start config/clusters/mine.yaml power.csv --nodes "$SLURM_JOB_NODELIST"
    srun …
    python -m analysis.measure.power stop power.csv

The meters are the part ``power`` of the cluster's file (``workflow/schemas/power.schema.yaml``; the
README has an example of each). Meters with an address are asked from the first node of the job. In a job
of Slurm ``start`` also has srun start a sampler for local meters on every other node, with the logs
``power.<node>.csv``.

Beside ``power.csv`` (columns ``time,meter,power_W,note``) stand ``power.energy.csv`` where a meter
counts energy (``time,meter,energy_uj,note``), ``power.summary.json`` with what the meters are, gaps
and overruns, and ``power.log``. A meter that does not answer costs its own readings only: blank cells
with a note.
"""

"""Sample power beside a job: meters asked at a steady pace, readings as CSV that our readers read.

A job script starts and stops the sampler::

    python -m analysis.sampling start config/clusters/mine.yaml power.csv --nodes "$SLURM_JOB_NODELIST"
    srun …
    python -m analysis.sampling stop power.csv

The meters are the part ``power`` of the cluster's file (``workflow/schemas/power.schema.yaml``)::

    power:
      period: 1
      meters:
        - {type: ipmitool, name: "{node}", host: "{node}-bmc", user: bench, password: {env: BMC_PASSWORD}}
        - {type: snmp, name: pdu1, host: pdu1, version: "2c", community: {file: ~/.pdu1},
           objects: {"1": 1.3.6.1.4.1.318.1.1.26.6.3.1.7.1}, unit: 10 W}
        - {type: powercap, name: "{node}"}

Beside ``power.csv`` (columns ``time,meter,power_W,note``) stand ``power.energy.csv`` where a meter
counts energy (``time,meter,energy_uj,note``), ``power.summary.json`` with the gaps and overruns, and
``power.log``. A meter that does not answer costs its own readings only: blank cells with a note.
"""

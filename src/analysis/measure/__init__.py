"""Measuring: a campaign's matrix becomes runs, each run a job script, each job a record.

`declare` loads campaign, cluster and application; `matrix` expands them to runs; `cores`, `launchers`, `job`
and `script` make the job script of one run, `launch` starts it on the node and `record` leaves its
``run.json``; `progress` is plan and state, `workflow` what the rules of Snakemake ask.

Who is trusted: a campaign's and an application's file hold names, numbers and arguments only, so that a
stranger's can be run. Programs, paths, environment and modules stand in the cluster's file, which is the
site's own. Every value is quoted on its way into the script.
"""

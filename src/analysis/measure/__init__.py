"""Measuring: a campaign's matrix becomes runs, each run a job script, each job a record.

Who is trusted: a campaign's and an application's file hold names, numbers and arguments only, so that a
stranger's can be run. Programs, paths, environment and modules are in the cluster's file, which is the
site's own. Every value is quoted on its way into the script.
"""

"""Sample power while a job runs, by the part ``power`` of its cluster's file; see `__main__`.

``power.csv`` has the columns ``time,meter,power_W,note``, ``power.energy.csv`` of meters that count energy
``time,meter,energy_uj,note``, ``power.<node>.csv`` the local meters of other nodes; ``power.summary.json``
says what the meters are, gaps and overruns. A meter that does not answer costs its own readings only: blank
cells with a note.
"""

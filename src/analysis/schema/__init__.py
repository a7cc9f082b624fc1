"""What data are called: factors, variables and their units, records of runs, files that declare campaigns."""

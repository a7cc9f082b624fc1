"""The sources of a campaign: facts of the nodes, manifest of the raw files, checks of the runs, export."""

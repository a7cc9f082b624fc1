"""The sources of a campaign: facts of the nodes, the manifest of the raw files, checks of the runs, export."""

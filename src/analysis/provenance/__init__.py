"""What a campaign rests on: facts of the nodes, the manifest of the raw files, checks of the runs, export."""

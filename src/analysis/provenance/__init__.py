"""What a campaign rests on: facts of the nodes, the manifest of the raw files, checks of the runs, export.

`facts` stands alone, so that a compute node's own Python can run the file; the other modules are
`manifest` and `records` (``benchbook verify``) and `crate` (``benchbook export``).
"""

"""`analysis.schema.storage` under the name that it had up to release 0.1."""

from analysis.schema.storage import read, read_tree, write, write_tree

__all__ = ["read", "read_tree", "write", "write_tree"]

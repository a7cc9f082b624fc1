"""A module for each format of `analysis.readers.merits`."""

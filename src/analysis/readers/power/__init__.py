"""Readers of power logs: one module per format, one contract (`analysis.readers.power.base`)."""

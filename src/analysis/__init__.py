"""Benchbook: the conclusions of HPC benchmark reports, rebuilt from raw files."""

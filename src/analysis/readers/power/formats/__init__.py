"""Formats of power logs, a module each: what lies here is found, nothing else names it."""

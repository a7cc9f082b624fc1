"""Slides of a campaign: what was found, on what machine, by which method; as HTML, PDF and PowerPoint."""

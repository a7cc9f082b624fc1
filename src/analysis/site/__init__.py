"""The static site: a scoreboard, one page a notebook, provenance; it loads nothing from anywhere."""

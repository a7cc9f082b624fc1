"""A built campaign becomes comparable runs, medians, ratios and intervals."""

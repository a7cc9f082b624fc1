"""What hardware permits: an analytic model of an application's steps, swept over what is not known."""

# `question` of a modelled run: a draw, or one of an application whose messages nobody has profiled. Runs of a
# sweep have ``sweep <unknown> <value>``.
DRAWN, ASSUMED = "draw", "draw, assumed structure"

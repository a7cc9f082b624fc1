"""What hardware permits: an analytic model of an application's steps, swept over what is not known."""

"""How models are trained here: the loop, the phases of a run, several seeds at once, weights by
name."""

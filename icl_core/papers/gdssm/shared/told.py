"""What the scripts of several experiments share: one prompt on y = 2 x."""

from icl_core.script import Example

EXAMPLE = Example((("0.2", "x"), ("0.4", "y"), ("−0.5", "x"), ("−1", "y"), ("0.3", "query")), "0.6")

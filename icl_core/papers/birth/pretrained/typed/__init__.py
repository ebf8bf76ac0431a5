"""A text of the visitor's own, read by a model whose weights are on this computer."""

"""The page of "State-space models can learn in-context by gradient descent"."""

from pages.ui.paper_page import show

show("gdssm")

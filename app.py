"""The front page: what in-context learning is, the papers with a live picture each, the claims at a glance."""

from pages.ui.front import show

# Shown until their folder is in icl_core/papers.
PLANNED = {
    "gdssm": "GD-SSM: state-space models learn in context by gradient descent",
}

show(PLANNED)

"""The front page: what in-context learning is, the papers with a live picture each, the claims at a
glance."""

from pages.ui.front.front import show

show()

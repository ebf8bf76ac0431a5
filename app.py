"""The front page: in-context learning, the papers with a picture each, and how the claims fared."""

from pages.ui.front.front import show

show()

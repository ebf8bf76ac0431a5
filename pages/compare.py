"""The page that compares runs of one experiment."""

from pages.ui.compare.compare_page import show

show()

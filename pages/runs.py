"""The page of runs."""

from pages.ui.runs_page import show

show()

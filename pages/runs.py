"""The page of runs."""

from pages.ui.runs.runs_page import show

show()

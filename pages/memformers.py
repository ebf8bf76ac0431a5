"""The page of "Memformers"."""

from pages.ui.paper_page import show

show("memformers")

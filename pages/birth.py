"""The page of "Birth of a Transformer"."""

from pages.ui.paper_page import show

show("birth")

"""The page of claims."""

from pages.ui.claims_page import show

show()

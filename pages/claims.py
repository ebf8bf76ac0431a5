"""The page of claims."""

from pages.ui.claims.claims_page import show

show()

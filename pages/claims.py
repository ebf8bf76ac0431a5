"""The page of all claims of the papers."""

from pages.ui.claims.claims_page import show

show()

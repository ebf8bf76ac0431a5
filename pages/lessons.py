"""The page of lessons."""

from pages.ui.lessons_page import show

show()

"""The page of lessons."""

from pages.ui.story.lessons_page import show

show()

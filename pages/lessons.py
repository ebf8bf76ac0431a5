"""The page of lessons."""

from pages.ui.story import lesson

lesson.show_all()

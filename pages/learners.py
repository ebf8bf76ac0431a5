"""The page across the papers: one prompt, and every learner."""

from pages.ui.paper_page import show

show("learners")

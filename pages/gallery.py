"""The gallery: a picture and a sentence for each experiment."""

from pages.ui.front.gallery import show

show()

"""The page of the throw-away paper, as a server shows it."""

import streamlit as st

from pages.ui.look import menu
from pages.ui.paper_page import show

menu.frame = lambda *arguments, **options: st.container()  # its links need the files of pages
show("toy")

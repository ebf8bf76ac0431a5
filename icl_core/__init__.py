"""The core of the dashboard: experiments, their training and their figures. Never imports
streamlit, and torch not before it is used."""

from icl_core.machine import late_imports

late_imports.postpone()

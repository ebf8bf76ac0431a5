"""The core of the dashboard: experiments, their training and their figures. Never imports
streamlit."""

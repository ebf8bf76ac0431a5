"""Up to four runs of one experiment beside each other, under one clock: which runs, what of their
settings differs, the clock, the films of their panels, and their metrics. No Streamlit."""

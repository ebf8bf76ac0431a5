"""What is drawn of a run."""

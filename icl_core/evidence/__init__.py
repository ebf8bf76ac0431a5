"""What all runs measured, by claim, and the tables of claims and of runs."""

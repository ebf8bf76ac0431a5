"""What all runs measured, by claim: collected, written as a table, exported."""

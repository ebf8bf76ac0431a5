"""What comparison draws of its runs."""

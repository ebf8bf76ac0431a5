"""What layer draws of its runs."""

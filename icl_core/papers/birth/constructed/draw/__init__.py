"""What constructed draws of its runs."""

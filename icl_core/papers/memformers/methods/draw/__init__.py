"""What methods draws of its runs."""

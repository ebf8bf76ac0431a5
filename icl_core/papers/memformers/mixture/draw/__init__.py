"""What mixture draws of its runs."""

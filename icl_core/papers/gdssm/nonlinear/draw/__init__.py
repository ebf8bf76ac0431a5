"""What nonlinear draws of its runs."""

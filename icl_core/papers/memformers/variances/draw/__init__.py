"""What variances draws of its runs."""

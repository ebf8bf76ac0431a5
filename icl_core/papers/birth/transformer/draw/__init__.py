"""What the transformer's experiment draws of its runs."""

"""What can be drawn of GD-SSM."""

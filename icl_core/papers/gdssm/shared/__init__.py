"""What two or more experiments of this paper use."""

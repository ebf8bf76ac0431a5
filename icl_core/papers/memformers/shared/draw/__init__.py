"""What two or more experiments draw alike."""

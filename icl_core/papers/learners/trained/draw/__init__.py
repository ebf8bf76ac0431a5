"""What is drawn of trained learners."""

"""What is drawn of the speed of training."""

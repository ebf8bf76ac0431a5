"""What can be drawn of a trained first-order method: one file a panel."""

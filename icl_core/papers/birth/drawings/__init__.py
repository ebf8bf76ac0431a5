"""What can be drawn of a trained induction head: one file a panel."""

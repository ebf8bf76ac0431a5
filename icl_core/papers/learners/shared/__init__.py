"""What several experiments on learners use."""

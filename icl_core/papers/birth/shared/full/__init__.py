"""The full transformer: its model, its gradient, what it recalls and what its heads do."""

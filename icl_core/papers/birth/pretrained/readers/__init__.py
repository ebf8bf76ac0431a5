"""Readers of language models: a file a shape of model, each a forward pass read from top to
bottom, and the files from which their weights come."""

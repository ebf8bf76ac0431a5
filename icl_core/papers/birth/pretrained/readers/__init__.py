"""Readers of language models: any model whose attention `transformers` lets one replace, one
forward pass of Llama's shape to read from top to bottom, and the files that weights come from."""

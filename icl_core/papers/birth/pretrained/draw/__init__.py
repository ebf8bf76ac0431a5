"""Drawings of a language model that has been measured."""

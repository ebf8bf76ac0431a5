"""Means, standard errors, crossings and trends of measured curves. Imports nothing of
the project."""

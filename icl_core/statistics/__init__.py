"""Means, standard errors, crossings and trends of measured curves; imports no other package of the
project."""

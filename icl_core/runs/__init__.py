"""Stored runs: their files and headers, the cache of local ones, the store that finds them all."""

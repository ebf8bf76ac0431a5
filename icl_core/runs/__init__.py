"""Runs at rest: their files and headers, the cache of those made here, the store that finds them
all."""

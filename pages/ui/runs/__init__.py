"""The page of runs and of given documents."""

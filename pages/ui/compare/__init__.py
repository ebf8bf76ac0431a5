"""The page that compares runs of one experiment."""

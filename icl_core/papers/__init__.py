"""One folder a paper. Papers import the spine and never each other."""

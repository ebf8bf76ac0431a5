"""The queue of training jobs: pages and the command line submit them, worker processes run them."""

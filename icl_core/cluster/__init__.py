"""Training on a Dask cluster; only the command line imports this package."""

"""Trainings on a Dask cluster. Imported by the command line alone."""

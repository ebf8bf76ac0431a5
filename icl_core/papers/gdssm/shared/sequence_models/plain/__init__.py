"""The models in their plainest form: one layer each, no normalisation, so that the size of y is not
hidden."""

"""The models in their plainest form: no normalisation, so that the size of y is not hidden, and one
layer each; Griffin has one block of each of its two kinds."""

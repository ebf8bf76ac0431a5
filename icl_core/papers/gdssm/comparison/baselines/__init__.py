"""The models the paper compares the GD-SSM with (Section 4, Figures 4 C and 6): one file a model, one layer each.

Every model reads the same tokens (tasks, T, f) and answers at each of them with a vector (tasks, T, f); the prediction
is the answer at the last token. In 1-D the tokens are 2f wide and the prediction is one coordinate of the answer.

    tokens -> W_in -> hidden width -> u + layer(u) -> W_out -> answer

A model has a hidden `width` (the paper: 20) and a `state`, the size of what it carries from token to token:

    s5                   complex numbers, each standing for a conjugate pair
    mamba                numbers for each of the 2 width channels
    griffin              channels of the recurrence, and size of the local attention's head
    linear_transformer   size of keys and values; the state is a matrix of them
    softmax_transformer  the same, but the state is a cache that grows

Each file has `parameters` (random, with a leading axis of seeds), `forward` (all tokens at once, for training),
`recur` (token by token, the oracle) and is counted by `seeds.count`. What is left out of all models is the
normalisation, which would hide the size of y, and the feed-forward layer between layers, which the paper leaves out.
"""

"""The models as their authors build them: normalised blocks with residuals, gates, several heads,
feed-forward layers.

What the authors choose for sequences of thousands of tokens is fitted to ten or twenty: the steps Δ
of S5 and Mamba begin in [1/T, 1] instead of [.001, .1]. None has a norm before its readout, which
here gives a number, not a choice. Each file has `parameters` (random, seeds first), `forward` (all
tokens at once, of one seed; training asks for the last answer alone, which spares what only the
others need), `recur` (token by token, the oracle) and `SLOW`, the parameters of the state space,
which are trained at a third of the rate.
"""

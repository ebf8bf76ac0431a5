"""The induction head constructed instead of learned (eqs. 7 and 8), with or without its
cross-talk."""

import math
from collections.abc import Collection

import torch

from icl_core.papers.birth.shared.cross_talk import least_cross_talk, noise, without_cross_talk
from icl_core.papers.birth.shared.memories import memory, superposition
from icl_core.papers.birth.shared.model import TRAINED, Weights
from icl_core.papers.birth.shared.task import Task

CROSS_TALK = ("kept", "within", "stream")


def construct(
    weights: Weights,
    task: Task,
    logit: float = 15.0,
    output_scale: float = 10.0,
    cross_talk: str = "kept",
    cleaned: Collection[str] = TRAINED,
) -> Weights:
    """Return the weights with W_K1, W_K2, W_O2, and W_F if the model has one, replaced by
    constructed ones.

    logit         attention logit of a matching pair, after the division by sqrt d; 10 to 20 is
                  sharp
    output_scale  logit of the attended token; above a few it outweighs the stream's noise, at about
                  10 also W_F, whose own scale is that of log pi_b
    cross_talk    "kept": eqs. 7 and 8. "within": readings among the memory's own vectors are made
                  exact. "stream": every pair is read as one, and everything that shares the streams
                  as little as possible (not for W_F)
    cleaned       the matrices to which `cross_talk` applies; the others keep theirs

    A matrix that single precision cannot hold, since its vectors are so short, is zero.
    Raises `ValueError` for an unknown `cross_talk`.
    """
    if cross_talk not in CROSS_TALK:
        raise ValueError(f"cross_talk must be one of {', '.join(CROSS_TALK)}, got {cross_talk!r}")
    attention = logit * math.sqrt(weights.d)
    scale = {"W_K1": attention, "W_K2": attention, "W_O2": output_scale, "W_F": 1.0}
    matrices = {}
    for name in weights.trained():
        stored = memory(name, weights, task)
        method = cross_talk if name in cleaned else "kept"
        if method == "within":
            W = without_cross_talk(stored)
        elif method == "stream" and name != "W_F":
            W = least_cross_talk(stored, *noise(name, weights, task))
        else:
            W = superposition(stored)
        matrix = scale[name] * W  # (d, d)
        matrices[name] = matrix if matrix.isfinite().all() else torch.zeros_like(W)
    return weights.with_(**matrices)

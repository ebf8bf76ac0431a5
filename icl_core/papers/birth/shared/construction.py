"""The induction head written down instead of learned (eqs. 7 and 8), with or without its
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
    """Return the weights with W_K1, W_K2, W_O2, and W_F if the model has one, put in the place of
    their own.

    logit         attention logit of a matching pair, after the division by sqrt d; 10 to 20 is
                  sharp
    output_scale  logit of the attended token; above a few to outweigh the stream's noise, about 10
                  to outweigh W_F,
                  whose own scale is that of log pi_b
    cross_talk    "kept": eqs. 7 and 8. "within": readings among the memory's own vectors made
                  exact. "stream": every
                  pair read as one, and everything that shares the streams as little as possible
                  (not W_F)
    cleaned       the matrices that `cross_talk` is said of; that of the others is kept

    A matrix that single precision cannot hold, of vectors so short, is zero.
    Raises `ValueError` for an unknown `cross_talk`.
    """
    if cross_talk not in CROSS_TALK:
        raise ValueError(f"cross_talk must be one of {', '.join(CROSS_TALK)}, got {cross_talk!r}")
    attention = logit * math.sqrt(weights.d)
    scale = {"W_K1": attention, "W_K2": attention, "W_O2": output_scale, "W_F": 1.0}
    made = {}
    for name in weights.trained():
        stored = memory(name, weights, task)
        way = cross_talk if name in cleaned else "kept"
        if way == "within":
            W = without_cross_talk(stored)
        elif way == "stream" and name != "W_F":
            W = least_cross_talk(stored, *noise(name, weights, task))
        else:
            W = superposition(stored)
        made[name] = scale[name] * W
        if not made[name].isfinite().all():
            made[name] = torch.zeros_like(W)
    return weights.with_(**made)

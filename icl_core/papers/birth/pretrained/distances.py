"""What a repeat costs, and which heads find it, by how far back the first time lies. Beyond a
layer's window its heads cannot look there.

A sequence is a start token, D different random tokens, and the first of them again: each token that
is said again lies D positions behind its first time.
"""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_core.papers.birth.pretrained import texts
from icl_core.papers.birth.pretrained.readers.model import Change, Maps, Reader
from icl_core.papers.birth.pretrained.readers.tokens import Tokens
from icl_core.papers.birth.pretrained.settings import AGAIN, DISTANCES


def repeated(distance: int) -> int:
    """Return how many tokens are said again."""
    return min(AGAIN, distance)


def possible(tokens: Tokens, T: int) -> list[int]:
    """Return the distances for which a model of T positions has room, and enough tokens."""
    return [
        distance
        for distance in DISTANCES
        if distance <= len(tokens.ordinary) and 1 + distance + repeated(distance) <= T
    ]


def sequence(tokens: Tokens, distance: int, generator: torch.Generator) -> Int[Tensor, "T"]:
    """Return a sequence whose end was said `distance` positions before."""
    different = texts.drawn_tokens(tokens, distance, generator)
    return torch.cat([torch.tensor([tokens.start]), different, different[: repeated(distance)]])


@torch.no_grad()
def measure(
    model: Reader, text: Int[Tensor, "T"], distance: int
) -> tuple[float, Float[np.ndarray, "layers H"]]:
    """Return what a token that is said again costs, without the first, which nothing announces, in
    nats; and how much attention each head then has on what followed the first time."""
    count = repeated(distance)
    queries = torch.arange(len(text) - count, len(text))
    followers = torch.zeros(model.shape.layers, model.shape.heads)

    def looked(layer: int, maps: Maps) -> Maps:
        attention = maps[0][:, queries, queries - distance + 1]  # (H, count)
        followers[layer - 1] = attention.mean(1)
        return maps

    x = model.embed(text[None])
    # the last token predicts what is not in the text
    logits = model.onward(x, change=Change(attention=looked), last=count).logits[0, :-1]
    loss = torch.nn.functional.cross_entropy(logits, text[queries[1:]])
    return float(loss), followers.numpy()

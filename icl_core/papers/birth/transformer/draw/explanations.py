"""How an attention weight of the trained model is made: its score as a sum over what query and key
read."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from itertools import product

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Run
from icl_core.contract.explanation import Explanation, Map, Term
from icl_core.figures.attention_maps import positions
from icl_core.figures.character_labels import visible_characters
from icl_core.papers.birth.shared.explanations import attended
from icl_core.papers.birth.shared.full.head_scores import head_names
from icl_core.papers.birth.shared.full.model import Weights, attend, layers_of
from icl_core.papers.birth.transformer.draw.heads import SHOWN
from icl_core.papers.birth.transformer.load_run import example_inputs, example_maps, final_weights
from icl_core.papers.birth.transformer.settings import View

SAYS = "Here a · b stands for (W_Q a)ᵀ (W_K b) / √(d/H), with this head's own W_Q and W_K."
ONLY = "Of this step only the map is kept. Play to the last step to see how a weight comes about."
NORMED = "Layer norm divides all parts by one number, the spread of the stream at that position."
Streams = Mapping[str, Tensor]  # what a stream is the sum of, by name: [T, d] each


def maps(run: Run, view: View) -> list[Map]:
    """The maps of all heads; after the training with the terms of their scores."""
    snapshot, heads = run.snapshot_at(view), run.config.heads
    inputs, tokens = example_inputs(run)[:SHOWN], run.names("sequence")[:SHOWN]
    shown = example_maps(run, snapshot)[:, : len(inputs), : len(inputs)]
    shown[:, *np.triu_indices(len(inputs), 1)] = np.nan
    ids, labels = head_names(run.config.layers, heads), positions(tokens)[0]
    if snapshot < len(run.snapshot_steps) - 1:  # of earlier steps no weights are kept
        made = [partial(_kept, matrix, labels) for matrix in shown]
    else:
        weights = {name: each.double() for name, each in final_weights(run).items()}
        read = streams(weights, inputs, heads)
        made = [
            _explains(tokens, read[i // heads], *_head(weights, i, heads)) for i in range(len(ids))
        ]
    sides = ("query", "key")
    every = zip(ids, shown, made, strict=True)
    return [Map(f"Head {id}", matrix, sides, labels, labels, how) for id, matrix, how in every]


def _kept(matrix: np.ndarray, labels: list[str], query: int, key: int) -> Explanation:
    """A weight of which no more is known."""
    value = float(matrix[query, key])
    return Explanation(
        f"{labels[query]} attends to {labels[key]}", ONLY, value, (Term("attention", value),)
    )


def _head(weights: Weights, index: int, heads: int) -> tuple[Tensor, Tensor]:
    """W_Q and W_K of a head, [d/H, d] each; the first divided by √(d/H)."""
    layer, head = index // heads + 1, index % heads
    W_Q, W_K = (weights[f"{name}{layer}"].chunk(heads)[head] for name in ("W_Q", "W_K"))
    return W_Q / math.sqrt(len(W_Q)), W_K


def _explains(
    tokens: list[str], parts: Streams, W_Q: Tensor, W_K: Tensor
) -> Callable[[int, int], Explanation]:
    """How a head's weights are made of what it reads."""
    letters = visible_characters(tokens)
    more = f"{SAYS} {NORMED}" if "bias" in parts else SAYS

    def explain(query: int, key: int) -> Explanation:
        asks = {part: W_Q @ each[query] for part, each in parts.items()}  # (d/H,)
        calls = {part: each @ W_K.T for part, each in parts.items()}  # (T, d/H)
        terms = [
            Term(
                f"{_sign(a, letters, query)} · {_sign(b, letters, key)}",
                float(asks[a] @ calls[b][key]),
                f"query's {_called(a)} × key's {_called(b)}",
            )
            for a, b in product(parts, parts)
        ]
        scores = torch.stack(list(calls.values())).sum(0)[: query + 1] @ torch.stack(
            list(asks.values())
        ).sum(0)
        return attended(letters, query, key, terms, scores.numpy(), more)

    return explain


def streams(weights: Weights, inputs: Tensor, heads: int) -> list[dict[str, Tensor]]:
    """Of every layer, the parts of what its attention reads: character and position, what each head
    and feed-forward layer before it has written, and under layer norm its bias."""
    found = {"w_E": weights["W_E"][inputs], "p": weights["P"][: len(inputs)]}
    every = []
    for layer in range(1, layers_of(weights) + 1):
        every.append(_normed(weights, found, f"attention{layer}"))
        z, _ = attend(weights, layer, torch.stack(list(every[-1].values())).sum(0)[None], heads)
        writes = weights[f"W_O{layer}"].chunk(heads, 1)
        found |= {f"{layer}.{head + 1}": z[0, head] @ W_O.T for head, W_O in enumerate(writes)}
        if f"W_in{layer}" in weights:
            read = torch.stack(list(_normed(weights, found, f"mlp{layer}").values())).sum(0)
            found[f"F{layer}"] = (read @ weights[f"W_in{layer}"].T).relu() @ weights[
                f"W_out{layer}"
            ].T
    return every


def _normed(weights: Weights, parts: Streams, where: str) -> dict[str, Tensor]:
    """The parts under layer norm, if there is one: each loses its mean and is divided by the spread
    of their sum."""
    if f"gain_{where}" not in weights:
        return dict(parts)
    total = torch.stack(list(parts.values())).sum(0)
    factor = weights[f"gain_{where}"] * (total.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt()
    found = {name: (each - each.mean(-1, keepdim=True)) * factor for name, each in parts.items()}
    return found | {"bias": weights[f"bias_{where}"].expand_as(total)}


def _sign(part: str, letters: list[str], at: int) -> str:
    """A part of the stream at a position, as the terms write it."""
    if part in ("w_E", "bias"):
        return f"w_E({letters[at]})" if part == "w_E" else part
    if part == "p":
        return f"p({at + 1})"
    return f"F{'¹²³⁴'[int(part[1:]) - 1]}({at + 1})" if part[0] == "F" else f"head {part}({at + 1})"


def _called(part: str) -> str:
    """A part in words."""
    known = {"w_E": "character", "p": "position", "bias": "bias"}
    return known.get(part) or (
        f"feed-forward layer {part[1:]}" if part[0] == "F" else f"output of head {part}"
    )

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
    """Return the maps of all heads; after the training with the terms of their scores."""
    snapshot = run.snapshot_at(view)
    heads = run.config.heads
    inputs = example_inputs(run)[:SHOWN]  # (T)
    tokens = run.names("sequence")[:SHOWN]
    shown = slice(len(inputs))
    matrices = example_maps(run, snapshot)[:, shown, shown]  # (layers × heads, T, T)
    matrices[:, *np.triu_indices(len(inputs), 1)] = np.nan
    names = head_names(run.config.layers, heads)
    labels, _ = positions(tokens)
    explanations: list[Callable[[int, int], Explanation]] = []
    if snapshot < len(run.snapshot_steps) - 1:  # of earlier steps no weights are kept
        for matrix in matrices:
            explanations.append(partial(_without_terms, matrix, labels))
    else:
        weights = {name: tensor.double() for name, tensor in final_weights(run).items()}
        parts = streams(weights, inputs, heads)
        for index in range(len(names)):
            W_Q, W_K = _head(weights, index, heads)
            explanations.append(_explains(tokens, parts[index // heads], W_Q, W_K))
    sides = ("query", "key")
    return [
        Map(f"Head {name}", matrix, sides, labels, labels, explain)
        for name, matrix, explain in zip(names, matrices, explanations, strict=True)
    ]


def _without_terms(matrix: np.ndarray, labels: list[str], query: int, key: int) -> Explanation:
    """Explain a weight of attention of which only the map is kept."""
    value = float(matrix[query, key])
    return Explanation(
        f"{labels[query]} attends to {labels[key]}", ONLY, value, (Term("attention", value),)
    )


def _head(weights: Weights, index: int, heads: int) -> tuple[Tensor, Tensor]:
    """Return W_Q and W_K of a head, [d/H, d] each; the first divided by √(d/H)."""
    layer = index // heads + 1
    head = index % heads
    W_Q = weights[f"W_Q{layer}"].chunk(heads)[head]
    W_K = weights[f"W_K{layer}"].chunk(heads)[head]
    return W_Q / math.sqrt(len(W_Q)), W_K


def _explains(
    tokens: list[str], parts: Streams, W_Q: Tensor, W_K: Tensor
) -> Callable[[int, int], Explanation]:
    """Return the function that explains a head's weight at (query, key): its score as a sum over
    pairs of the parts that query and key read."""
    letters = visible_characters(tokens)
    more = f"{SAYS} {NORMED}" if "bias" in parts else SAYS

    def explain(query: int, key: int) -> Explanation:
        queries = {part: W_Q @ vectors[query] for part, vectors in parts.items()}  # (d/H) each
        keys = {part: vectors @ W_K.T for part, vectors in parts.items()}  # (T, d/H) each
        terms = [
            Term(
                f"{_sign(a, letters, query)} · {_sign(b, letters, key)}",
                float(queries[a] @ keys[b][key]),
                f"query's {_in_words(a)} × key's {_in_words(b)}",
            )
            for a, b in product(parts, parts)
        ]
        # (query + 1, d/H) times (d/H) to (query + 1)
        scores = _total(keys)[: query + 1] @ _total(queries)
        return attended(letters, query, key, terms, scores.numpy(), more)

    return explain


def _total(parts: Streams) -> Tensor:
    return torch.stack(list(parts.values())).sum(0)


def streams(weights: Weights, inputs: Tensor, heads: int) -> list[dict[str, Tensor]]:
    """Return of every layer the parts of what its attention reads, [T, d] each by name: character
    and position, what each head and feed-forward layer before it has written, and under layer norm
    its bias."""
    parts = {"w_E": weights["W_E"][inputs], "p": weights["P"][: len(inputs)]}
    by_layer = []
    for layer in range(1, layers_of(weights) + 1):
        normed = _normed(weights, parts, f"attention{layer}")
        by_layer.append(normed)
        z, _ = attend(weights, layer, _total(normed)[None], heads)  # (1, H, T, d/H)
        for head, W_O in enumerate(weights[f"W_O{layer}"].chunk(heads, 1)):  # (d, d/H)
            parts[f"{layer}.{head + 1}"] = z[0, head] @ W_O.T
        if f"W_in{layer}" in weights:
            x = _total(_normed(weights, parts, f"mlp{layer}"))
            hidden = (x @ weights[f"W_in{layer}"].T).relu()  # (T, 4 d)
            parts[f"F{layer}"] = hidden @ weights[f"W_out{layer}"].T
    return by_layer


def _normed(weights: Weights, parts: Streams, where: str) -> dict[str, Tensor]:
    """Return the parts under layer norm, if there is one: each loses its mean and is divided by the
    spread of their sum."""
    if f"gain_{where}" not in weights:
        return dict(parts)
    total = _total(parts)  # (T, d)
    factor = weights[f"gain_{where}"] * (total.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt()
    normed = {
        name: (vectors - vectors.mean(-1, keepdim=True)) * factor for name, vectors in parts.items()
    }
    return normed | {"bias": weights[f"bias_{where}"].expand_as(total)}


def _sign(part: str, letters: list[str], at: int) -> str:
    """Return a part of the stream at a position, as the terms write it."""
    if part in ("w_E", "bias"):
        return f"w_E({letters[at]})" if part == "w_E" else part
    if part == "p":
        return f"p({at + 1})"
    return f"F{'¹²³⁴'[int(part[1:]) - 1]}({at + 1})" if part[0] == "F" else f"head {part}({at + 1})"


def _in_words(part: str) -> str:
    """Return what a part of the stream is, in words."""
    words = {"w_E": "character", "p": "position", "bias": "bias"}
    return words.get(part) or (
        f"feed-forward layer {part[1:]}" if part[0] == "F" else f"output of head {part}"
    )

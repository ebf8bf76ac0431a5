"""The attention maps of all heads on the example, side by side for the stage, and one of them
enlarged; and how an attention weight of the trained model is made: its score as a sum over what
query and key read."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.explanation import Explanation, Map, Term
from icl_core.contract.figure import Figure
from icl_core.figures.attention_maps import position_names, positions, tokens_held
from icl_core.figures.character_labels import visible_characters
from icl_core.figures.map_grid import NONE_TO_ALL, Box, Subplot, heat_trace, link_map, map_axes
from icl_core.figures.style import colourscale, layout
from icl_core.papers.birth.shared.behaviour import INDUCTION, PREVIOUS, UNIFORM
from icl_core.papers.birth.shared.explanations import attended
from icl_core.papers.birth.shared.full.head_scores import head_names
from icl_core.papers.birth.shared.full.model import Weights, attend, forward, layers_of
from icl_core.papers.birth.shared.sequence import boxes, choose
from icl_core.papers.birth.shared.train import task_of
from icl_core.papers.birth.transformer.load_run import (
    Head,
    example_inputs,
    example_maps,
    final_weights,
    heads_shown,
    last_heads,
)
from icl_core.papers.birth.transformer.measurements import LOOKED
from icl_core.papers.birth.transformer.settings import View
from icl_core.papers.birth.transformer.words import WORDS

SHOWN = 32  # positions of a small map: more would be less than three pixels each
SOME = 0.1  # of its attention on the previous character: named, though too little for the label
SHORT = {PREVIOUS: "previous", INDUCTION: "followers"}
APART = 0.03  # between maps: a share of the width
LINE = 0.11  # of text above a map: a share of the height
FEW = 4  # maps in a row, each wide enough for its label on one line
MARGIN = {"t": 20, "b": 4, "l": 6, "r": 6}
NARROW = 0.2  # of the width: a map with smaller letters above it
SCALE = {"colorscale": colourscale(NONE_TO_ALL), "cmin": 0, "cmax": 1, "showscale": False}


def maps(run: Run, view: View) -> Panel:
    """Draw all maps, a row a layer; those of models of one head beside each other."""
    snapshot = run.snapshot_at(view)
    heads = heads_shown(run, snapshot)
    weights = example_maps(run, snapshot)  # (layers × heads, T, T)
    tokens = run.names("sequence")[:SHOWN]
    per_row = run.config.heads if run.config.heads > 1 else len(heads)
    top = MARGIN["t"] * (1 if per_row <= FEW else 2)
    margin = MARGIN | {"t": top}
    figure = Figure(layout=layout(300, margin, coloraxis=SCALE, showlegend=False))
    for index, head in enumerate(heads):
        _add(
            figure,
            weights[index, : len(tokens), : len(tokens)],
            tokens,
            _place(index, len(heads), per_row, head),
        )
    return WORDS.panel("maps", run, view, figure, characters=len(tokens))


def _place(index: int, count: int, per_row: int, head: Head) -> Subplot:
    """Return the place of a head's map among `count` maps, with its label above it."""
    rows = -(-count // per_row)
    row = index // per_row
    column = index % per_row
    above = LINE if per_row <= FEW else 2 * LINE
    width = (1 + APART) / per_row
    height = (1 + above) / rows
    x = (column * width, min(1.0, (column + 1) * width - APART))
    y = (max(0.0, 1 - (row + 1) * height + above), 1 - row * height)
    label = labelled(head)
    return Subplot(index + 1, x, y, label.replace("<br>", " ") if per_row <= FEW else label)


def labelled(head: Head) -> str:
    """Return a head's id with what it does, on two lines."""
    if head.role not in SHORT and head.role != UNIFORM and head.previous >= SOME:
        return f"{head.name} · {head.previous:.0%}<br>{SHORT[PREVIOUS]}"
    if head.role not in SHORT:
        return f"{head.name}<br>{'even' if head.role == UNIFORM else 'neither'}"
    return f"{head.name} · {head.strength:.0%}<br>{SHORT[head.role]}"


def _add(figure: Figure, weights: np.ndarray, tokens: list[str], subplot: Subplot) -> None:
    """Add a head's map, [T, T], to the figure."""
    weights = weights.copy()
    weights[np.triu_indices(len(weights), 1)] = np.nan
    labels, _ = positions(tokens)
    trace = heat_trace(
        weights, labels, labels, "query %{y} looks at %{x}: %{z:.2f}", subplot, "coloraxis"
    )
    figure.add_trace(link_map(trace, *tokens_held(tokens)))
    side = (labels, [""] * len(labels), "")  # no labels at the ticks, no title
    figure.update_layout(map_axes(subplot, side, side, 1, 1))
    size = 12 if subplot.x[1] - subplot.x[0] > NARROW else 10
    figure.add_annotation(**subplot.heading() | {"font": {"size": size}, "yshift": 1})


def one(run: Run, view: View) -> Panel:
    """Draw a head's map with the cells that it should look at, on the example at the step shown or
    on the visitor's own sequence after the training."""
    layer = min(view.layer, run.config.layers)
    index = (layer - 1) * run.config.heads + min(view.head, run.config.heads) - 1
    if view.sequence:
        weights, tokens, cells, guesses = _own(run, view, index)
        head = last_heads(run)[index]
    else:
        snapshot = run.snapshot_at(view)
        weights = example_maps(run, snapshot)[index, :LOOKED, :LOOKED]
        tokens = run.names("sequence")[:LOOKED]
        cells = [box for box in _boxes(run) if box[0] < LOOKED]
        guesses = [("", 0.0), ("", 0.0)]
        head = heads_shown(run, snapshot)[index]
    (likeliest, likeliest_chance), (second, second_chance) = guesses
    return WORDS.panel(
        "one",
        run,
        view,
        figures.attention(weights, tokens, cells),
        head=head.name,
        does=head.does,
        strength=head.strength,
        is_labelled=head.role in SHORT,
        is_own=bool(view.sequence),
        likeliest=likeliest,
        likeliest_chance=likeliest_chance,
        second=second,
        second_chance=second_chance,
    )


def _own(
    run: Run, view: View, index: int
) -> tuple[np.ndarray, list[str], list[Box], list[tuple[str, float]]]:
    """Return a head's map of the visitor's sequence, [T, T], its characters and cells, and the two
    likeliest next characters, each with its probability."""
    sequence = choose(task_of(run.config), view)
    with torch.no_grad():
        outcome = forward(final_weights(run), sequence.inputs[None], run.config.heads)
    weights = torch.cat(outcome.attention, 1)[0, index].numpy()  # (1, layers × heads, T, T)
    chances = outcome.logits[0, -1].softmax(-1)  # (N)
    guesses = []
    for token in chances.topk(2).indices.tolist():
        label = visible_characters(sequence.task.characters[token])[0]
        guesses.append((label, float(chances[token])))
    return weights, sequence.characters, boxes(sequence), guesses


def _boxes(run: Run) -> list[Box]:
    """Return the cells (query, key, kind) of the example at which its in-context queries should
    look."""
    sequence = run.names("sequence")
    truth = run["example/truth"]  # (T), tokens
    characters = run.names("characters")
    cells: list[Box] = []
    for query in np.flatnonzero(run["example/in_context"]).tolist():
        output = characters[truth[query]]
        for key in range(1, query + 1):
            if sequence[key - 1] == sequence[query] and sequence[key] == output:
                cells.append((query, key, "correct output"))
    return cells


def table(run: Run, view: View) -> Panel:
    """Tabulate what every head does."""
    snapshot = run.snapshot_at(view)
    heads = heads_shown(run, snapshot)
    rows = [
        (
            head.name,
            head.does,
            head.previous,
            head.strongest,
            head.everywhere,
            head.triggers,
            head.others,
            head.uniformity,
        )
        for head in heads
    ]
    columns = [
        "head",
        "what it does",
        "on the previous, where read",
        "strongest there",
        "on the previous, everywhere",
        "after triggers",
        "after others",
        "evenness",
    ]
    return WORDS.panel(
        "table",
        run,
        view,
        table=pd.DataFrame(rows, columns=columns).round(3),
        at_triggers=heads[0].triggers_even,
        at_others=heads[0].others_even,
    )


SAYS = "Here a · b stands for (W_Q a)ᵀ (W_K b) / √(d/H), with this head's own W_Q and W_K."
ONLY = "Of this step only the map is kept. Play to the last step to see how a weight comes about."
NORMED = "Layer norm divides all parts by one number, the spread of the stream at that position."
Streams = Mapping[str, Tensor]  # what a stream is the sum of, by name: [T, d] each


def map_cells(run: Run, view: View) -> list[Map]:
    """Return the maps of all heads; after the training with the terms of their scores."""
    snapshot = run.snapshot_at(view)
    heads = run.config.heads
    inputs = example_inputs(run)[:SHOWN]  # (T)
    tokens = run.names("sequence")[:SHOWN]
    shown = slice(len(inputs))
    matrices = example_maps(run, snapshot)[:, shown, shown]  # (layers × heads, T, T)
    matrices[:, *np.triu_indices(len(inputs), 1)] = np.nan
    names = head_names(run.config.layers, heads)
    labels = position_names(tokens)
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

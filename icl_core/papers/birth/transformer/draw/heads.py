"""The attention maps of all heads on the example: side by side for the stage, one of
them enlarged."""

import numpy as np
import pandas as pd
import torch

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures.attention_maps import positions, tokens_held
from icl_core.figures.character_labels import visible_characters
from icl_core.figures.map_grid import NONE_TO_ALL, Box, Subplot, heat_trace, link_map, map_axes
from icl_core.figures.style import colourscale, layout
from icl_core.papers.birth.shared.behaviour import INDUCTION, PREVIOUS, UNIFORM
from icl_core.papers.birth.shared.full.model import forward
from icl_core.papers.birth.shared.sequence import boxes, choose
from icl_core.papers.birth.shared.train import task_of
from icl_core.papers.birth.transformer.load_run import (
    Head,
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

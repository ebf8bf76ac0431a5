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
from icl_core.figures.map_grid import NONE_TO_ALL, Subplot, heat_trace, link_map, map_axes
from icl_core.figures.outlines import Box
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
    of_role,
)
from icl_core.papers.birth.transformer.measurements import LOOKED
from icl_core.papers.birth.transformer.settings import View

SHOWN = 32  # positions of a small map: more would be less than three pixels each
SOME = 0.1  # of its attention on the previous character: named, though too little for the label
SHORT = {PREVIOUS: "previous", INDUCTION: "followers"}
APART, LINE = 0.03, 0.11  # of maps, and a line above them: shares of the width and of the height
FEW = 4  # maps in a row, each wide enough for its label on one line
MARGIN = {"t": 20, "b": 4, "l": 6, "r": 6}
NARROW = 0.2  # of the width: a map with smaller letters above it
SCALE = {"colorscale": colourscale(NONE_TO_ALL), "cmin": 0, "cmax": 1, "showscale": False}


def maps(run: Run, view: View) -> Panel:
    """All maps, a row a layer; those of models of one head beside each other."""
    snapshot = run.snapshot_at(view)
    heads, weights = heads_shown(run, snapshot), example_maps(run, snapshot)
    tokens = run.names("sequence")[:SHOWN]
    across = run.config.heads if run.config.heads > 1 else len(heads)
    top = MARGIN["t"] * (1 if across <= FEW else 2)
    margin = MARGIN | {"t": top}
    figure = Figure(layout=layout(300, margin, coloraxis=SCALE, showlegend=False))
    for index, head in enumerate(heads):
        _add(
            figure,
            weights[index, : len(tokens), : len(tokens)],
            tokens,
            _place(index, len(heads), across, head),
        )
    back, found = (len(of_role(heads, role)) for role in (PREVIOUS, INDUCTION))
    return Panel(
        f"{back} head{'s' * (back != 1)} find{'s' * (back == 1)} the previous character, "
        f"{found} find{'s' * (found == 1)} what followed",
        f"A map for every head, layer.head, on the first {len(tokens)} characters of one random "
        "sequence: each row shows where a character looks. The label says what the head does. "
        "“Previous”: the share of its attention on the previous character, at the positions that "
        "the next layer reads; elsewhere a stripe seen here may fade. “Followers”: the share, "
        "beyond chance, on what followed the same trigger earlier. “Even”: it spreads its "
        "attention over all that came before.",
        figure,
    )


def _place(index: int, count: int, across: int, head: Head) -> Subplot:
    rows, row, column = -(-count // across), index // across, index % across
    above = LINE if across <= FEW else 2 * LINE
    wide, high = (1 + APART) / across, (1 + above) / rows
    x = (column * wide, min(1.0, (column + 1) * wide - APART))
    y = (max(0.0, 1 - (row + 1) * high + above), 1 - row * high)
    label = labelled(head)
    return Subplot(index + 1, x, y, label.replace("<br>", " ") if across <= FEW else label)


def labelled(head: Head) -> str:
    """A head's id with what it does, on two lines."""
    if head.role not in SHORT and head.role != UNIFORM and head.previous >= SOME:
        return f"{head.name} · {head.previous:.0%}<br>{SHORT[PREVIOUS]}"
    if head.role not in SHORT:
        return f"{head.name}<br>{'even' if head.role == UNIFORM else 'neither'}"
    return f"{head.name} · {head.strength:.0%}<br>{SHORT[head.role]}"


def _add(figure: Figure, weights: np.ndarray, tokens: list[str], subplot: Subplot) -> None:
    weights = weights.copy()
    weights[np.triu_indices(len(weights), 1)] = np.nan
    full, _ = positions(tokens)
    trace = heat_trace(
        weights, full, full, "query %{y} looks at %{x}: %{z:.2f}", subplot, "coloraxis"
    )
    figure.add_trace(link_map(trace, *tokens_held(tokens)))
    none = [""] * len(full)
    figure.update_layout(map_axes(subplot, (full, none, ""), (full, none, ""), 1, 1))
    size = 12 if subplot.x[1] - subplot.x[0] > NARROW else 10
    figure.add_annotation(**subplot.heading() | {"font": {"size": size}, "yshift": 1})


def one(run: Run, view: View) -> Panel:
    """A head's map with the cells that it should look at, on the example at the step shown or on
    the visitor's own sequence after the training."""
    at = (
        (min(view.layer, run.config.layers) - 1) * run.config.heads
        + min(view.head, run.config.heads)
        - 1
    )
    says, when = "", "your own sequence"
    if view.sequence:
        weights, tokens, where, says = _own(run, view, at)
        head = heads_shown(run, len(run.snapshot_steps) - 1)[at]
    else:
        snapshot = run.snapshot_at(view)
        weights = example_maps(run, snapshot)[at, :LOOKED, :LOOKED]
        tokens, where = (
            run.names("sequence")[:LOOKED],
            [box for box in _boxes(run) if box[0] < LOOKED],
        )
        head, when = heads_shown(run, snapshot)[at], f"step {run.snapshot_steps[snapshot]}"
    return Panel(
        f"Head {head.name}, {when}: {head.does}" + f" ({head.strength:.0%})" * (head.role in SHORT),
        "Each row shows where one character looks. Outlined are the cells that hold what "
        "followed the same character earlier: at a trigger an induction head looks there. A "
        "head that finds the previous character has a stripe beside the diagonal. What it does, "
        "as the title says, is measured over many sequences once the training has ended.",
        figures.attention(weights, tokens, where),
        note=says,
    )


def _own(run: Run, view: View, at: int) -> tuple[np.ndarray, list[str], list[Box], str]:
    """A head's map of the visitor's sequence, its characters and cells, and what the model says
    comes next."""
    sequence = choose(task_of(run.config), view)
    with torch.no_grad():
        found = forward(final_weights(run), sequence.inputs[None], run.config.heads)
    weights, chances = torch.cat(found.attention, 1)[0, at].numpy(), found.logits[0, -1].softmax(-1)
    first, second = chances.topk(2).indices.tolist()
    told = [
        f"“{visible_characters(sequence.task.characters[i])[0]}” ({chances[i]:.0%})"
        for i in (first, second)
    ]
    says = f"What comes next, says the whole model: {told[0]}, else {told[1]}."
    return weights, sequence.characters, boxes(sequence), says


def _boxes(run: Run) -> list[Box]:
    """The cells of the example at which its in-context queries should look."""
    tokens, truth = run.names("sequence"), run["example/truth"]
    characters = run.names("characters")
    return [
        (query, key, "correct output")
        for query in np.flatnonzero(run["example/in_context"]).tolist()
        for key in range(1, query + 1)
        if tokens[key - 1] == tokens[query] and tokens[key] == characters[truth[query]]
    ]


def table(run: Run, view: View) -> Panel:
    """What every head does, in numbers."""
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
    even = heads[0]
    return Panel(
        f"Step {run.snapshot_steps[snapshot]}: what each head looks at",
        "Shares of attention: on the character before, at the positions that the next layer reads "
        "(of the last layer at all); the share of these positions from which the strongest look is "
        "there, which the authors' code logs; the same attention over all positions; at a trigger "
        "that has come before, on what followed it; at any other character that comes again, on "
        "what followed that. Where the next layer reads is measured, before the end, on the "
        "sequence of the maps alone. Evenness is the entropy as a share of its maximum. A head "
        f"spread evenly would have {even.triggers_even:.2f} after triggers and "
        f"{even.others_even:.2f} after others.",
        table=pd.DataFrame(rows, columns=columns).round(3),
    )

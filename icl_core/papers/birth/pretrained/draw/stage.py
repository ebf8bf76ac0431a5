"""What is on stage: what each token costs after each layer, all heads by score, the attention of
one of them, heads taken away, and the map of pairs."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import Curve
from icl_core.figures.map_grid import NONE_TO_ALL, Subplot
from icl_core.figures.outlines import outlines
from icl_core.figures.style import colourscale
from icl_core.papers.birth.pretrained.load_run import (
    DOES,
    MAPPED,
    attention,
    chance,
    half_losses,
    halves_by_layer,
    head_id,
    head_shown,
    place_of,
    role_of,
    scores,
    token_labels,
    tokens_of,
)
from icl_core.papers.birth.pretrained.settings import SCORES, TEXTS, View
from icl_core.papers.birth.shared.behaviour import INDUCTION, PREVIOUS

COLUMNS = 12  # induction heads in the map of pairs: all would leave its rows no room
CELL = 14  # pixels of a cell in the map of heads
IDS = 62  # pixels left of a map for ids of heads
WORDS = 84  # and for tokens
LABELS = {"previous": PREVIOUS, "followers": INDUCTION}


def layer_shown(run: Run, view: View) -> int:
    """Return the number of layers after which the stream is read."""
    return run.step(view)


def losses(run: Run, view: View) -> Panel:
    """Draw what each token of the text costs if the stream is read after the layer shown, beside
    what it costs in the end."""
    tokens = tokens_of(run, view)[1:]
    every = run[f"text/{view.passage}/loss"].astype(np.float32)  # (layers + 1, T - 1)
    at = run.snapshot_at(view)
    first, second = halves_by_layer(run, view)
    positions = np.arange(1, len(tokens) + 1)
    top = 1.3 * float(every[-1].max())
    series = [
        Curve("after the last layer", positions, every[-1], "floor", "dot"),
        Curve("after the layer shown", positions, np.minimum(every[at], top), "trained"),
    ]
    figure = figures.curves(series, "token", "loss in nats", y_range=(0, top), height=figures.SEAT)
    return Panel(
        f"Said again, a token costs {second[at]:.1f}, not {first[at]:.1f}",
        f"The text is: {TEXTS[view.passage]}. Each point is what the next token costs if the "
        "residual stream after the layer on the clock is read as if it were the last (the logit "
        "lens); at the upper edge it costs more. The dotted line is the whole model. From where "
        "the text repeats, the context tells the token. Without induction heads the second half "
        "would cost what the first does.",
        figures.seated(figure),
        data=pd.DataFrame({"token": tokens, "loss": every[at], "in the end": every[-1]}),
    )


def heads(run: Run, view: View) -> Panel:
    """Draw the score of every head, a row a layer."""
    values = scores(run, view.score)  # (layers, H)
    layers, count = values.shape
    wanted = LABELS[view.score]
    number = 0
    for layer in range(layers):
        for head in range(count):
            number += role_of(run, layer, head) == wanted
    kind = SCORES[view.score]
    return Panel(
        f"{number} of {layers * count} heads score high ({kind})",
        "Every cell is a head. The score is the share of its attention on what followed the "
        "same token before, as far as that is beyond even attention (induction), or on the token "
        "before (previous token): the measures of the full transformer's heads, on random tokens "
        "that come twice, means over five draws. High is what the full transformer calls a role: "
        "0.4 or more. In a random model all cells would be pale. A click on a cell shows where "
        "that head looks; it is then outlined.",
        map_of_heads(values, place_of(run, head_shown(run, view))),
        data=table_of_heads(values),
    )


def map_of_heads(values: np.ndarray, shown: tuple[int, int] | None = None) -> Figure:
    """Return a map of the scores of all heads [layers, H], a row a layer. The head `shown`, its
    layer and number counted from 0, is outlined."""
    labels = [[str(index + 1) for index in range(size)] for size in values.shape]
    # below chance a head does something else
    figure = figures.small_map(
        np.maximum(values, 0), (labels[0], labels[1]), ("layer", "head"), "score", 1.0
    )
    if shown is not None:
        figure.add_shapes(outlines([(*shown, "correct output")], CELL, Subplot()))
    figure.update_yaxes(scaleanchor=None)  # 30 rows of 9 square cells would leave a gap
    return from_zero(figure, 1.0)


def table_of_heads(values: np.ndarray) -> pd.DataFrame:
    """Return the scores of all heads [layers, H] as a table."""
    layers, count = values.shape
    rows = [str(index + 1) for index in range(layers)]
    return pd.DataFrame(values, rows, [f"head {index + 1}" for index in range(count)])


def show_head(run: Run, view: View, row: int, column: int) -> dict[str, str]:
    """Return what a click on the map of heads sets: the head whose attention is shown."""
    return {"shown": head_id(row, column)}


def show_pair(run: Run, view: View, row: int, column: int) -> dict[str, str]:
    """Return what a click on the map of pairs sets: the induction head's attention is shown."""
    return {"shown": run.names("strongest")[columns_shown(run)[column]]}


def one(run: Run, view: View) -> Panel:
    """Draw the attention of one head on the text."""
    name = head_shown(run, view)
    layer, number = place_of(run, name)
    does = DOES.get(role_of(run, layer, number), "does neither")
    tokens = token_labels(tokens_of(run, view))[:MAPPED]
    return Panel(
        f"Head {name} {does}",
        "The attention of one head on the text shown; its first token is the model's start token. "
        "Each row shows where one token looks. An induction head has a stripe where the text "
        "repeats: it looks at what followed the same token before. A previous-token head has one "
        "beside the diagonal. Many heads look at the start token where they find nothing. Click "
        "on a cell of the map of heads to see another; “View” has other texts.",
        figures.small_attention(attention(run, view), tokens).update_layout(margin={"l": WORDS}),
    )


def without(run: Run, view: View) -> Panel:
    """Draw the loss of the second half against the number of heads taken away."""
    counts = run["ablation/heads"]
    strongest = run["ablation/strongest"][:, :, 1]  # (draws, counts)
    random = run["ablation/random"][:, :, 1]
    first, second = half_losses(run)
    series = [
        Curve("the strongest", counts, strongest, "layer 2", band="minmax", markers=True),
        Curve("random heads", counts, random, "floor", "dash", band="minmax", markers=True),
    ]
    lines = [("first half", float(first.mean()), "seed")]
    figure = figures.curves(
        series,
        "heads taken away",
        "loss, second half",
        log_x=True,
        y_range=(0, 1.15 * float(first.mean())),
        lines=lines,
        height=figures.SEAT,
    )
    figure.update_xaxes(tickvals=counts.tolist(), ticktext=[str(count) for count in counts])
    at = counts.tolist().index(min(int(run["ablation/group"]), int(counts[-1])))
    return Panel(
        f"Without {counts[at]} heads it costs {strongest[:, at].mean():.1f}, "
        f"not {second.mean():.1f}",
        "Heads are replaced by their mean output: those that look most at what followed, chosen on "
        "another draw, or as many others at random. The line is the loss of the second half, in "
        "nats, where the context tells the token; the band spans five draws. If these heads were "
        "not needed, both lines would stay low.",
        figures.seated(figure),
        data=pd.DataFrame(
            {"heads": counts, "strongest": strongest.mean(0), "random": random.mean(0)}
        ),
    )


def pairs(run: Run, view: View) -> Panel:
    """Draw the recall of W_K² for every pair of a previous-token head and an induction head."""
    recalls = run["pairs/recall"].mean(0)  # (previous, induction)
    rows = run.names("previous")
    columns = run.names("strongest")
    first, second = run.names("best")
    best = float(recalls[rows.index(first), columns.index(second)])
    shown = columns_shown(run)
    figure = _pairs_map(recalls[:, shown], rows, [columns[index] for index in shown])
    return Panel(
        f"{first} and {second} recall {best / chance(run):.0f} times chance",
        "A row is a head that looks at the previous token, a column one that looks at what "
        "followed. The cell is the recall of W_K² through both: the share of "
        f"{1 / chance(run):.0f} tokens whose query picks what the first head has written about the "
        f"same token, {int(run['pairs/offset'])} positions before. Chance is {chance(run):.1%}. "
        "Blank: the second head is not in a later layer. If any two heads did, all cells would be "
        "dark.",
        figure,
        data=pd.DataFrame(recalls, rows, columns),
    )


def columns_shown(run: Run) -> list[int]:
    """Return the indices of the induction heads in the map of pairs, that of the best pair among
    them."""
    columns = run.names("strongest")
    shown = [*range(min(COLUMNS, len(columns)))]
    best = columns.index(run.names("best")[1])
    return shown if best in shown else [*shown[:-1], best]


def _pairs_map(recalls: np.ndarray, rows: list[str], columns: list[str]) -> Figure:
    limit = float(np.nanmax(recalls))
    figure = figures.small_map(
        recalls, (rows, columns), ("previous token", "induction head"), "recall", limit
    )
    return from_zero(figure, limit)


def from_zero(figure: Figure, limit: float) -> Figure:
    """Return a map of numbers of which none is negative, with colours from 0 to a limit, and room
    for the ids of heads at its left."""
    scale = figure.layout["coloraxis"]
    bar = scale["colorbar"] | {"tickvals": [0, limit], "ticktext": ["0", f"{limit:.2g}"]}
    scale.update(cmin=0, cmax=limit, colorscale=colourscale(NONE_TO_ALL), colorbar=bar)
    return figure.update_layout(margin={"l": IDS})

"""What is on stage: what each token costs after each layer, and what the stream then says (the
logit lens), all heads by score, the attention of one of them, heads taken away, and the map of
pairs; and of a series of checkpoints, when heads appear, all heads at the step shown, both losses,
and what is wrong with the files."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import Curve
from icl_core.figures.map_grid import NONE_TO_ALL, Subplot, outlines
from icl_core.figures.style import colourscale
from icl_core.papers.birth.pretrained.load_run import (
    LONG,
    MAPPED,
    QUANTILES,
    ROLES,
    attention,
    best_pair,
    chance,
    half_losses,
    halves_by_layer,
    head_id,
    head_shown,
    layer_labels,
    place_of,
    scores,
    scores_over_steps,
    token_labels,
    tokens_of,
)
from icl_core.papers.birth.pretrained.settings import SCORES, View
from icl_core.papers.birth.pretrained.words import WORDS
from icl_core.papers.birth.shared.behaviour import MOST

COLUMNS = 12  # induction heads in the map of pairs: all would leave its rows no room
CELL = 14  # pixels of a cell in the map of heads
IDS = 62  # pixels left of a map for ids of heads
TOKENS = 84  # and for tokens


def losses(run: Run, view: View) -> Panel:
    """Draw what each token of the text costs if the stream is read after the layer shown, beside
    what it costs in the end."""
    tokens = tokens_of(run, view)[1:]
    every = run[f"text/{view.passage}/loss"].astype(np.float32)  # (layers + 1, T - 1)
    at = run.snapshot_at(view)
    positions = np.arange(1, len(tokens) + 1)
    top = 1.3 * float(every[-1].max())
    series = [
        Curve("after the last layer", positions, every[-1], "floor", "dot"),
        Curve("after the layer shown", positions, np.minimum(every[at], top), "trained"),
    ]
    figure = figures.curves(series, "token", "loss in nats", y_range=(0, top), height=figures.SEAT)
    data = pd.DataFrame({"token": tokens, "loss": every[at], "in the end": every[-1]})
    return WORDS.panel("losses", run, view, figures.seated(figure), data=data)


def lens(run: Run, view: View) -> Panel:
    """Draw what tokens cost if the stream is read after each layer."""
    first, second = halves_by_layer(run, view)
    layers = run["snapshot/step"]
    series = [
        Curve("said again", layers, second, "layer 2"),
        Curve("the first time", layers, first, "floor", "dash"),
    ]
    every = np.concatenate([first, second])
    figure = figures.curves(
        series,
        "read after layer",
        "loss in nats",
        log_y=True,
        y_range=(0.7 * float(every.min()), 1.4 * float(every.max())),
        at=run.step(view),
        height=figures.SEAT,
    )
    data = pd.DataFrame({"layer": layers, "said again": second, "the first time": first})
    return WORDS.panel("lens", run, view, figures.seated(figure), data=data)


def tokens(run: Run, view: View) -> Panel:
    """Tabulate what the stream says after the layer shown, token by token."""
    name = view.passage
    at = run.snapshot_at(view)
    tokens = tokens_of(run, view)
    vocabulary = run.names("said")
    said = [vocabulary[index] for index in run[f"text/{name}/said"][at]]
    following = [*tokens[1:], ""]
    costs = [*run[f"text/{name}/loss"][at].astype(float).tolist(), float("nan")]
    frame = pd.DataFrame(
        {
            "position": range(len(tokens)),
            "token": token_labels(tokens, LONG),
            "said after it": token_labels(said, LONG),
            "probability": run[f"text/{name}/probability"][at].astype(float).round(3),
            "comes": token_labels(following, LONG),
            "loss in nats": np.round(costs, 2),
        }
    )
    right = sum(one == other for one, other in zip(said, following, strict=True))
    return WORDS.panel("tokens", run, view, table=frame, right=right, tokens=len(tokens) - 1)


def heads(run: Run, view: View) -> Panel:
    """Draw the score of every head, a row a layer."""
    values = scores(run, view.score)  # (layers, H)
    figure = map_of_heads(values, place_of(run, head_shown(run, view)), layer_labels(run))
    return WORDS.panel("heads", run, view, figure, data=table_of_heads(values))


def map_of_heads(
    values: np.ndarray, shown: tuple[int, int] | None = None, layers: list[str] | None = None
) -> Figure:
    """Return a map of the scores of all heads [layers, H], a row a layer. The head `shown`, its
    layer and number counted from 0, is outlined; `layers` are labels for them."""
    labels = [[str(index + 1) for index in range(size)] for size in values.shape]
    labels[0] = layers or labels[0]
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
    labels = token_labels(tokens_of(run, view))[:MAPPED]
    figure = figures.small_attention(attention(run, view), labels)
    return WORDS.panel("one", run, view, figure.update_layout(margin={"l": TOKENS}))


def without(run: Run, view: View) -> Panel:
    """Draw the loss of the second half against the number of heads taken away."""
    counts = run["ablation/heads"]
    strongest = run["ablation/strongest"][:, :, 1]  # (draws, counts)
    random = run["ablation/random"][..., 1].reshape(-1, len(counts))  # (draws · sets, counts)
    first = float(half_losses(run)[0].mean())
    series = [
        Curve("the strongest", counts, strongest, "layer 2", band="minmax", markers=True),
        Curve("random sets", counts, random, "floor", "dash", band="minmax", markers=True),
    ]
    lines = [("first half", first, "seed")]
    figure = figures.curves(
        series,
        "heads taken away",
        "loss, second half",
        log_x=True,
        y_range=(0, 1.15 * first),
        lines=lines,
        height=figures.SEAT,
    )
    figure.update_xaxes(tickvals=counts.tolist(), ticktext=[str(count) for count in counts])
    low, middle, high = np.quantile(random, QUANTILES, axis=0)
    data = pd.DataFrame(
        {
            "heads": counts,
            "strongest": strongest.mean(0),
            "random, 10%": low,
            "random, median": middle,
            "random, 90%": high,
        }
    )
    return WORDS.panel("without", run, view, figures.seated(figure), data=data)


def pairs(run: Run, view: View) -> Panel:
    """Draw the recall of W_K² for every pair of a previous-token head and an induction head."""
    recalls = run["pairs/recall"].mean(0)  # (previous, induction)
    rows = run.names("previous")
    columns = run.names("strongest")
    first, second = best_pair(run)
    best = float(recalls[rows.index(first), columns.index(second)])
    shown = columns_shown(run)
    figure = _pairs_map(recalls[:, shown], rows, [columns[index] for index in shown])
    return WORDS.panel(
        "pairs",
        run,
        view,
        figure,
        data=pd.DataFrame(recalls, rows, columns),
        times_chance=best / chance(run),
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


COLOURS = {"previous": "layer 1", "followers": "layer 2"}


def appear(run: Run, view: View) -> Panel:
    """Draw the score of the best head of either kind over the training."""
    steps = run["snapshot/step"]
    best = {measure: scores_over_steps(run, measure).max((1, 2)) for measure in ROLES}
    series = [
        Curve(SCORES[measure], steps, line, COLOURS[measure], markers=True)
        for measure, line in best.items()
    ]
    figure = figures.curves(
        series,
        "training step",
        "best head's score",
        y_range=(0, 1.05),
        lines=[("high", MOST, "floor")],
        at=run.step(view),
        height=figures.SEAT,
    )
    data = pd.DataFrame({"step": steps} | {SCORES[name]: line for name, line in best.items()})
    return WORDS.panel("appear", run, view, figures.seated(figure), data=data)


def series_heads(run: Run, view: View) -> Panel:
    """Draw the score of every head at the step shown."""
    values = scores_over_steps(run, view.score)[run.snapshot_at(view)]
    return WORDS.panel(
        "series_heads",
        run,
        view,
        map_of_heads(values),
        data=table_of_heads(values),
        high=int((values >= MOST).sum()),
        heads=values.size,
    )


def series_losses(run: Run, view: View) -> Panel:
    """Draw the loss of both halves over the training."""
    steps = run["snapshot/step"]
    first, second = run["series/halves"].transpose(2, 1, 0)  # (draws, steps) each
    series = [
        Curve("said again", steps, second, "layer 2", band="minmax"),
        Curve("the first time", steps, first, "floor", "dash", band="minmax"),
    ]
    top = 1.1 * float(max(first.max(), second.max()))
    figure = figures.curves(
        series,
        "training step",
        "loss in nats",
        y_range=(0, top),
        at=run.step(view),
        height=figures.SEAT,
    )
    at = run.snapshot_at(view)
    return WORDS.panel(
        "series_losses",
        run,
        view,
        figures.seated(figure),
        data=pd.DataFrame({"step": steps, "again": second.mean(0), "first": first.mean(0)}),
        again=second[:, at].mean(),
        once=first[:, at].mean(),
    )


def files(run: Run, view: View) -> Panel:
    """Tabulate the checkpoints with their digests and what is wrong with them."""
    remarks = run.names("remarks")
    wrong = sum(bool(remark) for remark in remarks)
    table = pd.DataFrame(
        {
            "step": run.snapshot_steps,
            "checkpoint": run.names("files"),
            "digest": run.names("digests"),
            "remark": [remark or "–" for remark in remarks],
        }
    )
    return WORDS.panel("files", run, view, table=table, wrong=wrong, checkpoints=len(remarks))

"""The drawer on a text of the visitor's own: what each token costs, with and without a graft, all
heads by what they do there, and where one of them looks."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.figures.attention_maps import LABEL
from icl_core.papers.birth.pretrained.draw.stage import map_of_heads, table_of_heads
from icl_core.papers.birth.pretrained.load_run import (
    QUANTILES,
    head_id,
    layer_labels,
    place_of,
    said_again,
    sees_all,
    token_labels,
)
from icl_core.papers.birth.pretrained.own_text import Grafted, grafted, losses_after, of_view
from icl_core.papers.birth.pretrained.settings import View
from icl_core.papers.birth.pretrained.texts import LONGEST
from icl_core.papers.birth.pretrained.words import WORDS
from icl_core.papers.birth.shared.behaviour import MOST

SMALL_CELL = 3  # pixels of a cell of a map of more tokens
LABELLED = 64  # tokens of which every one has its label on a map
NONE = "none"


def losses(run: Run, view: View) -> Panel:
    """Draw what each token of the text costs in the end and after the layer shown, and in the end
    with the graft."""
    reading = of_view(run, view)
    at = losses_after(run, view)
    positions = np.arange(1, len(reading.tokens))
    curves = {"in the end": reading.losses, "after the layer shown": at}
    series = [
        Curve("in the end", positions, reading.losses, "trained"),
        Curve(f"after layer {run.step(view)}", positions, at, "floor", "dot"),
    ]
    largest = float(reading.losses.max())
    if view.graft != NONE:
        changed = grafted(run, view)
        largest = max(largest, float(changed.losses.max()), float(changed.random.max()))
        curves |= {"with the graft": changed.losses, "random heads": changed.random.mean(0)}
        series += [
            Curve("with the graft", positions, changed.losses, "construction"),
            Curve("in random heads", positions, changed.random, "seed", "dash", band="minmax"),
        ]
    figure = figures.curves(series, "token", "loss in nats", y_range=(0, 1.2 * largest))
    labels = token_labels(reading.tokens[1:])
    figure.update_xaxes(**_ticks(labels))
    again = said_again(reading.tokens)
    return WORDS.panel(
        "own_losses",
        run,
        view,
        figure,
        data=pd.DataFrame({"token": reading.tokens[1:]} | curves),
        source=_source(run, view),
        partly_repeats=again.any() and not again.all(),
        mean=reading.losses.mean(),
        again=_mean(reading.losses[again]),
        once=_mean(reading.losses[~again]),
    )


def _ticks(labels: list[str]) -> dict[str, list]:
    """Return the axis' labels: as many tokens as there is room for."""
    every = max(1, -(-len(labels) // 24))
    at = list(range(1, len(labels) + 1, every))
    return {"tickvals": at, "ticktext": [figures.literal(labels[index - 1]) for index in at]}


def heads(run: Run, view: View) -> Panel:
    """Draw what every head does on the text, a row a layer."""
    values = of_view(run, view).scores(view.typed_score)
    return WORDS.panel(
        "own_heads",
        run,
        view,
        map_of_heads(values, place_of(run, _head(run, view)), layer_labels(run)).update_layout(
            height=420
        ),
        data=table_of_heads(values),
        source=_source(run, view),
        high=int((values >= MOST).sum()),
    )


def show_head(run: Run, view: View, row: int, column: int) -> dict[str, str]:
    """Return what a click on the map of heads sets: the head whose attention is shown below it."""
    return {"typed_head": head_id(row, column)}


def _head(run: Run, view: View) -> str:
    """Return the id of the head whose attention is shown."""
    return view.typed_head or run.names("strongest")[0]


def one(run: Run, view: View) -> Panel:
    """Draw where one head looks on the text."""
    reading = of_view(run, view)
    name = _head(run, view)
    layer, number = place_of(run, name)
    attention = reading.attention(layer, number)  # (n, n)
    each = reading.positions_per_cell
    labels = token_labels(reading.tokens)[::each]
    cell = LABEL if len(labels) <= LABELLED else SMALL_CELL
    figure = figures.attention(attention, labels, cell=cell)
    window = 0 if sees_all(run)[layer] else int(run["layers/window"][layer])
    if 0 < window < len(reading.tokens):
        figure.add_shapes([_edge((window - 0.5) / each, len(labels))])
    return WORDS.panel(
        "own_one",
        run,
        view,
        figure,
        source=_source(run, view),
        head=name,
        at_start=float(reading.scores("start")[layer, number]),
        is_coarse=each > 1,
        each=each,
        edge=window if window < len(reading.tokens) else 0,
    )


def _edge(beyond: float, rows: int) -> dict[str, Any]:
    """Return the line left of which a head does not look: so many rows of the map from the
    diagonal."""
    ends = {"x0": -0.5, "y0": beyond - 0.5, "x1": rows - beyond - 0.5, "y1": rows - 0.5}
    line = {"color": figures.colour("construction"), "width": 2, "dash": "dash"}
    return {"type": "line", "xref": "x", "yref": "y", **ends, "line": line}


def _source(run: Run, view: View) -> str:
    """Return where a text comes from and how long it took to read."""
    reading = of_view(run, view)
    per_token = reading.seconds / len(reading.tokens)
    return WORDS.text("source", run, view, seconds=reading.seconds, longest=LONGEST * per_token)


def grafts(run: Run, view: View) -> Panel:
    """Tabulate what the text costs, said again and the first time, with a graft and without."""
    reading = of_view(run, view)
    again = said_again(reading.tokens)
    changed = grafted(run, view) if view.graft != NONE else None
    after = reading.losses if changed is None else changed.losses
    rows = {"nothing": reading.losses} | ({} if changed is None else _rows(changed))
    table = pd.DataFrame(
        [(name, _mean(line[again]), _mean(line[~again])) for name, line in rows.items()],
        columns=["replaced", "said again", "the first time"],
    )
    return WORDS.panel(
        "own_grafts",
        run,
        view,
        table=table.round(2),
        repeats=again.any(),
        before=_mean(reading.losses[again]),
        after=_mean(after[again]),
        mean_after=after.mean(),
    )


def _rows(changed: Grafted) -> dict[str, np.ndarray]:
    """Return what each token costs with the graft, and in quantiles of the random sets, by the
    mean of the text."""
    few = ", ".join(changed.heads) if len(changed.heads) <= 3 else f"{len(changed.heads)} heads"
    order = np.argsort(changed.random.mean(1))
    rows = {few: changed.losses}
    for share in QUANTILES:
        name = f"as many random heads, {share:.0%} of {len(order)} sets"
        rows[name] = changed.random[order[round(share * (len(order) - 1))]]
    return rows


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if values.size else float("nan")

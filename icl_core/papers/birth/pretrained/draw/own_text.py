"""The drawer on a text of the visitor's own: what each token costs, with and without a graft, all
heads by what they do there, and where one of them looks."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.papers.birth.pretrained.draw.stage import layer_shown, map_of_heads, table_of_heads
from icl_core.papers.birth.pretrained.load_run import head_id, place_of, said_again, token_labels
from icl_core.papers.birth.pretrained.settings import GRAFTS, MODELS, SCORES, View
from icl_core.papers.birth.pretrained.typed.grafts import Grafted, grafted
from icl_core.papers.birth.pretrained.typed.reading import Reading, losses_after, of_view
from icl_core.papers.birth.shared.behaviour import MOST

SHOWN = 96  # tokens in an attention map
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
        Curve(f"after layer {layer_shown(run, view)}", positions, at, "floor", "dot"),
    ]
    largest = float(reading.losses.max())
    if view.graft != NONE:
        changed = grafted(run, view)
        largest = max(largest, float(changed.losses.max()), float(changed.random.max()))
        curves |= {"with the graft": changed.losses, "random heads": changed.random}
        series += [
            Curve("with the graft", positions, changed.losses, "construction"),
            Curve("in random heads", positions, changed.random, "seed", "dash"),
        ]
    figure = figures.curves(series, "token", "loss in nats", y_range=(0, 1.2 * largest))
    labels = token_labels(reading.tokens[1:])
    figure.update_xaxes(**_ticks(labels))
    return Panel(
        _title(reading),
        f"{_source(run, view)} Each point is what a token costs the model, in nats; the dotted "
        "line is what it would cost if the stream after the layer on the clock were read as if it "
        "were the last. Where the text repeats itself, the context tells the token, and the loss "
        "should fall.",
        figure,
        data=pd.DataFrame({"token": reading.tokens[1:]} | curves),
    )


def _title(reading: Reading) -> str:
    again = said_again(reading.tokens)
    if again.all() or not again.any():
        return f"A token costs {reading.losses.mean():.1f} nats; nothing is said again"
    return (
        f"Said again, a token costs {reading.losses[again].mean():.1f} nats, the first time "
        f"{reading.losses[~again].mean():.1f}"
    )


def _source(run: Run, view: View) -> str:
    """Return which text is shown, and whether the model has read it now."""
    if view.typed:
        return f"Your own text, read just now by {MODELS[run.config.model]}."
    return (
        "The sentence that the run has recorded, twice; no weights are needed for it. Type yours."
    )


def _ticks(labels: list[str]) -> dict[str, list]:
    """Return the axis' labels: as many tokens as there is room for."""
    every = max(1, -(-len(labels) // 24))
    at = list(range(1, len(labels) + 1, every))
    return {"tickvals": at, "ticktext": [labels[index - 1] for index in at]}


def heads(run: Run, view: View) -> Panel:
    """Draw what every head does on the text, a row a layer."""
    values = of_view(run, view).scores(view.typed_score)
    number = int((values >= MOST).sum())
    return Panel(
        f"{number} of {values.size} heads score high on this text ({SCORES[view.typed_score]})",
        f"{_source(run, view)} Every cell is a head: the share of its attention on what followed "
        "the same token earlier in this text, as far as that is beyond even attention (induction), "
        "or on the token before (previous token). High is 0.4 or more. In few tokens a head may "
        "score high by accident; the map on the stage is measured on random tokens. A click on a "
        "cell shows where that head looks; it is then outlined.",
        map_of_heads(values, place_of(run, _head(run, view))).update_layout(height=420),
        data=table_of_heads(values),
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
    attention = reading.attention(*place_of(run, name))[:SHOWN, :SHOWN]
    at_start = float(reading.attention(*place_of(run, name))[1:, 0].mean())
    return Panel(
        f"Head {name} has {at_start:.0%} of its attention on the start token",
        f"{_source(run, view)} Each row shows where one token looks"
        f"{_first_tokens(reading)}. A head that finds nothing looks at the start token, the first "
        "column. An induction head has a stripe where the text repeats itself, a previous-token "
        "head one beside the diagonal. Click on a cell of the map of heads, or name one.",
        figures.attention(attention, token_labels(reading.tokens)[:SHOWN]),
    )


def _first_tokens(reading: Reading) -> str:
    return f", of the first {SHOWN} tokens" if len(reading.tokens) > SHOWN else ""


def grafts(run: Run, view: View) -> Panel:
    """Tabulate what the text costs, said again and the first time, with a graft and without."""
    reading = of_view(run, view)
    again = said_again(reading.tokens)
    rows = {"nothing": reading.losses}
    title = "Nothing is replaced"
    if view.graft != NONE:
        changed = grafted(run, view)
        rows |= _rows(changed)
        before, after = (_mean(line[again]) for line in (reading.losses, changed.losses))
        title = f"With {GRAFTS[view.graft]} a repeat costs {after:.1f} nats, not {before:.1f}"
        if not again.any():
            title = f"With {GRAFTS[view.graft]} a token costs {changed.losses.mean():.1f} nats"
    table = pd.DataFrame(
        [(name, _mean(line[again]), _mean(line[~again])) for name, line in rows.items()],
        columns=["replaced", "said again", "the first time"],
    )
    return Panel(
        title,
        "The mean loss of a token in nats: of those that follow the same token as before, where "
        "the context tells them, and of all others. The mean output is a head's own over this "
        "text. The construction puts a head's attention where the paper's formulas have it, with "
        "its own W_V and W_O: of a head that scores higher as previous-token head, on the token "
        "before alone; of any other, on what followed the same token earlier, else on the start "
        "token. Random heads are as many that are neither kind. If the construction is what a head "
        "does, nothing changes.",
        table=table.round(2),
    )


def _rows(changed: Grafted) -> dict[str, np.ndarray]:
    few = ", ".join(changed.heads) if len(changed.heads) <= 3 else f"{len(changed.heads)} heads"
    return {few: changed.losses, f"as many random heads ({len(changed.heads)})": changed.random}


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if values.size else float("nan")

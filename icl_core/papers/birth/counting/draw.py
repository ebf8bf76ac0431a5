"""The drawings: over the training, how far the predictions are from each strategy's, where the
layers look, and the losses; of one sequence, where the layers look and what is predicted next."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Curve, mean_of
from icl_core.figures.style import axis, layout
from icl_core.papers.birth.counting.load_run import Reading, next_state, read
from icl_core.papers.birth.counting.markov_chains import LETTERS
from icl_core.papers.birth.counting.settings import View
from icl_core.papers.birth.counting.strategy import NAMES, at_step, spans
from icl_core.papers.birth.counting.words import WORDS

KINDS = {
    "uniform": "layer 4",
    "unigram": "layer 2",
    "bigram": "layer 3",
}  # the colours of the strategies, by id
GREY = "#7f7f7f"  # of an id that is none of today's
SHADE = 0.13


def distances(run: Run, view: View) -> Panel:
    """Draw the divergence from each strategy over training, with the background in the colour of
    the nearest."""
    ids = run.names("strategies")
    series = [_curve(run, name) for name in ids]
    if view.single_seeds:
        steps = run["curve/step"]
        for name in ids:
            for seed, curve in enumerate(run[f"curve/kl_{name}"]):
                series.append(Curve(f"{NAMES[name]}, seed {seed}", steps, curve, "seed"))
    top = max(float(np.nanmax(run[f"curve/kl_{name}"])) for name in ids)
    figure = figures.curves(
        series,
        "training step",
        "distance (KL), nats",
        y_range=(0, 1.08 * top),
        at=_at(run, view),
        height=figures.SEAT,
    )
    for name, start, end in spans(run):
        shade = {
            "type": "rect",
            "x0": start,
            "x1": end,
            "yref": "paper",
            "y0": 0,
            "y1": 1,
            "layer": "below",
        }
        figure.add_shape(
            **shade,
            line={"width": 0},
            fillcolor=figures.colour(KINDS.get(name, GREY)),
            opacity=SHADE,
        )
    data = _table(run, [f"kl_{name}" for name in ids])
    return WORDS.panel("distances", run, view, figures.seated(figure, figures.WIDE), data=data)


def _curve(run: Run, name: str) -> Curve:
    return Curve(
        NAMES.get(name, name), run["curve/step"], run[f"curve/kl_{name}"], KINDS.get(name, GREY)
    )


def looks(run: Run, view: View) -> Panel:
    """Draw layer 1's attention on the position before, and the last layer's on what followed the
    same state."""
    at = _at(run, view)
    series = [
        Curve("layer 1: previous", run["curve/step"], run["curve/previous"], "layer 1"),
        Curve(
            f"layer {run.config.layers}: followers",
            run["curve/step"],
            run["curve/followers"],
            "layer 2",
            "dash",
        ),
    ]
    even = {"even": "previous", "even, followers": "followers"} if run.finished else {}
    lines = [
        (label, float(run[f"baseline/even_{name}"][0]), "floor") for label, name in even.items()
    ]
    figure = figures.curves(
        series,
        "training step",
        "attention",
        y_range=(0, 1.02),
        lines=lines,
        at=at,
        height=figures.SEAT,
    )
    share = at_step(run, "previous", at) if at is not None else np.nan
    data = _table(run, ["previous", "followers"])
    return WORDS.panel("looks", run, view, figures.seated(figure), data=data, share=share)


def losses(run: Run, view: View) -> Panel:
    """Draw the loss over training, beside that of a uniform guess."""
    series = [Curve("trained", run["curve/step"], run["curve/loss"])]
    lines = [("ln k", float(np.log(run.config.k)), "floor")]
    figure = figures.curves(series, "training step", "loss, nats", at=_at(run, view), lines=lines)
    return WORDS.panel("losses", run, view, figure, data=_table(run, ["loss"]))


def positions(run: Run, view: View) -> Panel:
    """Draw the loss by position after training, of the model and the strategies."""
    x = np.arange(1, run.config.T + 1)
    series = []
    for name in run.names("strategies"):
        loss = smoothed(run[f"baseline/loss_{name}_at"])  # [T]
        series.append(Curve(NAMES[name], x, loss, KINDS.get(name, GREY), "dash"))
    series.append(Curve("trained", x, smoothed(run["evaluated/loss_at"])))
    chain = float(run["baseline/loss_chain"][0])
    figure = figures.curves(
        series, "position", "loss, nats", lines=[("chain known", chain, "floor")]
    )
    data = pd.DataFrame({"position": x} | {curve.name: curve.mean() for curve in series})
    return WORDS.panel("positions", run, view, figure, data=data.round(4))


def smoothed(rows: np.ndarray, over: int = 9) -> np.ndarray:
    """Return means over neighbouring positions, fewer at the ends; [..., T] to [..., T]."""
    T = rows.shape[-1]
    ends = [(max(0, t - over // 2), min(T, t + over // 2 + 1)) for t in range(T)]
    return np.stack([rows[..., low:high].mean(-1) for low, high in ends], -1)


def _at(run: Run, view: View) -> float | None:
    return run.step(view) if run.snapshot_steps else None


def _table(run: Run, names: list[str]) -> pd.DataFrame:
    return pd.DataFrame(
        {"step": run["curve/step"], **{name: mean_of(run[f"curve/{name}"]) for name in names}}
    ).round(5)


def first(run: Run, view: View) -> Panel:
    """Draw layer 1's attention on the sequence."""
    reading = read(run, view)
    share = float(np.mean(np.diagonal(reading.attention[0], -1)))
    figure = figures.small_attention(reading.attention[0], reading.letters)
    return WORDS.panel("first", run, view, figure, share=share)


def second(run: Run, view: View) -> Panel:
    """Draw the last layer's attention on the sequence; in the row shown, what followed the same
    state before."""
    reading = read(run, view)
    at = reading.at(view)
    weights = reading.attention[-1]
    keys = _followers(reading, at)
    boxes = [(at, key, "correct output") for key in keys]
    return WORDS.panel(
        "second",
        run,
        view,
        figures.small_attention(weights, reading.letters, boxes),
        has_followers=bool(keys),
        share=weights[at, keys].sum(),
    )


def _followers(reading: Reading, at: int) -> list[int]:
    """Return the keys after an earlier occurrence of the state at a position."""
    return [key for key in range(1, at + 1) if reading.tokens[key - 1] == reading.tokens[at]]


def following(run: Run, view: View) -> Panel:
    """Draw the model's prediction after the position shown, beside those of the strategies."""
    rows = next_state(run, view)  # [k] each
    bars = {"trained": ("trained", rows.pop("model"))}  # by label: colour, probabilities
    bars |= {NAMES.get(name, name): (KINDS.get(name, GREY), row) for name, row in rows.items()}
    states = list(LETTERS[: run.config.k])
    data = {"next": states} | {name: np.round(row, 4) for name, (_, row) in bars.items()}
    return WORDS.panel("next", run, view, _bars(states, bars), data=pd.DataFrame(data))


def _bars(states: list[str], bars: dict[str, tuple[str, np.ndarray]]) -> Figure:
    traces = [
        Trace(
            "bar",
            x=states,
            y=np.asarray(row, np.float32),
            name=name,
            marker={"color": figures.colour(kind)},
            hovertemplate=f"{name}, %{{x}} next: %{{y:.2f}}<extra></extra>",
        )
        for name, (kind, row) in bars.items()
    ]
    axes = {
        "xaxis": axis("next state", type="category", showgrid=False),
        "yaxis": axis("probability", range=[0, 1.02]),
    }
    return figures.seated(Figure(traces, layout(figures.SEAT, bargap=0.25, **axes)))

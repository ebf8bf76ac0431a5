"""Curves of the training: how far the predictions are from each strategy's, where the layers look,
and the losses."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve, mean_of
from icl_core.papers.birth.counting.settings import View
from icl_core.papers.birth.counting.strategy import NAMES, at_step, becomes, nearest, spans

KINDS = {
    "uniform": "layer 4",
    "unigram": "layer 2",
    "bigram": "layer 3",
}  # the colours of the strategies, by id
GREY = "#7f7f7f"  # of an id that is none of today's
SHADE = 0.13
NEEDS = {
    1: "No layer before this one marks what followed what.",
    2: "A head that counts pairs needs both.",
}


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
    return Panel(
        _nearest_title(run),
        "KL(strategy || model): how far predictions are from each strategy's, on held-out "
        "sequences. The background is in the colour of the nearest. Uniform: every state alike. "
        "Unigrams: how often each state has occurred in the sequence. Bigrams: how often each has "
        "followed the state here. A model that learns nothing stays at uniform.",
        figures.seated(figure, figures.WIDE),
        data=_table(run, [f"kl_{name}" for name in ids]),
    )


def _curve(run: Run, name: str) -> Curve:
    return Curve(
        NAMES.get(name, name), run["curve/step"], run[f"curve/kl_{name}"], KINDS.get(name, GREY)
    )


def _nearest_title(run: Run) -> str:
    if not run.finished:
        names = nearest(run)
        return f"So far nearest to {NAMES[names[-1]]}" if names else "Distances so far"
    stages = []
    for name in run.names("strategies")[1:]:
        step = becomes(run, name)
        if step is not None:
            stages.append(f"{NAMES[name]} from step {step:.0f}")
    return f"Predictions are nearest to {', '.join(stages) or 'uniform'}"


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
    return Panel(
        f"Layer 1 finds the previous state: {share:.0%}"
        if run.finished
        else "Where the layers look, so far",
        "The share of layer 1's attention on the position directly before, and of the last "
        "layer's on followers: states that came directly after an earlier occurrence of the state "
        f"here. Even attention stays at the dotted lines. {NEEDS[run.config.layers]}",
        figures.seated(figure),
        data=_table(run, ["previous", "followers"]),
    )


def losses(run: Run, view: View) -> Panel:
    """Draw the loss over training, beside that of a uniform guess."""
    series = [Curve("trained", run["curve/step"], run["curve/loss"])]
    lines = [("ln k", float(np.log(run.config.k)), "floor")]
    return Panel(
        f"The loss falls to {run['evaluated/loss'].mean():.3f} nats"
        if run.finished
        else "The loss so far",
        "Cross-entropy on held-out sequences during the training; the title has it on more of "
        "them at the end. If nothing were learned, it would stay at ln k, the loss of a uniform "
        "guess.",
        figures.curves(series, "training step", "loss, nats", at=_at(run, view), lines=lines),
        data=_table(run, ["loss"]),
    )


def positions(run: Run, view: View) -> Panel:
    """Draw the loss by position after training, of the model and the strategies."""
    x = np.arange(1, run.config.T + 1)
    series = []
    for name in run.names("strategies"):
        loss = smoothed(run[f"baseline/loss_{name}_at"])  # [T]
        series.append(Curve(NAMES[name], x, loss, KINDS.get(name, GREY), "dash"))
    series.append(Curve("trained", x, smoothed(run["evaluated/loss_at"])))
    chain = float(run["baseline/loss_chain"][0])
    model, best = (
        float(run[name].mean()) for name in ("evaluated/loss", "baseline/loss_bigram_at")
    )
    return Panel(
        f"Trained {model:.3f} nats, bigrams {best:.3f}",
        "The loss at each position after training, the mean over fresh sequences, smoothed over "
        "nine positions. The longer the sequence, the better pairs can be counted. The dotted "
        "line is the loss if the chain is known. A model that does not use its context would be "
        "as good at the first position as at the last.",
        figures.curves(series, "position", "loss, nats", lines=[("chain known", chain, "floor")]),
        data=pd.DataFrame({"position": x} | {curve.name: curve.mean() for curve in series}).round(
            4
        ),
    )


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

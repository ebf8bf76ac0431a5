"""The curves that have no place on the stage: losses, triggers against others, how far layer 1
reaches, recalls and gradients of the matrices; and the table of one layer."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import CannotDraw, Panel, Run
from icl_core.figures import Curve, colour, mean_of
from icl_core.papers.birth.shared.probes import early_positions, memory_tokens
from icl_core.papers.birth.shared.train import task_of
from icl_core.papers.birth.transformer.draw.stage import step
from icl_core.papers.birth.transformer.load_run import (
    KINDS,
    attends,
    finder,
    last_heads,
    one_back_in_example,
)
from icl_core.papers.birth.transformer.settings import View
from icl_core.papers.birth.transformer.words import WORDS

# by the id of a probe: label, colour, dash; the colours of the simplified model's
PROBES = {
    "W_O2": ("W_O²", "layer 3", None),
    "W_K2": ("W_K²", "layer 2", None),
    "W_K1_early": ("W_K¹ early", "layer 1", None),
    "W_K1": ("W_K¹ all", "layer 1", "dot"),
}
# by the id of a matrix: label, colour, dash
GATES = {
    "W_O2": ("W_O²", "layer 3", None),
    "W_K2": ("W_K²", "layer 2", None),
    "W_K1": ("W_K¹", "layer 1", None),
    "W_out2": ("feed-forward 2", "layer 4", "dash"),
}
WINDOW = 10  # steps that a gradient's size is averaged over


def _data(x_name: str, series: Sequence[Curve]) -> pd.DataFrame:
    """Return curves over the same x as a table, the mean over seeds of each."""
    return pd.DataFrame({x_name: series[0].x} | {curve.name: curve.mean() for curve in series})


def losses(run: Run, view: View) -> Panel:
    """Draw the in-context and the global loss over training (Figure 10, left)."""
    x = run["curve/step"]
    series = [
        Curve("in context", x, run["curve/in_context_loss"], "trained"),
        Curve("global", x, run["curve/global_loss"], "layer 4", dash="dash"),
    ]
    mean = mean_of(run["curve/in_context_loss"])
    figure = figures.curves(series, "training step", "cross-entropy, nats", at=step(run, view))
    return WORDS.panel(
        "losses", run, view, figure, data=_data("step", series), first=mean[0], last=mean[-1]
    )


def groups(run: Run, view: View) -> Panel:
    """Draw, of the head that finds most, the attention on followers at triggers against other
    characters that come again."""
    head = finder(run)
    at = run.names("heads").index(head.name)
    x = run["curve/step"]
    series = [
        Curve("at triggers", x, run["heads/triggers"][:, at], "layer 2"),
        Curve("even", x, run["heads/triggers_even"][:, at], "layer 2", "dot"),
        Curve("at others", x, run["heads/others"][:, at], "layer 4"),
        Curve("others, even", x, run["heads/others_even"][:, at], "layer 4", "dot"),
    ]
    figure = figures.curves(
        series,
        "training step",
        "attention on what followed",
        y_range=(0, 1.02),
        at=step(run, view),
    )
    return WORDS.panel(
        "groups",
        run,
        view,
        figure,
        data=_data("step", series),
        head=head.name,
        at_triggers=head.triggers,
        at_others=head.others,
    )


def where_read(run: Run, view: View) -> Panel:
    """Draw the authors' probe of every head but the last layer's, over the training: is its
    strongest look one back, where the next layer reads?"""
    shares = one_back_in_example(run).strongest  # (snapshots, heads)
    steps = np.array(run.snapshot_steps)
    heads = [head for head in last_heads(run) if not math.isnan(head.strongest)]
    series = []
    for index, head in enumerate(heads):  # those of the last layer, which no layer reads, are last
        kind = KINDS.get(head.role, colour("seed"))
        series.append(Curve(f"head {head.name}", steps, shares[:, index], kind))
    best = max(heads, key=lambda head: head.strongest)
    figure = figures.curves(
        series,
        "training step",
        "strongest look is at the previous character",
        y_range=(0, 1.02),
        at=step(run, view),
    )
    return WORDS.panel(
        "where_read",
        run,
        view,
        figure,
        data=_data("step", series),
        head=best.name,
        share=best.strongest,
    )


def reach(run: Run, view: View) -> Panel:
    """Draw the attention on the previous character by position, of the head that looks back most
    and of its layer's mean."""
    heads = last_heads(run)
    best = int(np.argmax([head.previous for head in heads]))
    head = heads[best]
    layer = best // run.config.heads
    masses = run["position/previous"]  # (heads, T)
    x = np.arange(1, run.config.T + 1)
    series = [Curve(f"head {head.name}", x, masses[best], "layer 1")]
    if run.config.heads > 1:
        of_layer = slice(layer * run.config.heads, (layer + 1) * run.config.heads)
        mean = masses[of_layer].mean(0)
        series.append(Curve(f"mean of layer {layer + 1}", x, mean, "layer 1", "dot"))
    figure = figures.curves(
        series, "position", "attention on the previous character", y_range=(0, 1.02)
    )
    return WORDS.panel(
        "reach",
        run,
        view,
        figure,
        data=_data("position", series),
        head=head.name,
        early=masses[best, 1:17].mean(),
        late=masses[best, -16:].mean(),
    )


def recalls(run: Run, view: View) -> Panel:
    """Draw the recall of the three memories of an induction head over training (Figure 10). Raises
    `CannotDraw` unless the model has two layers."""
    if "curve/recall_W_O2" not in run.tensors:
        raise CannotDraw("which matrix stores what is known of two layers only")
    x = run["curve/step"]
    series = [
        Curve(label, x, run[f"curve/recall_{name}"], *look)
        for name, (label, *look) in PROBES.items()
    ]
    final = {name: curve.mean()[-1] for name, curve in zip(PROBES, series, strict=True)}
    figure = figures.curves(
        series, "training step", "recall", y_range=(0, 1.02), at=step(run, view)
    )
    return WORDS.panel(
        "recalls",
        run,
        view,
        figure,
        data=_data("step", series),
        output=final["W_O2"],
        same=final["W_K2"],
        previous=final["W_K1_early"],
        early=early_positions(run.config.T),
        chance=1 / len(memory_tokens(task_of(run.config))),
    )


def gradients(run: Run, view: View) -> Panel:
    """Draw the size of each matrix's gradient over training: what waits for what."""
    looks = {name: look for name, look in GATES.items() if f"batch/gradient_{name}" in run.tensors}
    sizes = {name: _smooth(run[f"batch/gradient_{name}"]) for name in looks}
    x = np.arange(next(iter(sizes.values())).shape[1]) * WINDOW + WINDOW / 2
    series = [Curve(label, x, sizes[name], *look) for name, (label, *look) in looks.items()]
    peaks = sorted((float(x[np.nanargmax(mean_of(sizes[name]))]), looks[name][0]) for name in looks)
    peak_steps = ", ".join(f"{label} at {at:.0f}" for at, label in peaks)
    figure = figures.curves(
        series, "training step", "norm of the gradient", log_y=True, at=step(run, view)
    )
    return WORDS.panel(
        "gradients",
        run,
        view,
        figure,
        data=_data("step", series),
        peaks=peak_steps,
        window=WINDOW,
    )


def _smooth(norms: np.ndarray) -> np.ndarray:
    """Return means over windows of steps, [seeds, windows], of norms [seeds, steps]."""
    steps = norms.shape[1] // WINDOW * WINDOW  # in whole windows
    return norms[:, :steps].reshape(len(norms), -1, WINDOW).mean(2)


def one_layer(run: Run, view: View) -> Panel:
    """Tabulate what a single layer attends to and predicts, beside this model."""
    alone, model = attends(run)
    head = finder(run)
    rows = [
        ("attention on what followed the trigger", _alone(run, "triggers"), head.triggers),
        ("… if spread evenly", _alone(run, "triggers_even"), head.triggers_even),
        ("evenness of the attention", _alone(run, "uniformity"), head.uniformity),
        ("right in context", *_both(alone, model, "right")),
        ("names what came up more often than usual", *_both(alone, model, "agrees")),
        ("right where that is right", *_both(alone, model, "where_right")),
        ("right where that is wrong", *_both(alone, model, "where_wrong")),
        ("names the likeliest bigram", *_both(alone, model, "bigram")),
    ]
    columns = ["over held-out sequences", "one layer", f"this model, head {head.name}"]
    table = pd.DataFrame(rows, columns=columns).round(3).dropna(axis=1, how="all")
    return WORDS.panel("one_layer", run, view, table=table, is_beside=alone is not None)


def _alone(run: Run, name: str) -> float:
    """Return a measure of the single layer beside the model; NaN if there is none."""
    values = run.tensors.get(f"one_layer/{name}")
    return float("nan") if values is None else float(values[0])


def _both(
    alone: dict[str, float] | None, model: dict[str, float], name: str
) -> tuple[float, float]:
    """Return a measure of the single layer, NaN if there is none, and of the model."""
    return (float("nan") if alone is None else alone[name]), model[name]

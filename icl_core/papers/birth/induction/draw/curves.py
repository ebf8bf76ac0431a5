"""Curves of a training: accuracy, losses and recall probes, on one axis of steps."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import Curve, mean_of
from icl_core.papers.birth.induction import grafted
from icl_core.papers.birth.induction.memory_formation import half_step
from icl_core.papers.birth.induction.metrics import accuracy_at
from icl_core.papers.birth.induction.settings import View
from icl_core.papers.birth.shared.draw import GREY
from icl_core.papers.birth.shared.probes import early_positions
from icl_core.statistics.trend import still_falling

FRESH = "#9fb3c8"  # the fresh batch: the trained model, paler
# by the id of a probe: label, colour, dash
PROBES = {
    "W_O2": ("W_O²", "layer 3", None),
    "W_K2": ("W_K²", "layer 2", None),
    "W_K1_early": ("W_K¹ early", "layer 1", None),
    "W_K1": ("W_K¹ all", "layer 1", "dot"),
}
BASELINES = {"repeat": "repeat", "one_layer": "one layer", "best_in_context": "best possible"}
# where a curve is far above
AT_THE_END = {
    "x": 0.99,
    "xanchor": "right",
    "bgcolor": "rgba(0,0,0,0)",
}


def memory(run: Run, probe: str, curve: str, seeds: int | None = None) -> Curve:
    """Return a probe's `curve/…`, of the first `seeds` or of all, in its look; its id in grey if it
    is none of today's."""
    label, kind, dash = PROBES.get(probe, (probe, GREY, None))
    return Curve(label, run["curve/step"], run[f"curve/{curve}"][:seeds], kind, dash)


def accuracy(run: Run, view: View) -> Panel:
    """In-context accuracy over training, beside what simpler predictors reach (Figure 3, top)."""
    name = "accuracy_new" if view.measure == "new" else "accuracy"
    series = _accuracies(run, name, view)
    lines = _lines(run, view)
    figure = over_steps(
        run,
        view,
        series,
        "in-context accuracy",
        y_range=(0, 1.02),
        lines=lines,
        height=figures.SEAT,
    )
    for label in figure.layout["annotations"]:
        label.update(AT_THE_END)
    title = "Right in context, so far"
    if run.finished:
        share = f"{accuracy_at(run, _step(run, view), name):.0%}"
        title = f"{share} are right in context"
        if grafted.wanted(run.config, view):
            title = f"As trained, {share} are right"
    return Panel(
        title,
        "How often the likeliest next character is the one that the context tells. What cannot "
        "look back stays near the dotted lines: repeating the character just "
        f"read{_one_layer(run)}. {_accuracy_caption(run)}",
        figures.seated(figure.update_layout(showlegend=False)),
        data=_table(run, ("accuracy", "accuracy_new", "accuracy_uniform", "accuracy_bigram")),
    )


def _one_layer(run: Run) -> str:
    """Return how the single layer was trained that is drawn beside two."""
    if "one_layer/in_context_loss" not in run.tensors:
        return ""
    loss = run["one_layer/in_context_loss"]
    end = "still falling" if still_falling(loss[None]) else "no longer falling"
    return f", and a model of one layer after {len(loss)} steps (its loss is {end})"


def _accuracy_caption(run: Run) -> str:
    best = ""
    if run.config.positions == "all":
        best = (
            "The best possible predictor knows how sequences are drawn and infers which "
            "characters are triggers. "
        )
    spread = "the spread over seeds" if len(run["curve/accuracy"]) > 1 else "one standard error"
    return (
        f"{best}The strong line is held-out data, with {spread} as its band; the pale one is the "
        "batch just trained on."
    )


def _step(run: Run, view: View) -> float:
    return run.step(view) if run.snapshot_steps else np.nan


def over_steps(run: Run, view: View, series: list[Curve], y_title: str, **more: Any) -> Figure:
    """Curves with the snapshot shown marked, if there are snapshots."""
    at = _step(run, view) if run.snapshot_steps else None
    return figures.curves(series, "training step", y_title, at=at, **more)


def _accuracies(run: Run, name: str, view: View) -> list[Curve]:
    x = run["curve/step"]
    series = [Curve("held-out", x, run[f"curve/{name}"], "trained", error=_error(run, name))]
    if view.measure == "all" and "batch/in_context_accuracy" in run.tensors:
        batch = run["batch/in_context_accuracy"]
        series.insert(0, Curve("fresh batch", np.arange(batch.shape[1]), batch, FRESH))
    if view.single_seeds:
        series += [Curve(f"seed {i}", x, row, "seed") for i, row in enumerate(run[f"curve/{name}"])]
    return series


def losses(run: Run, view: View) -> Panel:
    """In-context and global loss over training (Figure 4, left)."""
    together = run.config.positions == "all"
    x = run["curve/step"]
    series = [
        Curve("in context", x, run["curve/in_context_loss"], "trained"),
        Curve("global", x, run["curve/global_loss"], "layer 4", dash="dash"),
    ]
    return Panel(
        _loss_title(run),
        "In-context loss: where only the context tells the next character. Global loss: where "
        "bigrams do, that is, which character often follows which. "
        + (
            "Which of them falls first?"
            if together
            else "Only the first is trained here, so the other may rise."
        ),
        over_steps(run, view, series, "cross-entropy, nats"),
        data=_table(run, ("in_context_loss", "global_loss")),
    )


def _loss_title(run: Run) -> str:
    if not run.finished:
        return "Losses so far"
    first, last = (np.nanmean(run["curve/in_context_loss"][:, i]) for i in (0, -1))
    return f"In-context loss falls from {first:.2f} to {last:.2f} nats"


def memories(run: Run, view: View) -> Panel:
    """Recall of each memory over training, with the step at which it passes one half (Figures 3, 5,
    6)."""
    names = {
        name: _curve_name(run, name, view)
        for name in run.names("probes")
        if not name.endswith("_rows")
    }
    series = [memory(run, name, curve) for name, curve in names.items()]
    halves = [(half_step(run, curve.mean()), curve.name, curve.kind) for curve in series]
    # not those that chance carries over one half from the start
    reached = [half for half in halves if half[0] > 0]
    marks = [
        (step, f"{label}: step {step:.0f}", figures.colour(kind)) for step, label, kind in reached
    ]
    figure = over_steps(run, view, series, "recall", y_range=(0, 1.02), marks=marks)
    return Panel(
        _order_title(reached), _recall_caption(run, view), figure, data=_table(run, names.values())
    )


def _recall_caption(run: Run, view: View) -> str:
    weights = (
        "A pair of W_K² counts as often as its character occurs, one of W_O² as often as it is "
        "drawn as an output. "
    )
    early = early_positions(run.config.T)
    among = "K" if run.config.triggers != "random" else "N"
    two = run.config.layers == 2
    asks = f"“W_K¹ early” asks for the first {early} positions only. "
    chance = f", one in {early - 1} for W_K¹ early"
    return (
        "Recall is the share of its pairs that a matrix gets right, asked on its own. Dotted "
        f"lines mark where it passes one half. {weights * view.weighted}{asks * two}Without "
        f"learning the curves stay at chance: 1/N for W_O², 1/{among} for W_K²{chance * two}."
    )


def _curve_name(run: Run, probe: str, view: View) -> str:
    """Return the curve to draw for a probe under the view's orientation and weighting, if the run
    has it. What W_O2 stores is weighted by how often it must be written, whichever token it is
    asked with."""
    if view.weighted and probe == "W_O2":
        return "recall_W_O2_met"
    orientation = "_paper" if view.orientation == "paper" else ""
    weighting = "_weighted" if view.weighted else ""
    wanted = f"recall_{probe}{orientation}{weighting}"
    return wanted if f"curve/{wanted}" in run.tensors else f"recall_{probe}"


def _order_title(reached: list[tuple[float, str, str]]) -> str:
    steps = sorted((step, label) for step, label, _ in reached if "all" not in label)
    if not steps:
        return "No memory forms"
    return ", then ".join(f"{label} (step {step:.0f})" for step, label in steps)


def feed_forward(run: Run, view: View) -> Panel:
    """KL of W_F alone to the bigram distribution (eq. 10; Figure 4, right)."""
    curve = run["curve/recall_kl_W_F"]
    least = int(np.nanargmin(mean_of(curve))) if np.isfinite(curve).any() else 0
    series = [Curve("W_F", run["curve/step"], curve, "layer 4")]
    return Panel(
        f"W_F is closest to the bigrams at step {run['curve/step'][least]}",
        "How far the predictions of W_F alone are from the bigrams, that is, from which character "
        "often follows which. The distance (KL) falls while W_F learns them. If W_F stored "
        "nothing else, it would not rise again. The paper suspects that W_F then uses what the "
        "head writes into its input.",
        over_steps(run, view, series, "KL(π_b || softmax), nats"),
        data=_table(run, ("recall_kl_W_F",)),
    )


def _error(run: Run, name: str) -> np.ndarray | None:
    """One standard error, for a single seed; several show their spread instead."""
    if len(run[f"curve/{name}"]) > 1 or f"curve/{name}_error" not in run.tensors:
        return None
    return run[f"curve/{name}_error"][0]


def _lines(run: Run, view: View) -> list[tuple[str, float, str]]:
    names = run.names("baselines") if run.finished else []
    if run.config.positions != "all":  # such a model knows more: that the position is in context
        names = [name for name in names if name != "best_in_context"]
    suffix = "_new" if view.measure == "new" else ""
    baselines = {name: run.tensors.get(f"baseline/{name}{suffix}") for name in names}
    return [
        (BASELINES.get(n, n), float(value[0]), "floor")
        for n, value in baselines.items()
        if value is not None
    ]


def _table(run: Run, names: Iterable[str]) -> pd.DataFrame:
    means = {
        name: mean_of(run[f"curve/{name}"]) for name in names if f"curve/{name}" in run.tensors
    }
    return pd.DataFrame({"step": run["curve/step"], **means})

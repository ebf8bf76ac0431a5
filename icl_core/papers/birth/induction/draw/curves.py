"""Curves of a training: accuracy, losses, recall probes and gradients, on one axis of steps; and of
trainings that are compared with it."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import Curve, mean_of
from icl_core.papers.birth.induction.load_run import (
    at_the_thaw,
    half_step,
    other_law,
    step_shown,
    weights_at,
)
from icl_core.papers.birth.induction.settings import View
from icl_core.papers.birth.induction.words import WORDS, measured
from icl_core.papers.birth.shared.draw import GREY
from icl_core.papers.birth.shared.gradient import loss_and_gradient
from icl_core.papers.birth.shared.train import held_out, task_of

FRESH = "#9fb3c8"  # the fresh batch: the trained model, paler
# by the id of a probe: label, colour, dash
PROBES = {
    "W_O2": ("W_O²", "layer 3", None),
    "W_K2": ("W_K²", "layer 2", None),
    "W_K1_early": ("W_K¹ early", "layer 1", None),
    "W_K1": ("W_K¹ all", "layer 1", "dot"),
}
BASELINES = {"repeat": "repeat", "one_layer": "one layer", "best_in_context": "best possible"}
ROWS = (("W_K1_early_rows", "early rows", "solid"), ("W_K1_late_rows", "late rows", "dash"))
TOKENS = 2048  # on which a gradient is taken, in eight sequences or more: all snapshots in .3 s
MATRICES = {
    "W_O2": ("W_O²", "layer 3", None),
    "W_K2": ("W_K²", "layer 2", None),
    "W_K1": ("W_K¹", "layer 1", None),
    "W_F": ("W_F", "layer 4", "dash"),
}
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
    """Draw the in-context accuracy over training, beside what simpler predictors reach (Figure 3,
    top)."""
    figure = over_steps(
        run,
        view,
        _accuracies(run, measured(view), view),
        "in-context accuracy",
        y_range=(0, 1.02),
        lines=_lines(run, view),
        height=figures.SEAT,
    )
    for label in figure.layout["annotations"]:
        label.update(AT_THE_END)
    return WORDS.panel(
        "accuracy",
        run,
        view,
        figures.seated(figure.update_layout(showlegend=False)),
        data=_table(run, ("accuracy", "accuracy_new", "accuracy_uniform", "accuracy_bigram")),
    )


def over_steps(run: Run, view: View, series: list[Curve], y_title: str, **more: Any) -> Figure:
    """Return curves with the snapshot shown marked, if there are snapshots."""
    at = step_shown(run, view) if run.snapshot_steps else None
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
    """Draw the in-context and the global loss over training (Figure 4, left)."""
    x = run["curve/step"]
    series = [
        Curve("in context", x, run["curve/in_context_loss"], "trained"),
        Curve("global", x, run["curve/global_loss"], "layer 4", dash="dash"),
    ]
    return WORDS.panel(
        "losses",
        run,
        view,
        over_steps(run, view, series, "cross-entropy, nats"),
        data=_table(run, ("in_context_loss", "global_loss")),
    )


def memories(run: Run, view: View) -> Panel:
    """Draw the recall of each memory over training, with the step at which it passes one half
    (Figures 3, 5, 6)."""
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
    steps = sorted((step, label) for step, label, _ in reached if "all" not in label)
    return WORDS.panel(
        "memories",
        run,
        view,
        figure,
        data=_table(run, names.values()),
        halves=", then ".join(f"{label} (step {step:.0f})" for step, label in steps),
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


def feed_forward(run: Run, view: View) -> Panel:
    """Draw the KL of W_F alone to the bigram distribution (eq. 10; Figure 4, right)."""
    curve = run["curve/recall_kl_W_F"]
    least = int(np.nanargmin(mean_of(curve))) if np.isfinite(curve).any() else 0
    series = [Curve("W_F", run["curve/step"], curve, "layer 4")]
    return WORDS.panel(
        "feed_forward",
        run,
        view,
        over_steps(run, view, series, "KL(π_b || softmax), nats"),
        data=_table(run, ("recall_kl_W_F",)),
        closest=run["curve/step"][least],
    )


def rows(run: Run, view: View) -> Panel:
    """Draw the recall of W_K1 by early and by late queries, all keys competing."""
    x = run["curve/step"]
    series = [
        Curve(label, x, run[f"curve/recall_{name}"], "layer 1", dash) for name, label, dash in ROWS
    ]
    early, late = (curve.mean() for curve in series)
    window = mean_of(run["curve/recall_W_K1_early"])
    series.append(
        Curve("early keys alone", x, run["curve/recall_W_K1_early"], figures.colour("seed"), "dot")
    )
    return WORDS.panel(
        "rows",
        run,
        view,
        over_steps(run, view, series, "recall", y_range=(0, 1.02)),
        data=pd.DataFrame(
            {"step": x, "early rows": early, "late rows": late, "early keys alone": window}
        ),
        early=_last(early),
        late=_last(late),
    )


def _last(curve: np.ndarray) -> float:
    """Return the last number of a curve that has been measured."""
    known = curve[np.isfinite(curve)]
    return float(known[-1]) if len(known) else np.nan


def opposite(run: Run, view: View) -> Panel:
    """Draw Figure 3, right: W_K2's recall while W_K1 is frozen, W_K1's while W_K2 is, up to the
    thaw."""
    kinds = (
        {"W_K2": "curve", "W_K1": "opposite"}
        if run.config.freeze_W_K1
        else {"W_K2": "opposite", "W_K1": "curve"}
    )
    until = run.config.freeze_until
    probes = (
        ("W_K2", "W_K2", "W_K², W_K¹ frozen", "layer 2", "solid"),
        ("W_K2", "W_K2_weighted", "the same by frequency", "layer 2", "dot"),
        ("W_K1", "W_K1_early", "early W_K¹, W_K² frozen", "layer 1", "solid"),
        ("W_K1", "W_K1", "all of W_K¹", "layer 1", "dot"),
    )
    series = []
    for matrix, name, label, kind, dash in probes:
        shown = run[f"{kinds[matrix]}/step"] <= until
        values = run[f"{kinds[matrix]}/recall_{name}"][:, shown]
        series.append(Curve(label, run[f"{kinds[matrix]}/step"][shown], values, kind, dash))
    second, first = (float(recalls.mean()) for recalls in at_the_thaw(run, "W_K2", "W_K1_early"))
    return WORDS.panel(
        "opposite",
        run,
        view,
        figures.curves(series, "training step", "recall", y_range=(0, 1.02)),
        data=pd.DataFrame(
            {
                "recall": [curve.name for curve in series],
                "last before the thaw": [c.mean()[-1] for c in series],
            }
        ),
        second=second,
        first=first,
    )


def outputs(run: Run, view: View) -> Panel:
    """Draw Figure 4, center: accuracy on outputs of both laws, one of which was trained on."""
    own = run.config.outputs
    x = run["curve/step"]
    other = other_law(own)
    series = [
        Curve(f"{own} outputs, trained on", x, run["curve/accuracy"], "trained"),
        Curve(f"{other} outputs", x, run[f"curve/accuracy_{other}"], "layer 4", "dash"),
    ]
    right, right_on_other = (curve.mean() for curve in series)
    return WORDS.panel(
        "outputs",
        run,
        view,
        over_steps(run, view, series, "in-context accuracy", y_range=(0, 1.02)),
        data=pd.DataFrame({"step": x, own: right, other: right_on_other}),
        other=other,
        right=_last(right),
        right_on_other=_last(right_on_other),
    )


def gradients_panel(run: Run, view: View) -> Panel:
    """Draw the Frobenius norm of every matrix's gradient over training, on held-out sequences."""
    norms = _norms(run)
    steps = np.array(run.snapshot_steps)
    series = [
        Curve(MATRICES[name][0], steps, norm[None], *MATRICES[name][1:])
        for name, norm in norms.items()
    ]
    at = run.step(view)
    figure = figures.curves(series, "training step", "norm of the gradient", at=at, log_y=True)
    first = {name: norm[0] for name, norm in norms.items()}
    most = max(first, key=first.__getitem__)
    least = min(first, key=first.__getitem__)
    ratio = first[most] / first[least]
    return WORDS.panel(
        "gradients",
        run,
        view,
        figure,
        data=pd.DataFrame({"step": steps, **norms}),
        most=MATRICES[most][0],
        least=MATRICES[least][0],
        ratio=ratio,
        large=ratio >= 10,
    )


@lru_cache(maxsize=8)
def _norms(run: Run) -> dict[str, np.ndarray]:
    """Return the norm of every matrix's gradient [snapshots], by matrix."""
    config = run.config
    norms = []
    batch = held_out(task_of(config), max(8, TOKENS // config.T), "cpu")
    for index in range(len(run.snapshot_steps)):
        gradient, _ = loss_and_gradient(
            weights_at(run, index), batch, config.positions, layers=config.layers
        )
        norms.append({name: float(matrix.norm()) for name, matrix in gradient.items()})
    return {name: np.array([each[name] for each in norms]) for name in MATRICES if name in norms[0]}


def _error(run: Run, name: str) -> np.ndarray | None:
    """Return one standard error, for a single seed; several show their spread instead."""
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

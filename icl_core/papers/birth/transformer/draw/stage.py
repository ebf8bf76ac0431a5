"""On stage beside the maps: accuracy, what the heads come to do, which are needed, and what a count
alone tells."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Curve, colour, mean_of
from icl_core.figures.style import axis, layout
from icl_core.papers.birth.shared.behaviour import INDUCTION, PREVIOUS, beyond
from icl_core.papers.birth.transformer.load_run import (
    KINDS,
    Head,
    attends,
    last_heads,
    one_back_in_example,
)
from icl_core.papers.birth.transformer.settings import View
from icl_core.papers.birth.transformer.words import WORDS

FRESH = "#9fb3c8"  # the fresh batch: the trained model, paler
BASELINES = {"repeat": "repeat", "one_layer": "one layer", "best_in_context": "best possible"}
SIDES = {"counting<br>is right": "where_right", "counting<br>is wrong": "where_wrong"}
LEGENDS = {PREVIOUS: "previous", INDUCTION: "followers"}


def step(run: Run, view: View) -> float | None:
    """Return the training step shown, if there are snapshots."""
    return run.step(view) if run.snapshot_steps else None


def accuracy(run: Run, view: View) -> Panel:
    """Draw the in-context accuracy over training, beside what simpler predictors reach."""
    x = run["curve/step"]
    at = step(run, view)
    curve = run["curve/accuracy"]
    error = mean_of(run["curve/accuracy_error"]) if len(curve) == 1 else None
    batch = run["batch/in_context_accuracy"]
    series = [
        Curve("fresh batch", np.arange(batch.shape[1]), batch, FRESH),
        Curve("held-out", x, curve, "trained", error=error),
    ]
    lines = []
    for name, label in BASELINES.items():
        if f"baseline/{name}" in run.tensors:  # one layer is measured last
            lines.append((label, float(run[f"baseline/{name}"][0]), "floor"))
    figure = figures.curves(
        series,
        "training step",
        "in-context accuracy",
        y_range=(0, 1.02),
        lines=lines,
        at=at,
        height=figures.SEAT,
    )
    for label in figure.layout["annotations"]:  # where the curve is far above
        label.update(x=0.99, xanchor="right", bgcolor="rgba(0,0,0,0)")
    data = pd.DataFrame({"step": x, "accuracy": mean_of(curve)})
    seated = figures.seated(figure.update_layout(showlegend=False))
    return WORDS.panel("accuracy", run, view, seated, data=data)


def doing(run: Run, view: View) -> Panel:
    """Draw what each head of the seed shown comes to do: how much of its attention is on it, over
    the training."""
    series = [_doing(run, index, head) for index, head in enumerate(last_heads(run))]
    figure = figures.curves(
        series,
        "training step",
        "share of attention",
        y_range=(0, 1.02),
        at=step(run, view),
        height=figures.SEAT,
    )
    legend_names = set()
    for trace in figure.data:
        name = trace.get("name")
        is_first = name in LEGENDS.values() and name not in legend_names
        trace.update(showlegend=bool(trace.get("showlegend", True)) and is_first)
        if trace["showlegend"]:
            legend_names.add(name)
    table = [
        pd.Series(curve.mean(), curve.x, name=head.name)
        for curve, head in zip(series, last_heads(run), strict=True)
    ]
    data = pd.concat(table, axis=1).rename_axis("step").reset_index()
    return WORDS.panel("doing", run, view, figures.seated(figure), data=data)


def _doing(run: Run, index: int, head: Head) -> Curve:
    """Return one head's attention on what it comes to look at.

    Where the next layer reads is known at snapshots. As long as a run has but one, while it trains,
    the attention on the previous character is the mean over all positions, at every evaluation.
    """
    # all, once the training has ended
    evaluations = run["curve/step"][: len(run["heads/previous"])]
    followers = _beyond(run, index)
    steps = np.array(run.snapshot_steps)
    previous = one_back_in_example(run).attention[:, index]
    if len(steps) < 2 or np.isnan(previous).any():  # in the last layer, which no layer reads
        steps = evaluations
        previous = run["heads/previous"][:, index]
    label = LEGENDS.get(head.role, "neither")
    kind = KINDS.get(head.role, colour("seed"))
    if head.role == PREVIOUS:
        return Curve(label, steps, previous, kind)
    if head.role == INDUCTION:
        return Curve(label, evaluations, followers, kind)
    larger = np.maximum(np.interp(evaluations, steps, previous), followers)
    return Curve(label, evaluations, larger, kind)


def _beyond(run: Run, index: int) -> np.ndarray:
    """Return how far one head's attention on followers is beyond a uniform one's, [evaluations]."""
    masses = run["heads/triggers"][:, index].tolist()
    even = run["heads/triggers_even"][:, index].tolist()
    return np.array(list(map(beyond, masses, even)))


def needed(run: Run, view: View) -> Panel:
    """Draw the accuracy with each head alone replaced by its mean output, after the training."""
    heads = last_heads(run)
    effect = run["effect/mean"]  # (1 + heads, measures): as it is, then without each head
    whole = float(effect[0, 0])
    accuracies = effect[1:, 0].tolist()
    kinds = [KINDS.get(head.role, colour("seed")) for head in heads]
    figure = figures.bars(
        [head.name for head in heads],
        accuracies,
        "in-context accuracy",
        errors=effect[1:, 1].tolist(),
        kinds=kinds,
        y_range=(0, 1.05),
        lines=[("all heads", whole, "trained")],
        text="value" if len(heads) < 5 else "none",
        height=figures.SEAT,
    )
    return WORDS.panel(
        "needed",
        run,
        view,
        figures.seated(figure),
        data=pd.DataFrame({"head": [head.name for head in heads], "accuracy": accuracies}),
        head=heads[int(np.argmin(accuracies))].name,
        left=min(accuracies),
    )


def counting(run: Run, view: View) -> Panel:
    """Draw how often the models are right where naming the character that comes up more often than
    usual is right, and where it is not."""
    alone, model = attends(run)
    models = {"one layer": ("layer 4", alone)} if alone else {}
    models["this model" if alone else "one layer"] = ("trained", model)
    figure = Figure(layout=layout(figures.SEAT, barmode="group", bargap=0.3))
    rows = {}
    for name, (kind, measures) in models.items():
        values = [measures[side] for side in SIDES.values()]
        rows[name] = values
        texts = [f"{value:.0%}" for value in values]
        bar = Trace(
            "bar", x=list(SIDES), y=values, name=name, marker={"color": colour(kind)}, text=texts
        )
        figure.add_trace(
            bar.update(hovertemplate="%{y:.3g}", textposition="outside", cliponaxis=False)
        )
    figure.update_yaxes(axis("in-context accuracy", range=[0, 1.1])).update_xaxes(
        axis(showgrid=False)
    )
    return WORDS.panel("counting", run, view, figures.seated(figure), data=pd.DataFrame(rows))

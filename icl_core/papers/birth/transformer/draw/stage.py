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
    heads_shown,
    last_heads,
    one_back_in_example,
)
from icl_core.papers.birth.transformer.settings import View

FRESH = "#9fb3c8"  # the fresh batch: the trained model, paler
BASELINES = {"repeat": "repeat", "one_layer": "one layer", "best_in_context": "best possible"}
SIDES = {"counting is right": "where_right", "counting is wrong": "where_wrong"}
LEGENDS = {PREVIOUS: "previous", INDUCTION: "followers"}


def step(run: Run, view: View) -> float | None:
    """Return the training step shown, if there are snapshots."""
    return run.step(view) if run.snapshot_steps else None


def accuracy_at(run: Run, at: float, name: str = "accuracy") -> float:
    """Return the mean over seeds of a curve at a training step, which may lie between two
    evaluations."""
    return float(np.interp(at, run["curve/step"], mean_of(run[f"curve/{name}"])))


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
    return Panel(
        f"{accuracy_at(run, at):.0%} are right in context"
        if run.finished and at is not None
        else "Right in context",
        "How often the likeliest next character is the one that only the context tells, on "
        "held-out sequences; the pale line is the batch just trained on. The dotted lines are "
        "repeating the character just read, a single layer that AdamW has trained on the same "
        "task, and the best predictor, which knows how sequences are drawn and infers their "
        "triggers. Without an induction head the curve stays near the lower ones.",
        figures.seated(figure.update_layout(showlegend=False)),
        data=pd.DataFrame({"step": x, "accuracy": mean_of(curve)}),
    )


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
    return Panel(
        _doing_title(run, view),
        "A line for every head of one seed. Heads that come to find the previous character show "
        "their attention on it at the positions where the next layer reads, in the sequence of the "
        "maps. Heads that come to find what followed a trigger show their attention on that, "
        "beyond what even attention has, over many sequences. Of the others you see the larger of "
        "the two, paler. A head that learns nothing stays low. After the training the title, like "
        "the labels of the maps, counts many sequences for both, so that it may differ from where "
        "the curves end.",
        figures.seated(figure),
        data=pd.concat(table, axis=1).rename_axis("step").reset_index(),
    )


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


def _doing_title(run: Run, view: View) -> str:
    if not run.snapshot_steps:
        return "What the heads do"
    heads = heads_shown(run, run.snapshot_at(view))
    previous = max(head.previous for head in heads)
    followers = max(0.0, *(head.found for head in heads))  # fewer than by chance: none
    return f"Heads reach {previous:.0%} previous, {followers:.0%} followers"


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
    worst = heads[int(np.argmin(accuracies))]
    return Panel(
        f"Without head {worst.name}, {min(accuracies):.0%} are right, not {whole:.0%}",
        "After the training, one head at a time is replaced by its mean output, which keeps what "
        "it always says and takes away what it says of this sequence. The bar is the accuracy "
        "that is left, with one standard error; the colours are those of what the heads do. A "
        "head that is not needed leaves the bar at the line.",
        figures.seated(figure),
        data=pd.DataFrame({"head": [head.name for head in heads], "accuracy": accuracies}),
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
    single = alone or model
    return Panel(
        f"Where counting fails, one layer gets {single['where_wrong']:.0%}",
        "A trigger's output comes whenever its trigger does. So a guess can do without order: "
        "name the character that has come up most beyond its usual frequency. It is right "
        f"{single['guess']:.0%} of the time. The bars show how often the models are right where "
        "this guess is, and where it is not, after the training. Without a head that finds the "
        "previous character the bar on the right stays low.",
        figures.seated(figure),
        data=pd.DataFrame(rows),
    )


def attends(run: Run) -> tuple[dict[str, float] | None, dict[str, float]]:
    """Return `attends/values` by name: of the single layer beside the model, None if there is none,
    and of the model."""
    names = run.names("attends")
    model = dict(zip(names, run["attends/values"].tolist(), strict=True))
    alone = run.tensors.get("one_layer/attends")
    if alone is None:
        return None, model
    return dict(zip(names, alone.tolist(), strict=True)), model

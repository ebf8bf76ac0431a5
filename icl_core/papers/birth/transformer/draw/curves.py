"""The curves that have no place on the stage: losses, triggers against others, how far layer 1
reaches; one layer."""

import math

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve, colour, mean_of
from icl_core.papers.birth.shared.behaviour import INDUCTION
from icl_core.papers.birth.transformer.draw.stage import attends, step
from icl_core.papers.birth.transformer.load_run import (
    KINDS,
    Head,
    last_heads,
    of_role,
    one_back_in_example,
)
from icl_core.papers.birth.transformer.settings import View


def losses(run: Run, view: View) -> Panel:
    """Draw the in-context and the global loss over training (Figure 10, left)."""
    x = run["curve/step"]
    series = [
        Curve("in context", x, run["curve/in_context_loss"], "trained"),
        Curve("global", x, run["curve/global_loss"], "layer 4", dash="dash"),
    ]
    mean = mean_of(run["curve/in_context_loss"])
    return Panel(
        f"In-context loss falls from {mean[0]:.2f} to {mean[-1]:.2f} nats"
        if run.finished
        else "Losses so far",
        "In-context loss: where only the context tells the next character. Global loss: where "
        "bigrams do, that is, which character often follows which. Which of them falls first? In "
        "a model that never looks back only the global loss comes down far.",
        figures.curves(series, "training step", "cross-entropy, nats", at=step(run, view)),
        data=pd.DataFrame({"step": x} | {curve.name: curve.mean() for curve in series}),
    )


def groups(run: Run, view: View) -> Panel:
    """Draw, of the head that finds most, the attention on followers at triggers against other
    characters that come again."""
    head = _finder(run)
    at = run.names("heads").index(head.name)
    x = run["curve/step"]
    series = [
        Curve("at triggers", x, run["heads/triggers"][:, at], "layer 2"),
        Curve("even", x, run["heads/triggers_even"][:, at], "layer 2", "dot"),
        Curve("at others", x, run["heads/others"][:, at], "layer 4"),
        Curve("others, even", x, run["heads/others_even"][:, at], "layer 4", "dot"),
    ]
    return Panel(
        f"Head {head.name} finds what followed triggers ({head.triggers:.0%}) and others "
        f"({head.others:.0%})",
        "Attention on what followed the character just read earlier in the sequence: at "
        "triggers, and at characters that come again and are none. With fixed triggers, a head "
        "can know them and be active there alone; with random ones any character may be a "
        "trigger. Dotted: attention spread evenly.",
        figures.curves(
            series,
            "training step",
            "attention on what followed",
            y_range=(0, 1.02),
            at=step(run, view),
        ),
        data=pd.DataFrame({"step": x} | {curve.name: curve.mean() for curve in series}),
    )


def _finder(run: Run) -> Head:
    """Return the head that finds most of what followed triggers."""
    heads = last_heads(run)
    return max(of_role(heads, INDUCTION) or heads, key=lambda head: head.found)


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
    return Panel(
        f"Where it is read, head {best.name} looks most at the previous character in "
        f"{best.strongest:.0%} of cases",
        "The probe that the authors' code logs. Take a query whose answer only the context tells, "
        "and the position where the next layer looks most: is a head's strongest look from there "
        "at the character before? The title counts many sequences after the training, the curves "
        "the few such queries in the sequence of the maps. Heads that the next layer does not need "
        "stay low.",
        figures.curves(
            series,
            "training step",
            "strongest look is at the previous character",
            y_range=(0, 1.02),
            at=step(run, view),
        ),
        data=pd.DataFrame({"step": steps} | {curve.name: curve.mean() for curve in series}),
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
    early = masses[best, 1:17].mean()
    late = masses[best, -16:].mean()
    return Panel(
        f"Head {head.name} puts {early:.0%} of its attention on the previous character early, "
        f"{late:.0%} late",
        "After the training: the attention on the previous character by the position that it is "
        "asked at, the mean over held-out sequences; early and late are the first and the last "
        "16. A head that had stored all positions alike would draw a level line; one that spreads "
        "evenly falls as 1/t.",
        figures.curves(
            series, "position", "attention on the previous character", y_range=(0, 1.02)
        ),
        data=pd.DataFrame({"position": x} | {curve.name: curve.mean() for curve in series}),
    )


def one_layer(run: Run, view: View) -> Panel:
    """Tabulate what a single layer attends to and predicts, beside this model."""
    alone, model = attends(run)
    head = _finder(run)
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
    beside = "" if alone is None else " The layer beside the model is trained with AdamW."
    single = model if alone is None else alone
    return Panel(
        f"One layer just counts: {single['where_right']:.0%} right where counting is right, "
        f"{single['where_wrong']:.0%} where it is not",
        "A single layer sees which characters came, and no copy that tells what came before them. "
        "Its attention is spread almost evenly, which counts characters. Naming the one that has "
        f"come up most beyond its usual frequency is right {single['guess']:.0%} of the time; "
        f"where it is wrong, one layer has little to go by.{beside}",
        table=pd.DataFrame(rows, columns=columns).round(3).dropna(axis=1, how="all"),
    )


def _alone(run: Run, name: str) -> float:
    """Return a measure of the single layer beside the model; NaN if there is none."""
    values = run.tensors.get(f"one_layer/{name}")
    return float("nan") if values is None else float(values[0])


def _both(
    alone: dict[str, float] | None, model: dict[str, float], name: str
) -> tuple[float, float]:
    """Return a measure of the single layer, NaN if there is none, and of the model."""
    return (float("nan") if alone is None else alone[name]), model[name]

"""Accuracy, recall and global loss of the construction against its width."""

import math
from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import Curve, mean_of
from icl_core.papers.birth.constructed.metrics import at_d
from icl_core.papers.birth.constructed.settings import TALK, View
from icl_core.papers.birth.shared.draw import GREY, KINDS, NAMES

SHOWN = ("kept", "stream")
# by the id of what was done about cross-talk: the bar's label, colour, dash
STYLE = {
    "kept": ("constructed", "construction", "solid"),
    "within": ("exact pairs", "layer 4", "dash"),
    "stream": ("all cleaned", "layer 2", "solid"),
}


def accuracy(run: Run, view: View) -> Panel:
    """In-context accuracy against width, with and without cross-talk."""
    series = [_against_width(run, talk) for talk in run.names("cross_talk")]
    lines = [(f"trained, d = {run.config.d}", value, "trained") for value in trained(run)]
    return Panel(
        _accuracy_title(run),
        "Eqs. 7 and 8 work where random vectors are nearly orthogonal, that is, at large d. At "
        "smaller d every answer picks up other vectors of the stream. Clean the memories of this "
        "cross-talk, and they work.",
        over_widths(run, series, "in-context accuracy", lines=lines),
        data=_table(run, ("accuracy", "error")),
    )


def trained(run: Run) -> list[float]:
    """Return the accuracy of the models trained at width d, if there are any."""
    return [float(run["beside/accuracy"].mean())] if "beside/accuracy" in run.tensors else []


def _against_width(run: Run, talk: str) -> Curve:
    _, kind, dash = style(talk)
    return against_width(run, "accuracy", talk, TALK.get(talk, talk), kind, dash)


def against_width(
    run: Run, measure: str, talk: str, label: str, kind: str, dash: str | None = None
) -> Curve:
    """Return a measure of the sweep, its spread over embeddings or, of one, the standard error of
    its accuracy as its band."""
    values = run[f"sweep/{measure}_{talk}"]
    error = run[f"sweep/error_{talk}"][0] if len(values) == 1 and measure == "accuracy" else None
    return Curve(label, run["sweep/width"], values, kind, dash, error=error, markers=True)


def style(talk: str) -> tuple[str, str, str]:
    """Return a construction's label, colour and dash; its id in grey if it is none of today's."""
    return STYLE.get(talk, (talk, GREY, "solid"))


def over_widths(run: Run, series: list[Curve], y_title: str, **more: Any) -> Figure:
    """Curves with every width tried written on the axis: powers of ten would say little."""
    figure = figures.curves(
        series, "width d", y_title, log_x=True, **{"y_range": (0, 1.02), **more}
    )
    return figure.update_xaxes(
        tickvals=run["sweep/width"], ticktext=[str(width) for width in run["sweep/width"]]
    )


def _accuracy_title(run: Run) -> str:
    if not run.finished:
        return "Accuracy against width, so far"
    kept, clean = (float(at_d(run, f"accuracy_{talk}").mean()) for talk in ("kept", "stream"))
    return (
        f"At d = {run.config.d} the construction is right {kept:.0%} of the time, {clean:.0%} if "
        "cleaned"
    )


def recall(run: Run, view: View) -> Panel:
    """Recall of the constructed memories against width."""
    names = run.names("memories")
    talk = view.cross_talk
    series = [
        against_width(run, f"recall_{name}", talk, NAMES.get(name, name), KINDS.get(name, GREY))
        for name in names
    ]
    least = np.min([mean_of(run[f"sweep/recall_{name}_{talk}"]) for name in names], axis=0)
    right = mean_of(run[f"sweep/accuracy_{talk}"])
    perfect, works = (run["sweep/width"][values >= 0.95] for values in (least, right))
    return Panel(
        f"The pairs are right {_width(perfect)}, the model {_width(works)}",
        "Recall is the share of its pairs that a memory gets right when it is given one clean "
        "vector, so it sees only the cross-talk among stored pairs. The model gives it sums of "
        "several vectors and needs more width.",
        over_widths(run, series, "recall"),
        data=_table(run, tuple(f"recall_{name}" for name in names)),
    )


def global_loss(run: Run, view: View) -> Panel:
    """Global loss against width, beside a uniform guess and the bigrams themselves."""
    series = [
        against_width(run, "global_loss", talk, TALK.get(talk, talk), *style(talk)[1:])
        for talk in SHOWN
    ]
    bigrams = float(run["baseline/bigrams_loss"][0])
    loss = float(at_d(run, "global_loss_kept").mean())
    guess = math.log(run.config.N)
    lines = [("uniform guess", guess, "floor"), ("the bigrams", bigrams, "floor")]
    top = 1.2 * max(guess, *(float(np.nanmax(curve.mean())) for curve in series))
    figure = over_widths(
        run, series, "global loss, nats", lines=lines, log_y=True, y_range=(0.8 * bigrams, top)
    )
    side = "above" if loss > guess else "below"
    return Panel(
        f"At d = {run.config.d} the global loss is {loss:.1f} nats, {side} a uniform guess's "
        f"{guess:.1f}",
        "The loss where no trigger stands and the bigrams should tell. What makes W_O² loud "
        "enough to win after triggers also speaks where there is none. A construction with both "
        "kinds of knowledge would reach the lower line while its accuracy is high.",
        figure,
        data=_table(run, ("accuracy", "global_loss")),
    )


def _width(widths: np.ndarray) -> str:
    return f"from d = {widths[0]} on" if len(widths) else "at no width tried"


def _table(run: Run, measures: tuple[str, ...]) -> pd.DataFrame:
    columns = {
        f"{m}, {talk}": mean_of(run[f"sweep/{m}_{talk}"])
        for m in measures
        for talk in run.names("cross_talk")
    }
    return pd.DataFrame({"d": run["sweep/width"], **columns})

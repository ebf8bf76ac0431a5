"""Accuracy, recall and global loss of the construction against its width."""

import math
from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import Curve, mean_of
from icl_core.papers.birth.constructed.evaluation import at_d, trained_accuracy
from icl_core.papers.birth.constructed.settings import TALK, View
from icl_core.papers.birth.constructed.words import WORDS
from icl_core.papers.birth.shared.draw import GREY, KINDS, NAMES

SHOWN = ("kept", "stream")
# by the id of what was done about cross-talk: the bar's label, colour, dash
STYLE = {
    "kept": ("constructed", "construction", "solid"),
    "within": ("exact pairs", "layer 4", "dash"),
    "stream": ("all cleaned", "layer 2", "solid"),
}


def accuracy(run: Run, view: View) -> Panel:
    """Draw in-context accuracy against width, with and without cross-talk."""
    series = [_against_width(run, talk) for talk in run.names("cross_talk")]
    trained = trained_accuracy(run)
    lines = [] if trained is None else [(f"trained, d = {run.config.d}", trained, "trained")]
    return WORDS.panel(
        "accuracy",
        run,
        view,
        over_widths(run, series, "in-context accuracy", lines=lines),
        data=_table(run, ("accuracy", "error")),
    )


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
    """Return curves with every width tried written on the axis: powers of ten would say little."""
    figure = figures.curves(
        series, "width d", y_title, log_x=True, **{"y_range": (0, 1.02), **more}
    )
    return figure.update_xaxes(
        tickvals=run["sweep/width"], ticktext=[str(width) for width in run["sweep/width"]]
    )


def recall(run: Run, view: View) -> Panel:
    """Draw the recall of the constructed memories against width."""
    names = run.names("memories")
    talk = view.cross_talk
    series = [
        against_width(run, f"recall_{name}", talk, NAMES.get(name, name), KINDS.get(name, GREY))
        for name in names
    ]
    least = np.min([mean_of(run[f"sweep/recall_{name}_{talk}"]) for name in names], axis=0)
    right = mean_of(run[f"sweep/accuracy_{talk}"])
    perfect, works = (run["sweep/width"][values >= 0.95] for values in (least, right))
    return WORDS.panel(
        "recall",
        run,
        view,
        over_widths(run, series, "recall"),
        data=_table(run, tuple(f"recall_{name}" for name in names)),
        pairs_from=perfect[0] if len(perfect) else 0,
        model_from=works[0] if len(works) else 0,
    )


def global_loss(run: Run, view: View) -> Panel:
    """Draw the global loss against width, beside a uniform guess and the bigrams themselves."""
    series = [
        against_width(run, "global_loss", talk, TALK.get(talk, talk), *style(talk)[1:])
        for talk in SHOWN
    ]
    bigrams = float(run["baseline/bigrams_loss"][0])
    guess = math.log(run.config.N)
    lines = [("uniform guess", guess, "floor"), ("the bigrams", bigrams, "floor")]
    top = 1.2 * max(guess, *(float(np.nanmax(curve.mean())) for curve in series))
    figure = over_widths(
        run, series, "global loss, nats", lines=lines, log_y=True, y_range=(0.8 * bigrams, top)
    )
    return WORDS.panel(
        "global_loss",
        run,
        view,
        figure,
        data=_table(run, ("accuracy", "global_loss")),
        guess=guess,
        above=float(at_d(run, "global_loss_kept").mean()) > guess,
    )


def _table(run: Run, measures: tuple[str, ...]) -> pd.DataFrame:
    columns = {
        f"{m}, {talk}": mean_of(run[f"sweep/{m}_{talk}"])
        for m in measures
        for talk in run.names("cross_talk")
    }
    return pd.DataFrame({"d": run["sweep/width"], **columns})

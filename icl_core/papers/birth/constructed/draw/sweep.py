"""Accuracy and recall of the construction against its width."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.experiment import Panel, Run
from icl_core.figure import Figure
from icl_core.figures import Curve
from icl_core.papers.birth.constructed.metrics import at_d
from icl_core.papers.birth.constructed.settings import TALK, View
from icl_core.papers.birth.shared.draw import GREY, KINDS, NAMES

# by the id of what was done about cross-talk: the bar's label, colour, dash
STYLE = {
    "kept": ("constructed", "construction", "solid"),
    "within": ("without cross-talk of pairs", "layer 4", "dash"),
    "stream": ("without cross-talk of stream", "layer 2", "solid"),
}


def accuracy(run: Run, view: View) -> Panel:
    """In-context accuracy against width, with and without cross-talk."""
    series = [_against_width(run, talk) for talk in run.names("cross_talk")]
    trained = run.tensors.get("beside/accuracy", ())
    lines = [(f"trained, d = {run.config.d}", float(value), "trained") for value in trained]
    return Panel(
        _accuracy_title(run),
        "Eqs. 7 and 8 work where random vectors are nearly orthogonal, that is, at large d. At smaller d every reading "
        "picks up the other vectors of the stream; take that cross-talk away and the same memories work.",
        over_widths(run, series, "in-context accuracy", lines=lines),
        data=_table(run, ("accuracy", "error")),
    )


def _against_width(run: Run, talk: str) -> Curve:
    values, errors = run[f"sweep/accuracy_{talk}"], run[f"sweep/error_{talk}"]
    _, kind, dash = style(talk)
    return Curve(TALK.get(talk, talk), run["sweep/width"], values, kind, dash, error=errors, markers=True)


def style(talk: str) -> tuple[str, str, str]:
    """A construction's label, colour and dash; its id in grey if it is none of today's."""
    return STYLE.get(talk, (talk, GREY, "solid"))


def over_widths(run: Run, series: list[Curve], y_title: str, **more: Any) -> Figure:
    """Curves with every width tried written on the axis: powers of ten would say little."""
    figure = figures.curves(series, "width d", y_title, log_x=True, y_range=(0, 1.02), **more)
    return figure.update_xaxes(tickvals=run["sweep/width"], ticktext=[str(width) for width in run["sweep/width"]])


def _accuracy_title(run: Run) -> str:
    if not run.finished:
        return "Accuracy against width, so far"
    kept, clean = (at_d(run, f"accuracy_{talk}") for talk in ("kept", "stream"))
    return f"At d = {run.config.d} the construction is right {kept:.0%} of the time, {clean:.0%} without cross-talk"


def recall(run: Run, view: View) -> Panel:
    """Recall of the constructed memories against width."""
    names, talk = run.names("memories"), view.cross_talk
    series = [
        Curve(NAMES.get(n, n), run["sweep/width"], run[f"sweep/recall_{n}_{talk}"], KINDS.get(n, GREY), markers=True)
        for n in names
    ]
    least = np.min([run[f"sweep/recall_{name}_{talk}"] for name in names], axis=0)
    perfect, works = (run["sweep/width"][values >= 0.95] for values in (least, run[f"sweep/accuracy_{talk}"]))
    return Panel(
        f"Pairs are recalled from {_width(perfect)} on, the model is right from {_width(works)} on",
        "Recall asks one memory with one clean vector, so it sees only the cross-talk among stored pairs. Compare the "
        "width at which it reaches 1 with the width at which accuracy does: the model reads sums of several vectors.",
        over_widths(run, series, "recall"),
        data=_table(run, tuple(f"recall_{name}" for name in names)),
    )


def _width(widths: np.ndarray) -> str:
    return f"d = {widths[0]}" if len(widths) else "no width tried"


def _table(run: Run, measures: tuple[str, ...]) -> pd.DataFrame:
    columns = {f"{m}, {talk}": run[f"sweep/{m}_{talk}"] for m in measures for talk in run.names("cross_talk")}
    return pd.DataFrame({"d": run["sweep/width"], **columns})

"""Accuracy, recall and global loss of the construction against its width; and beside a trained
model of one width, whose cross-talk the gap is, and what the errors are."""

import math
from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.contract.statistics import standard_error
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


COMPARED = ("accuracy", "talk_W_O2", "talk_W_K2")
ERRORS = {
    "first": "the trigger is the sequence's first character",
    "attention": "layer 2 looks elsewhere",
    "output": "layer 2 looks at the right place, another output wins",
}
# by the id of what W_F reads: the bar's label
READ = {
    "stream": "everything, as it does",
    "before_output": "everything but what W_O² writes",
    "token": "the current character alone",
}


def gap_panel(run: Run, view: View) -> Panel:
    """Draw the accuracy constructed, with one matrix cleaned, with all of them, and trained, at one
    width; and return how much cross-talk each has."""
    table = _compared(run)
    labels, kinds, values, errors = (
        list(table[column]) for column in ("model", "kind", "accuracy", "error")
    )
    figure = figures.bars(
        labels, values, "in-context accuracy", errors=errors, kinds=kinds, y_range=(0, 1.05)
    )
    return WORDS.panel(
        "gap", run, view, figure, data=table.drop(columns="kind"), talks=_talks(table)
    )


def _compared(run: Run) -> pd.DataFrame:
    """Return a row a model: its label, colour, and what was measured of it."""
    ways = run.names("cross_talk")
    rows = [_row(ways[0], {name: at_d(run, f"{name}_{ways[0]}") for name in (*COMPARED, "error")})]
    for name in run.names("memories"):
        rows.append(
            _row(
                None,
                {"accuracy": run[f"alone/accuracy_{name}"]},
                f"{NAMES.get(name, name)} cleaned alone",
            )
        )
        rows[-1]["kind"] = KINDS.get(name, GREY)
    rows += [
        _row(way, {name: at_d(run, f"{name}_{way}") for name in (*COMPARED, "error")})
        for way in ways[1:]
    ]
    if "beside/accuracy" in run.tensors:
        measures = {name: run[f"beside/{name}"] for name in (*COMPARED, "error")}
        rows.append(
            {**_row(None, measures, f"trained, {run.config.beside} steps"), "kind": "trained"}
        )
    return pd.DataFrame(rows)


def _row(way: str | None, measures: dict[str, np.ndarray], label: str = "") -> dict[str, Any]:
    """Return means over embeddings; the error is theirs, or of one of them that of its
    evaluation."""
    row: dict[str, Any] = {"model": label, "kind": GREY}
    if way is not None:
        row["model"], row["kind"], _ = style(way)
    single = float(measures["error"][0]) if "error" in measures else np.nan
    error = standard_error(measures["accuracy"])
    means = {name: float(values.mean()) for name, values in measures.items() if name != "error"}
    return {**row, **means, "error": single if error is None else error}


def _talks(table: pd.DataFrame) -> str:
    """Return the cross-talk of every model in W_O2 and in W_K2, where it was measured."""
    known = table.dropna(subset=["talk_W_O2"])
    columns = zip(known["model"], known["talk_W_O2"], known["talk_W_K2"], strict=True)
    return "; ".join(f"{model} {output:.2f} and {match:.2f}" for model, output, match in columns)


def errors(run: Run, view: View) -> Panel:
    """Draw what the construction's errors are."""
    kinds = [ERRORS.get(name, name) for name in run.names("errors")]
    values = [float(run[f"errors/{name}"].mean()) for name in run.names("errors")]
    figure = figures.bars(
        kinds, values, "share of in-context positions", kinds=["construction"] * len(kinds)
    )
    return WORDS.panel(
        "errors",
        run,
        view,
        figure,
        data=pd.DataFrame({"kind": kinds, "share": values}),
        wrong=sum(values),
        most=kinds[int(np.argmax(values))],
    )


def reads(run: Run, view: View) -> Panel:
    """Draw in-context accuracy, and global loss, by which part of the stream W_F reads."""
    names = run.names("reads")
    accuracies = [run[f"reads/accuracy_{name}"] for name in names]
    losses = [run[f"reads/global_loss_{name}"] for name in names]
    errors = [standard_error(values) or np.nan for values in accuracies]
    values = [float(of_embeddings.mean()) for of_embeddings in accuracies]
    nats = [float(of_embeddings.mean()) for of_embeddings in losses]
    labels = [
        f"{READ.get(name, name)}: {loss:.1f} nats" for name, loss in zip(names, nats, strict=True)
    ]
    kinds = ["construction", *["layer 4"] * (len(names) - 1)]
    figure = figures.bars(
        labels, values, "in-context accuracy", errors=errors, kinds=kinds, y_range=(0, 1.05)
    )
    return WORDS.panel(
        "reads",
        run,
        view,
        figure,
        data=pd.DataFrame({"W_F reads": names, "accuracy": values, "global loss": nats}),
        right_as_it_is=values[0],
        right_before_output=values[1],
        stays=max(values) - values[0] < 0.02,
    )

"""The construction beside a trained model of one width: whose cross-talk the gap is, and what the
errors are."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.statistics import standard_error
from icl_core.papers.birth.constructed.draw.sweep import style
from icl_core.papers.birth.constructed.evaluation import at_d
from icl_core.papers.birth.constructed.settings import View
from icl_core.papers.birth.constructed.words import WORDS
from icl_core.papers.birth.shared.draw import GREY, KINDS, NAMES

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

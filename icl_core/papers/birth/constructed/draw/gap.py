"""The construction beside a trained model of one width, and what the construction's errors are."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.experiment import Panel, Run
from icl_core.papers.birth.constructed.draw.sweep import style
from icl_core.papers.birth.constructed.metrics import at_d
from icl_core.papers.birth.constructed.settings import View

COMPARED = ("accuracy", "error", "talk_W_O2", "talk_W_K2")
ERRORS = {
    "first": "the query is the sequence's first character",
    "attention": "layer 2 looks elsewhere",
    "output": "layer 2 looks right, another output wins",
}


def gap(run: Run, view: View) -> Panel:
    """Constructed, without cross-talk, and trained at one width; and how much cross-talk each has."""
    table = _compared(run)
    model, kinds, values, errors = (list(table[column]) for column in ("model", "kind", "accuracy", "error"))
    figure = figures.bars(model, values, "in-context accuracy", errors=errors, kinds=kinds, y_range=(0, 1.05))
    return Panel(
        _gap_title(run),
        "The constructions recall every pair. What disturbs them is the rest of the residual stream: "
        "take that out and the bar rises, take out only what stored pairs do to each other and it does not. Training "
        "gets there by other means too: compare the cross-talk below.",
        figure,
        note=_talk(table),
        data=table.drop(columns="kind"),
    )


def _compared(run: Run) -> pd.DataFrame:
    """A row a model: its label, colour, and what was measured of it."""
    rows = []
    for talk in run.names("cross_talk"):
        label, kind, _ = style(talk)
        rows.append({"model": label, "kind": kind, **{m: at_d(run, f"{m}_{talk}") for m in COMPARED}})
    if "beside/accuracy" in run.tensors:
        trained = {m: float(run[f"beside/{m}"][0]) for m in COMPARED}
        rows.append({"model": f"trained, {run.config.beside} steps", "kind": "trained", **trained})
    return pd.DataFrame(rows)


def _talk(table: pd.DataFrame) -> str:
    columns = zip(table["model"], table["talk_W_O2"], table["talk_W_K2"], strict=True)
    shares = [f"{model} {output:.2f} and {match:.2f}" for model, output, match in columns]
    return "Cross-talk in W_O² and W_K², as a share of a match: " + "; ".join(shares) + "."


def _gap_title(run: Run) -> str:
    kept, clean = (at_d(run, f"accuracy_{talk}") for talk in ("kept", "stream"))
    if "beside/accuracy" not in run.tensors:
        return f"Removing cross-talk takes accuracy from {kept:.2f} to {clean:.2f}"
    trained = float(run["beside/accuracy"][0])
    if trained - kept < 0.02:
        return f"At this width nothing is left to close: trained {trained:.2f}, constructed {kept:.2f}"
    return f"Removing cross-talk closes {(clean - kept) / (trained - kept):.0%} of the gap to the trained model"


def errors(run: Run, view: View) -> Panel:
    """What the construction's errors are."""
    kinds = [ERRORS.get(name, name) for name in run.names("errors")]
    values = [float(run[f"errors/{name}"][0]) for name in run.names("errors")]
    figure = figures.bars(kinds, values, "share of in-context positions", kinds=["construction"] * len(kinds))
    most = kinds[int(np.argmax(values))]
    return Panel(
        f"Of {sum(values):.1%} errors at d = {run.config.d}, most are where {most}",
        "Position 1 has no previous position, so layer 1 lets it attend to itself; it then looks like a character that "
        "follows itself: at large d that is the only error left. The other two are cross-talk.",
        figure,
        data=pd.DataFrame({"kind": kinds, "share": values}),
    )

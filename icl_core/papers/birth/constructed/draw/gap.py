"""The construction beside a trained model of one width: whose cross-talk the gap is, and what the
errors are."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.papers.birth.constructed.draw.sweep import style
from icl_core.papers.birth.constructed.metrics import at_d, shares_closed
from icl_core.papers.birth.constructed.settings import View
from icl_core.papers.birth.shared.draw import GREY, KINDS, NAMES
from icl_core.statistics.over_seeds import standard_error

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
    """Constructed, one matrix cleaned, all of them, and trained, at one width; and how much
    cross-talk each has."""
    table = _compared(run)
    labels, kinds, values, errors = (
        list(table[column]) for column in ("model", "kind", "accuracy", "error")
    )
    figure = figures.bars(
        labels, values, "in-context accuracy", errors=errors, kinds=kinds, y_range=(0, 1.05)
    )
    return Panel(
        _gap_title(run),
        "The rest of the residual stream, the sum of vectors that a position carries, disturbs the "
        "construction. A cleaned matrix stores the "
        "same pairs with as little of this cross-talk as possible. Clean all of them, and the bar "
        "should come near the trained model's; clean one, and you see its share of the gap. Exact "
        "pairs are no help. The bars carry one standard "
        f"error{' over embeddings' * (run.config.seeds > 1)}.",
        figure,
        note=_talk(table),
        data=table.drop(columns="kind"),
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
    """Means over embeddings; the error is theirs, or of one of them that of its evaluation."""
    row: dict[str, Any] = {"model": label, "kind": GREY}
    if way is not None:
        row["model"], row["kind"], _ = style(way)
    single = float(measures["error"][0]) if "error" in measures else np.nan
    error = standard_error(measures["accuracy"])
    means = {name: float(values.mean()) for name, values in measures.items() if name != "error"}
    return {**row, **means, "error": single if error is None else error}


def _talk(table: pd.DataFrame) -> str:
    known = table.dropna(subset=["talk_W_O2"])
    columns = zip(known["model"], known["talk_W_O2"], known["talk_W_K2"], strict=True)
    shares = [f"{model} {output:.2f} and {match:.2f}" for model, output, match in columns]
    return "Cross-talk in W_O² and W_K², as a share of a right answer: " + "; ".join(shares) + "."


def _gap_title(run: Run) -> str:
    kept, clean = (float(at_d(run, f"accuracy_{talk}").mean()) for talk in ("kept", "stream"))
    if "beside/accuracy" not in run.tensors:
        return f"Cleaned of cross-talk, accuracy goes from {kept:.0%} to {clean:.0%}"
    shares = {name: float(share.mean()) for name, share in shares_closed(run).items()}
    if not shares:
        trained = float(run["beside/accuracy"].mean())
        return (
            f"At this width there is no gap to close: trained {trained:.0%}, constructed {kept:.0%}"
        )
    alone = ", ".join(f"{NAMES[name]} {shares[name]:.0%}" for name in NAMES if name in shares)
    return (
        f"Cleaning closes {shares['stream']:.0%} of the gap to the trained model; one matrix "
        f"alone: {alone}"
    )


def errors(run: Run, view: View) -> Panel:
    """Draw what the construction's errors are."""
    kinds = [ERRORS.get(name, name) for name in run.names("errors")]
    values = [float(run[f"errors/{name}"].mean()) for name in run.names("errors")]
    figure = figures.bars(
        kinds, values, "share of in-context positions", kinds=["construction"] * len(kinds)
    )
    most = kinds[int(np.argmax(values))]
    return Panel(
        f"At d = {run.config.d}, {sum(values):.0%} of predictions are wrong, mostly where {most}",
        "The first character has none before it, so layer 1 lets it attend to itself, and it "
        "passes for one that follows itself. These errors stay at large widths. In the other two "
        "kinds something else in the stream is louder; they become fewer as the width grows.",
        figure,
        data=pd.DataFrame({"kind": kinds, "share": values}),
    )


def reads(run: Run, view: View) -> Panel:
    """In-context accuracy, and global loss, by which part of the stream W_F reads."""
    names = run.names("reads")
    accuracies, losses = (
        [run[f"reads/{m}_{name}"] for name in names] for m in ("accuracy", "global_loss")
    )
    errors = [standard_error(values) or np.nan for values in accuracies]
    values, nats = ([float(each.mean()) for each in column] for column in (accuracies, losses))
    labels = [
        f"{READ.get(name, name)}: {loss:.1f} nats" for name, loss in zip(names, nats, strict=True)
    ]
    kinds = ["construction", *["layer 4"] * (len(names) - 1)]
    figure = figures.bars(
        labels, values, "in-context accuracy", errors=errors, kinds=kinds, y_range=(0, 1.05)
    )
    title = f"If W_F does not read what W_O² writes: accuracy {values[0]:.0%} → {values[1]:.0%}"
    if max(values) - values[0] < 0.02:
        title = f"Whatever else W_F reads, accuracy stays at {values[0]:.0%}"
    return Panel(
        title,
        "Eq. 8 stores the bigrams for one input, the embedding of the current character. The "
        "model hands W_F the whole stream. Each bar takes something out of what W_F reads; beside "
        "it stands the loss where there is no trigger. If the rest did not disturb W_F, as eq. 8 "
        "assumes, the bars would be equal.",
        figure,
        data=pd.DataFrame({"W_F reads": names, "accuracy": values, "global loss": nats}),
    )

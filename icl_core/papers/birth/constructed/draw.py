"""What can be drawn of the constructed model: accuracy against width, what fails, and what closes the gap."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from icl_core import figures
from icl_core.experiment import Panel, Run
from icl_core.figures import Curve, characters
from icl_core.papers.birth.constructed import run as by_hand
from icl_core.papers.birth.constructed.settings import TALK, View
from icl_core.papers.birth.shared.draw.attention import predictions, right, table
from icl_core.papers.birth.shared.draw.memories import NAMES, READ
from icl_core.papers.birth.shared.probes import memory_scores
from icl_core.papers.birth.shared.read_run import boxes, choose, read

COMPARED = ("accuracy", "error", "talk_W_O2", "talk_W_K2")
LINES = {"kept": ("construction", "solid"), "within": ("layer 4", "dash"), "stream": ("layer 2", "solid")}


def accuracy(run: Run, view: View) -> Panel:
    """In-context accuracy against width, with and without cross-talk."""
    series = [
        Curve(
            TALK[talk],
            run["sweep/width"],
            run[f"sweep/accuracy_{talk}"],
            kind,
            dash,
            error=run[f"sweep/error_{talk}"],
            markers=True,
        )
        for talk, (kind, dash) in LINES.items()
    ]
    lines = []
    if "beside/accuracy" in run.tensors:
        lines.append((f"trained, d = {run.config.d}", float(run["beside/accuracy"][0]), "trained"))
    figure = figures.curves(series, "width d", "in-context accuracy", log_x=True, y_range=(0, 1.02), lines=lines)
    _mark_widths(figure, run)
    return Panel(
        _accuracy_title(run),
        "Eqs. 7 and 8 work where random vectors are nearly orthogonal, that is, at large d. At smaller d every reading "
        "picks up the other vectors of the stream; take that cross-talk away and the same memories work.",
        figure,
        data=_table(run, ("accuracy", "error")),
    )


def _mark_widths(figure: go.Figure, run: Run) -> None:
    """Every width tried is written on the axis: powers of ten would say little."""
    figure.update_xaxes(tickvals=run["sweep/width"], ticktext=[str(width) for width in run["sweep/width"]])


def _accuracy_title(run: Run) -> str:
    if not run.finished:
        return "Accuracy against width, so far"
    at = int(np.flatnonzero(run["sweep/width"] == run.config.d)[0]) if run.config.d in run["sweep/width"] else -1
    kept, clean = (float(run[f"sweep/accuracy_{talk}"][at]) for talk in ("kept", "stream"))
    width = run["sweep/width"][at]
    return f"At d = {width} the construction is right {kept:.0%} of the time, {clean:.0%} without cross-talk"


def recall(run: Run, view: View) -> Panel:
    """Recall of the constructed memories against width."""
    kinds = {"W_O2": "layer 3", "W_K2": "layer 2", "W_K1": "layer 1"}
    series = [
        Curve(NAMES[name], run["sweep/width"], run[f"sweep/recall_{name}_kept"], kind, markers=True)
        for name, kind in kinds.items()
    ]
    figure = figures.curves(series, "width d", "recall", log_x=True, y_range=(0, 1.02))
    _mark_widths(figure, run)
    perfect, works = (run["sweep/width"][values >= 0.95] for values in (_least_recall(run), run["sweep/accuracy_kept"]))
    return Panel(
        f"Pairs are recalled from {_width(perfect)} on, the model is right from {_width(works)} on",
        "Recall asks one memory with one clean vector, so it sees only the cross-talk among stored pairs. Compare the "
        "width at which it reaches 1 with the width at which accuracy does: the model reads sums of several vectors.",
        figure,
        data=_table(run, ("recall_W_O2", "recall_W_K2", "recall_W_K1")),
    )


def _least_recall(run: Run) -> np.ndarray:
    return np.min([run[f"sweep/recall_{name}_kept"] for name in ("W_O2", "W_K2", "W_K1")], axis=0)


def _width(widths: np.ndarray) -> str:
    return f"d = {widths[0]}" if len(widths) else "no width tried"


def gap(run: Run, view: View) -> Panel:
    """Constructed, without cross-talk, and trained at one width; and how much cross-talk each has."""
    at = int(np.flatnonzero(run["sweep/width"] == run.config.d)[0])
    names = {"kept": "constructed", "within": "without cross-talk of pairs", "stream": "without cross-talk of stream"}
    rows = [
        {"model": label, "kind": LINES[talk][0], **{m: float(run[f"sweep/{m}_{talk}"][at]) for m in COMPARED}}
        for talk, label in names.items()
    ]
    if "beside/accuracy" in run.tensors:
        trained = {m: float(run[f"beside/{m}"][0]) for m in COMPARED}
        rows.append({"model": f"trained, {run.config.beside} steps", "kind": "trained", **trained})
    table = pd.DataFrame(rows)
    figure = figures.bars(
        list(table["model"]),
        list(table["accuracy"]),
        "in-context accuracy",
        errors=list(table["error"]),
        kinds=list(table["kind"]),
        y_range=(0, 1.05),
    )
    return Panel(
        _gap_title(run, at),
        "The constructions recall every pair. What disturbs them is the rest of the residual stream: "
        "take that out and the bar rises, take out only what stored pairs do to each other and it does not. Training "
        "gets there by other means too: compare the cross-talk below.",
        figure,
        note=_talk(table),
        data=table.drop(columns="kind"),
    )


def _talk(table: pd.DataFrame) -> str:
    columns = zip(table["model"], table["talk_W_O2"], table["talk_W_K2"], strict=True)
    shares = [f"{model} {output:.2f} and {match:.2f}" for model, output, match in columns]
    return "Cross-talk in W_O² and W_K², as a share of a match: " + "; ".join(shares) + "."


def _gap_title(run: Run, at: int) -> str:
    kept, clean = (float(run[f"sweep/accuracy_{talk}"][at]) for talk in ("kept", "stream"))
    if "beside/accuracy" not in run.tensors:
        return f"Removing cross-talk takes accuracy from {kept:.2f} to {clean:.2f}"
    trained = float(run["beside/accuracy"][0])
    if trained - kept < 0.02:
        return f"At this width nothing is left to close: trained {trained:.2f}, constructed {kept:.2f}"
    return f"Removing cross-talk closes {(clean - kept) / (trained - kept):.0%} of the gap to the trained model"


def errors(run: Run, view: View) -> Panel:
    """What the construction's errors are."""
    kinds = {
        "first": "the query is the sequence's first character",
        "attention": "layer 2 looks elsewhere",
        "output": "layer 2 looks right, another output wins",
    }
    values = [float(run[f"errors/{name}"][0]) for name in kinds]
    figure = figures.bars(list(kinds.values()), values, "share of in-context positions", kinds=["construction"] * 3)
    most = list(kinds.values())[int(np.argmax(values))]
    return Panel(
        f"Of {sum(values):.1%} errors at d = {run.config.d}, most are where {most}",
        "Position 1 has no previous position, so layer 1 lets it attend to itself; it then looks like a character that "
        "follows itself: at large d that is the only error left. The other two are cross-talk.",
        figure,
        data=pd.DataFrame({"kind": list(kinds.values()), "share": values}),
    )


def readings(run: Run, view: View) -> Panel:
    """One memory's readings as constructed and without cross-talk."""
    task = by_hand.task_of(run.config)
    built = {talk: by_hand.by_hand(run.config, run.config.d, talk) for talk in ("kept", "stream")}
    found = {talk: memory_scores(view.memory, weights, task) for talk, weights in built.items()}
    rows, columns = characters(found["kept"].rows), characters(found["kept"].columns)
    value, formed = READ[view.memory]
    figure = figures.triple(
        found["kept"].matrix.numpy(),
        found["stream"].matrix.numpy(),
        None,
        rows,
        columns,
        value,
        row_title=found["kept"].row_kind,
        column_title=found["kept"].column_kind,
        titles=("as in eq. 7", "without cross-talk", "difference"),
    )
    kept, clean = (by_hand.interference(view.memory, weights, task) for weights in built.values())
    return Panel(
        f"{NAMES[view.memory]}: cross-talk falls from {kept:.3f} to {clean:.3f} of a match",
        f"{formed} What is off the diagonal is cross-talk among stored pairs; what the rest of the stream adds is not "
        "in this picture, but in the number above.",
        figure,
        data=pd.DataFrame(found["kept"].matrix.numpy().round(4), index=rows, columns=columns).reset_index(names="row"),
    )


def attention(run: Run, view: View) -> Panel:
    """Where the constructed model looks, on a sampled or typed sequence."""
    sequence = choose(by_hand.task_of(run.config), view)
    reading = read(by_hand.by_hand(run.config, run.config.d, view.cross_talk), sequence, 2)
    figure = figures.attention_pair(
        reading.attention1,
        reading.attention2,
        sequence.characters,
        boxes(sequence),
        predictions(reading, sequence),
    )
    inside = sequence.in_context.numpy()
    hits = int(right(reading, sequence)[inside].sum())
    return Panel(
        f"Built by hand, {TALK[view.cross_talk]}: {hits} of {int(inside.sum())} in-context predictions right",
        "A construction that works shows one stripe beside the diagonal in layer 1 and dark boxed cells in layer 2. "
        "Cross-talk shows as stray cells.",
        figure,
        data=table(reading, sequence),
    )


def _table(run: Run, measures: tuple[str, ...]) -> pd.DataFrame:
    columns = {f"{m}, {talk}": run[f"sweep/{m}_{talk}"] for m in measures for talk in LINES}
    return pd.DataFrame({"d": run["sweep/width"], **columns})

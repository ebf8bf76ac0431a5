"""What the proof says and leaves out: the order and the width of the steps, what else they store,
its lemmas beside autograd, its expectations beside a batch, and the example of Section 6."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import Curve
from icl_core.figures.style import NONE_TO_ALL, colourscale
from icl_core.papers.birth.shared.draw import KINDS, NAMES
from icl_core.papers.birth.shared.probes import memory_scores
from icl_core.papers.birth.shared.proof_model import TOKENS, both_stored, sides
from icl_core.papers.birth.steps import gradient_steps, lemmas
from icl_core.papers.birth.steps.gradient_steps import task_of
from icl_core.papers.birth.steps.load_run import STORED, after, placed, tau, weights_after
from icl_core.papers.birth.steps.run import given
from icl_core.papers.birth.steps.settings import CHECKED, THEN, View
from icl_core.papers.birth.steps.words import WORDS

NONE_TO_ONE = {"colorscale": colourscale(NONE_TO_ALL), "cmin": 0, "cmax": 1, "showscale": False}
PARTS = {
    "none": "nowhere (proof)",
    "values": "the values",
    "keys": "the keys",
    "query": "the query",
    "all": "everywhere",
}
# by lemma: the matrix whose vectors the gradient is read with
READ_WITH = {
    "1": "W_O2",
    "2": "W_O2",
    "4": "W_K2",
    "5": "W_K1",
}
# by the number of inputs: label and colour of a curve
LABELS = {
    "exact": ("infinitely many", "layer 2"),
    "batch": ("a batch", "trained"),
    "one": ("one per character", "layer 4"),
}
DASH = {"batch": "dash"}


def orders(run: Run, view: object) -> Panel:
    """Draw the recall of each memory at the end of each order."""
    recalls = run["orders/recall"].mean(0)  # [orders, matrices]
    rows = [", ".join(NAMES[name] for name in order.split(THEN)) for order in run.names("orders")]
    columns = [NAMES[name] for name in run.names("matrices")]
    complete = [row for row, recall in zip(rows, recalls, strict=True) if (recall > STORED).all()]
    figure = figures.maps(
        [""], [recalls], rows, columns, "recall", limit=1.0, written=True,
        column_title="recall in the end, by order",
    )  # fmt: skip
    figure.update_layout(coloraxis=NONE_TO_ONE, margin={"t": 12}).update_xaxes(
        tickvals=columns, ticktext=columns
    )
    return WORDS.panel(
        "orders",
        run,
        view,
        figure,
        data=pd.DataFrame(np.round(recalls, 4), index=rows, columns=columns).reset_index(
            names="order"
        ),
        complete=len(complete),
        first=complete[0] if complete else "",
        orders=len(rows),
    )


def widths(run: Run, view: object) -> Panel:
    """Draw the recalls after the theorem's three steps against the width."""
    widths = run["sweep/width"]
    series = [
        Curve(
            NAMES[name],
            widths,
            run[f"sweep/recall_{name}"],
            KINDS[name],
            band="minmax",
            markers=True,
        )
        for name in run.names("matrices")
    ]
    figure = figures.curves(
        series, "width d", "recall after three steps", log_x=True, y_range=(0, 1.04)
    )
    figure.update_xaxes(tickvals=widths, ticktext=[str(width) for width in widths])
    worst = min(series, key=lambda curve: curve.mean()[-2])
    return WORDS.panel(
        "widths",
        run,
        view,
        figure,
        data=pd.DataFrame({"d": widths} | {curve.name: curve.mean().round(4) for curve in series}),
        worst=worst.name,
        narrow=widths[-2],
        share_narrow=worst.mean()[-2],
        wide=widths[-1],
        share_wide=worst.mean()[-1],
    )


def spurious(run: Run, view: View) -> Panel:
    """Draw the two kinds of pairs that the step on W_O² stores: the right ones and the spurious
    ones of eq. 16."""
    weights = weights_after(run, 3, "batch")
    right, mean = (readings.numpy() for readings in both_stored(weights))  # (N, N) each
    characters = figures.visible_characters(task_of(run.config).characters)
    figure = figures.maps(
        ["a character", "its copy by layer 1"],
        [right, mean],
        characters,
        characters,
        "reading",
        row_title="output",
        column_title="input",
        columns=2,
    )
    data = pd.DataFrame(
        {"character": characters, "right": np.diag(right), "spurious": np.diag(mean)}
    )
    return WORDS.panel(
        "spurious",
        run,
        view,
        figure,
        data=data.round(4),
        ratio=float(run["spurious/ratio"].mean()),
        tau=tau(run),
    )


def positions(run: Run, view: View) -> Panel:
    """Draw the share of right answers by where the stream holds positions."""
    shares = {name: float(values.mean()) for name, values in placed(run).items()}
    labels = [PARTS.get(name, name) for name in shares]
    kinds = ["trained" if name == "none" else "layer 4" for name in shares]
    worst = min(("values", "keys", "query"), key=lambda name: shares[name])
    figure = figures.bars(
        labels, list(shares.values()), "answers right", kinds=kinds, y_range=(0, 1.05)
    )
    return WORDS.panel(
        "positions",
        run,
        view,
        figure,
        data=pd.DataFrame({"positions": labels, "right": list(shares.values())}),
        nowhere=shares["none"],
        everywhere=shares["all"],
        worst=PARTS[worst],
        is_query=worst == "query",
    )


def formula(run: Run, view: View) -> Panel:
    """Draw what a step along the gradient adds, by the lemma's formula and by autograd."""
    gradients, readings = _both(run, view.lemma)
    axes, (rows, columns) = _named(run, view.lemma)
    largest = readings[1].abs().max()
    by_formula, by_autograd = ((matrix / largest).numpy() for matrix in readings)
    figure = figures.triple(
        by_formula, by_autograd, None, rows, columns, "reading, largest = 1",
        titles=("formula", "autograd", "difference"), row_title=axes[0], column_title=axes[1],
    )  # fmt: skip
    return WORDS.panel(
        "formula",
        run,
        view,
        figure,
        data=pd.DataFrame(by_formula, index=rows, columns=columns).reset_index(names="row"),
        difference=lemmas.apart(gradients),
        says=WORDS.text(f"lemma {view.lemma}"),
        sequences=0 if view.lemma in ("1", "2") else CHECKED,
    )


def _both(run: Run, lemma: str) -> tuple[lemmas.Both, lemmas.Both]:
    """Return the lemma's gradient by formula and by autograd, and minus the readings of both."""
    inputs = given(replace(run.config, seeds=1))
    gradients = lemmas.LEMMAS[lemma](inputs)
    left, right = _vectors(inputs, lemma)

    def readings(gradient: Tensor) -> Tensor:
        # the paper's W_K has the key on the left
        G = gradient if lemma in ("1", "2") else gradient.T
        return -(left @ G @ right.T)

    by_formula, by_autograd = gradients
    return gradients, (readings(by_formula), readings(by_autograd))


def _vectors(inputs: lemmas.Given, lemma: str) -> tuple[Tensor, Tensor]:
    """Return the vectors that the gradient is read with on its left and on its right, as rows."""
    if lemma in ("1", "2"):
        return inputs.weights.W_U, inputs.weights.W_E
    return sides(READ_WITH[lemma], inputs.weights, TOKENS)


def _named(run: Run, lemma: str) -> tuple[tuple[str, str], tuple[list[str], list[str]]]:
    """Return the titles of a map's rows and columns, and their labels."""
    if lemma == "5":
        places = [str(t + 1) for t in range(run.config.T)]
        return ("position of the query", "position of the key"), (places, places)
    characters = figures.visible_characters(task_of(run.config).characters)
    axes = ("query", "key, after layer 1") if lemma == "4" else ("output", "input")
    return axes, (characters, characters)


def beside(run: Run, view: View) -> Panel:
    """Draw a memory as it is learned from a batch, beside the one in exact expectation."""
    name = view.matrix
    ways = ("batch", "exact")
    batch, exact = (
        memory_scores(name, weights_after(run, 3, way), task_of(run.config)) for way in ways
    )
    figure = figures.triple(
        batch.matrix, exact.matrix, None, batch.rows, batch.columns, "reading",
        titles=(f"{run.config.batch:,} sequences", "infinitely many", "difference"),
        row_title=batch.row_kind, column_title=batch.column_kind,
    )  # fmt: skip
    recall, expected_recall = (float(after(run, f"recall_{name}", 3, way).mean()) for way in ways)
    return WORDS.panel(
        "beside",
        run,
        view,
        figure,
        data=pd.DataFrame(
            batch.matrix.numpy().round(4), index=batch.rows, columns=batch.columns
        ).reset_index(names="row"),
        memory=NAMES[name],
        has_moved=bool(batch.matrix.any()),
        recall=recall,
        expected_recall=expected_recall,
        cosine=float(torch.cosine_similarity(batch.matrix.flatten(), exact.matrix.flatten(), 0)),
    )


def example(run: Run, view: object) -> Panel:
    """Draw what the matrix says of characters and of positions after one step, from one input a
    character and from all."""
    weights = weights_after(run, 0, "batch")
    generator = torch.Generator().manual_seed(run.config.seed)
    one = gradient_steps.noise_step(weights, "one", run.config.batch, generator)
    exact = gradient_steps.noise_step(weights, "exact", run.config.batch, generator)
    # (N, N + T) each
    matrices = [torch.cat([step.tokens, step.places], 1).numpy() for step in (one, exact)]
    characters = figures.visible_characters(task_of(run.config).characters)
    columns = [*characters, *(f"p{t + 1}" for t in range(run.config.T))]
    figure = figures.maps(
        ["one input per character", "infinitely many"],
        matrices,
        characters,
        columns,
        "reading",
        row_title="output",
        column_title="character, then position",
        columns=2,
    )
    return WORDS.panel(
        "example",
        run,
        view,
        figure,
        data=pd.DataFrame(matrices[1].round(4), index=characters, columns=columns).reset_index(
            names="output"
        ),
        noise_of_one=one.noise,
        noise=exact.noise,
        signal=exact.signal,
    )


def _against(run: Run, measure: str) -> list[Curve]:
    """Return a measure against the width, a curve for each number of inputs, as in LABELS."""
    return [
        Curve(
            label,
            run["sweep/width"],
            run[f"toy/{measure}_{variant}"],
            kind,
            DASH.get(variant),
            "minmax",
            markers=True,
        )
        for variant, (label, kind) in LABELS.items()
    ]


def _over_widths(run: Run, series: list[Curve], y_title: str, **more: Any) -> Figure:
    widths = run["sweep/width"]
    figure = figures.curves(series, "width d", y_title, log_x=True, **more)
    return figure.update_xaxes(tickvals=widths, ticktext=[str(width) for width in widths])


def noise(run: Run, view: object) -> Panel:
    """Draw the noise beside the signal, against the width."""
    widths = run["sweep/width"]
    series = _against(run, "noise")
    series.insert(0, Curve("signal", widths, run["toy/signal_exact"], "#000000", "dot"))
    exact = series[1].mean()  # [widths]
    return WORDS.panel(
        "noise",
        run,
        view,
        _over_widths(run, series, "reading", y_range=(0, 1.1)),
        data=pd.DataFrame({"d": widths} | {curve.name: curve.mean().round(4) for curve in series}),
        narrow=widths[0],
        noise_narrow=exact[0],
        wide=widths[-1],
        noise_wide=exact[-1],
    )


def accuracy(run: Run, view: object) -> Panel:
    """Draw the accuracy of the classifier that one step makes, against the width."""
    widths = run["sweep/width"]
    series = _against(run, "accuracy")
    return WORDS.panel(
        "accuracy",
        run,
        view,
        _over_widths(run, series, "right", y_range=(0, 1.04)),
        data=pd.DataFrame({"d": widths} | {curve.name: curve.mean().round(4) for curve in series}),
        filtered=series[0].mean()[-1],
        width=widths[-1],
        of_one=series[2].mean()[-1],
    )

"""Γ for each token as a map: registers by tokens, for the models whose memory is no triangle of
numbers (Figures 3, 4, 15 and 16)."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.papers.memformers.methods.settings import View
from icl_core.papers.memformers.shared import load_run, variants
from icl_core.papers.memformers.shared.draw.stage import fitted
from icl_core.papers.memformers.shared.variants import VARIANTS


def applies(config: Any) -> bool:
    """Return whether every token has numbers of its own in Γ."""
    return VARIANTS[config.variant].needs_examples


def weights(run: Run, seed: int, depth: int, snapshot: int) -> tuple[np.ndarray, list[str]]:
    """Return what each token's label in a register is multiplied by, [rows, n + 1], and the names
    of the rows. The last column is the query's; a number that no prediction depends on is NaN.

    Where all layers share Γ_j a row is a register j, else a pair of a layer l and a register j
    that it reads, "l ← j". Of a Γ per entry of Z it is the row of the labels; there a layer uses
    all of its own attention, so that the last register has no number.
    """
    variant = VARIANTS[run.config.variant]
    parameters = load_run.parameters_at(run, seed, depth, snapshot)
    Gamma = variants.coefficients(parameters, variant.id)[0]  # [L, L, …] over (l, j)
    if variant.per == "entry":
        table = Gamma[-1, : max(1, depth - 1), -1].numpy()
    elif variant.shared:
        table = Gamma[-1].numpy()
    else:
        layers, registers = np.tril_indices(depth)
        table = Gamma.numpy()[layers, registers]
        table[layers == depth - 1, :-1] = np.nan  # after the last layer the query alone is read
        return table, [f"{layer + 1} ← {j + 1}" for layer, j in zip(layers, registers, strict=True)]
    table[-1, :-1] = np.nan  # only the last layer reads this register
    return table, [str(row + 1) for row in range(len(table))]


def spread(table: np.ndarray) -> tuple[float, float]:
    """Return of weights [rows, n + 1] how far the examples are from their row's mean, and how far
    the query is from it, each as a share of the size of those means. Rows without examples are
    left out; NaN where no row is left or all means are 0."""
    rows = table[np.isfinite(table).all(1)]
    means = rows[:, :-1].mean(1, keepdims=True)  # [rows, 1]
    size = float(np.sqrt(np.square(means).sum()))
    if not size:
        return np.nan, np.nan
    differences = rows - means
    examples = float(np.sqrt(np.square(differences[:, :-1]).mean(1).sum()))
    query = float(np.sqrt(np.square(differences[:, -1]).sum()))
    return examples / size, query / size


def panel(run: Run, view: View) -> Panel:
    """Draw Γ token by token, for every register that is read."""
    depth = load_run.depth_of(run, view)
    table, rows = weights(run, view.seed_shown, depth, run.snapshot_at(view))
    finished, _ = weights(run, view.seed_shown, depth, len(run.snapshot_steps) - 1)
    tokens = [*(str(token + 1) for token in range(run.config.n)), "q"]
    limit = figures.largest_magnitude(finished)
    shared = VARIANTS[run.config.variant].shared
    titles = ("register of layer" if shared else "layer ← register", "token")
    figure = figures.small_map(table, (rows, tokens), titles, "Γ", limit)
    figure.update_yaxes(scaleanchor=None)  # few rows fill the seat
    if len(figure.data[0]["x"]) == len(tokens):  # no means over blocks of tokens
        ticks = [*range(4, run.config.n, 5), run.config.n]
        figure.update_xaxes(tickvals=ticks, ticktext=[tokens[index] for index in ticks])
    data = pd.DataFrame(table.round(5), columns=tokens)
    data.insert(0, titles[0], rows)
    return Panel(
        _title(*spread(table)),
        "Memory is no triangle of numbers here: each token, an example or the query q, has numbers "
        "of its own. A register keeps the attention of one layer; a cell is the number that "
        "multiplies a token's label in it, and is blank where no prediction depends on it. Look "
        "along a row. Examples come in random order, so that no column from 1 to n deserves "
        "another number than its neighbour: how far they differ (the title, as a share of their "
        "mean) is what the model has adapted to the order in its training prompts, by chance."
        + _own(run),
        fitted(figure, figures.WIDE),
        data=data,
    )


def _title(examples: float, query: float) -> str:
    if not np.isfinite(examples):
        return "Γ for each token: no example's label is used"
    return f"Γ differs by {examples:.0%} between examples, by {query:.0%} for the query"


def _own(run: Run) -> str:
    variant = VARIANTS[run.config.variant]
    if variant.per == "entry":
        return (
            " Γ also has numbers for the covariates, which are not drawn. In the authors' code a "
            "layer uses its own attention whole."
        )
    return " All layers share these numbers." * variant.shared

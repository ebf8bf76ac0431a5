"""The associative memories themselves: trained, constructed, and what remains between them (Figure
7)."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.papers.birth.induction.beside_construction import Comparison, compare, rank, wrong
from icl_core.papers.birth.induction.load_run import at_step, origin, weights_at
from icl_core.papers.birth.induction.settings import View
from icl_core.papers.birth.shared.draw import KINDS, NAMES, READ, formed

Maps = tuple[np.ndarray, np.ndarray, np.ndarray]  # trained, constructed, difference
WRONG = ["asked for", "answers", "should answer", "short by"]


def draw(run: Run, view: View) -> Panel:
    """One matrix as readings v_jᵀ W u_i, trained | constructed | difference on one scale."""
    snapshot = run.snapshot_at(view)
    name = shown(run, view.memory)
    weights, end = (weights_at(run, index) for index in (snapshot, len(run.snapshot_steps) - 1))
    comparison, last = (compare(name, each, run.config) for each in (weights, end))
    maps = _maps(comparison, view)
    read = comparison.trained
    limit = figures.largest_magnitude(*maps, *_maps(last, view))  # one scale for all snapshots
    recalled = (
        f" gets {comparison.recall[0]:.0%} of its pairs right and" if comparison.recall else ""
    )
    explained = max(0.0, comparison.aligned.explained)
    heads = origin(run), "constructed", "difference"
    titles = {"row_title": read.row_kind, "column_title": read.column_kind}
    data = pd.DataFrame(np.round(maps[0], 4), index=read.rows, columns=read.columns)
    return Panel(
        f"{at_step(run, view)}: {NAMES[name]}{recalled} is {explained:.0%} construction",
        f"{formed(name)} Without learning the left map would be noise. "
        f"{_alignment(comparison, view)}",
        figures.triple(
            *maps, read.rows, read.columns, READ[name], limit=limit, titles=heads, **titles
        ),
        table=pd.DataFrame(wrong(name, read), columns=WRONG) if view.wrong else None,
        data=data.reset_index(names=read.row_kind),
        note=f"{_margin(comparison, heads[0])}{_zeros(comparison, heads)}{rank(weights[name])} of "
        f"{run.config.d} singular directions hold 99% of the matrix.",
    )


def shown(run: Run, wanted: str) -> str:
    """Return the matrix asked for, or W_O² where the model has no such one."""
    there = {"W_F": run.config.feed_forward, "W_K1": run.config.layers == 2}.get(wanted, True)
    return wanted if there else "W_O2"


def _maps(comparison: Comparison, view: View) -> Maps:
    """Trained, constructed and difference, aligned or raw."""
    if view.raw:
        trained = comparison.trained.matrix.numpy()
        constructed = comparison.constructed.matrix.numpy()
        return trained, constructed, trained - constructed
    aligned = comparison.aligned
    return aligned.trained.numpy(), aligned.constructed.numpy(), aligned.difference.numpy()


def _margin(comparison: Comparison, own: str) -> str:
    if not comparison.recall or not comparison.margin or not np.isfinite(comparison.margin[0]):
        return ""  # W_F stores no pairs, and a single pair has no wrong answer
    margins = [figures.significant(margin) for margin in comparison.margin]
    return (
        f"Pairs right: {own} {comparison.recall[0]:.0%}, constructed {comparison.recall[1]:.0%}. "
        f"Mean margin of the right answer over the best wrong one: {own} {margins[0]}, "
        f"constructed {margins[1]}. "
    )


def _zeros(comparison: Comparison, heads: tuple[str, ...]) -> str:
    """Return which of the maps have nothing to show."""
    readings = (comparison.trained, comparison.constructed)
    zeros = [head for head, each in zip(heads, readings, strict=False) if not each.matrix.any()]
    return f"Nothing but zeros: {' and '.join(zeros)}. " if zeros else ""


def _alignment(comparison: Comparison, view: View) -> str:
    if view.raw:
        return (
            "Nothing is aligned here. A construction's scale is free, so the difference shows "
            "little but scale."
        )
    return (
        "A softmax does not see a constant added to all that it compares, so that is removed from "
        f"both. The construction is scaled by one factor, "
        f"{figures.significant(comparison.aligned.factor)}, fitted by least squares."
    )


def spectrum(run: Run, view: View) -> Panel:
    """Singular values of the matrices at the step shown."""
    weights = weights_at(run, run.snapshot_at(view))
    names = [name for name in weights.trained() if name != "W_K1" or run.config.layers == 2]
    values = {NAMES[name]: np.linalg.svd(weights[name].numpy(), compute_uv=False) for name in names}
    figure = figures.spectrum(values, [KINDS[name] for name in names])
    return Panel(
        "Directions that hold 99% of a matrix: "
        + ", ".join(f"{NAMES[name]} {rank(weights[name])}" for name in names),
        "Singular values of each matrix. A memory of N pairs needs N directions: look for a drop "
        f"near N = {run.config.N}, and for W_K¹ near the number of positions stored. A random "
        "matrix has no drop.",
        figure,
        data=pd.DataFrame(values),
    )

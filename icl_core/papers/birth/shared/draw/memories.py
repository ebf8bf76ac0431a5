"""The associative memories themselves: trained, constructed, and what remains between them (Figure 7)."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.experiment import Panel, Run
from icl_core.figures import characters
from icl_core.papers.birth.shared.beside_construction import Comparison, compare, rank, wrong
from icl_core.papers.birth.shared.read_run import weights_at
from icl_core.papers.birth.shared.settings import View

NAMES = {"W_K1": "W_K¹", "W_K2": "W_K²", "W_O2": "W_O²", "W_F": "W_F"}
KINDS = {"W_K1": "layer 1", "W_K2": "layer 2", "W_O2": "layer 3", "W_F": "layer 4"}
READ = {  # the reading, and what a formed memory looks like
    "W_K1": ("pₜᵀ W_K¹ pₛ", "A bright diagonal: the query at position t finds the key at t − 1."),
    "W_K2": ("w_E(j)ᵀ W_K² R¹ w_E(i)", "A bright diagonal: a character, as query, finds its own copy made by layer 1."),
    "W_O2": ("w_U(j)ᵀ W_O² W_V² w_E(i)", "A bright diagonal: the character attended to is the one predicted."),
    "W_F": ("w_U(j)ᵀ W_F w_E(i)", "Bright cells where character j often follows character i."),
}


def draw(run: Run, view: View) -> Panel:
    """One matrix as readings v_jᵀ W u_i, trained | constructed | difference on one scale."""
    snapshot, name = run.snapshot_at(view), _shown(run, view)
    weights = weights_at(run, snapshot)
    found = compare(name, weights, run.config)
    value, formed = READ[name]
    rows, columns = ([*characters(labels)] for labels in (found.trained.rows, found.trained.columns))
    maps = _maps(found, view)
    left, below = found.trained.row_kind, found.trained.column_kind
    last = _maps(
        compare(name, weights_at(run, len(run.snapshot_steps) - 1), run.config), view
    )  # one scale for all snapshots
    figure = figures.triple(
        *maps, rows, columns, value, row_title=left, column_title=below, limit=figures.largest(*maps, *last)
    )
    return Panel(
        f"{NAMES[name]} at step {run.snapshot_steps[snapshot]}{_recall(found)}: "
        f"{max(0.0, found.aligned.explained):.0%} of it is the construction",
        f"{formed} Without learning, the left map would be noise. {_alignment(found, view)}",
        figure,
        table=_wrong(name, found) if view.wrong else None,
        data=pd.DataFrame(np.round(maps[0], 4), index=rows, columns=columns).reset_index(names=left),
        note=f"{_margin(found)}{rank(weights[name])} of {run.config.d} singular directions hold 99 % of the matrix.",
    )


def _shown(run: Run, view: View) -> str:
    """The matrix asked for, or W_O² where the model has no such one."""
    missing = (view.memory == "W_F" and not run.config.feed_forward) or (
        view.memory == "W_K1" and run.config.layers == 1
    )
    return "W_O2" if missing else view.memory


def _maps(found: Comparison, view: View) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Trained, constructed and difference, aligned or raw."""
    if view.raw:
        trained, constructed = found.trained.matrix.numpy(), found.constructed.matrix.numpy()
        return trained, constructed, trained - constructed
    aligned = found.aligned
    return aligned.trained.numpy(), aligned.constructed.numpy(), aligned.difference.numpy()


def _recall(found: Comparison) -> str:
    return f", recall {found.recall[0]:.2f}" if found.recall else ""


def _margin(found: Comparison) -> str:
    if not found.recall or not found.margin or not np.isfinite(found.margin[0]):
        return ""  # W_F stores no pairs, and a single pair has no wrong answer
    return (
        f"Recall: trained {found.recall[0]:.2f}, constructed {found.recall[1]:.2f}. Mean margin of the right answer "
        f"over the best wrong one: trained {found.margin[0]:.3g}, constructed {found.margin[1]:.3g}. "
    )


def _alignment(found: Comparison, view: View) -> str:
    if view.raw:
        return "These are raw readings: a construction's scale is free, so the difference shows little but scale."
    return (
        "What the softmax cannot see (a constant added to all it compares) is removed from both, and the construction "
        f"is scaled by one factor, {found.aligned.factor:.3g}, fitted by least squares."
    )


def _wrong(name: str, found: Comparison) -> pd.DataFrame:
    rows = wrong(name, found.trained)
    columns = ["asked with", "answers", "should be", "short by"]
    table = pd.DataFrame(rows, columns=columns)
    for column in columns[:3]:
        table[column] = characters(list(table[column]))
    return table


def spectrum(run: Run, view: View) -> Panel:
    """Singular values of the trained matrices at the step shown."""
    weights = weights_at(run, run.snapshot_at(view))
    names = [name for name in weights.trained() if name != "W_K1" or run.config.layers == 2]
    values = {NAMES[name]: np.linalg.svd(weights[name].numpy(), compute_uv=False) for name in names}
    figure = figures.spectrum(values, [KINDS[name] for name in names])
    return Panel(
        "Rank that holds 99 %: " + ", ".join(f"{NAMES[name]} {rank(weights[name])}" for name in names),
        "Singular values of each trained matrix. A memory of N pairs needs N directions: look for a shoulder near "
        f"N = {run.config.N}, and for W_K¹ near the number of positions stored. A random matrix has no shoulder.",
        figure,
        data=pd.DataFrame(values),
    )

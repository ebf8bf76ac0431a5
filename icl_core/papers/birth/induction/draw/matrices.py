"""The associative memories themselves: trained, constructed, and what remains between them (Figure
7); surgery, which replaces any matrix by its construction, its initial value or zero, and what that
does; the score of an explanation, as bars."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.papers.birth.induction import beside_construction
from icl_core.papers.birth.induction.beside_construction import Comparison, compare, rank, wrong
from icl_core.papers.birth.induction.grafted import achieved, graft
from icl_core.papers.birth.induction.load_run import origin, weights_at
from icl_core.papers.birth.induction.settings import View
from icl_core.papers.birth.induction.words import WORDS
from icl_core.papers.birth.shared.draw import KINDS, NAMES, READ, formed

Maps = tuple[np.ndarray, np.ndarray, np.ndarray]  # trained, constructed, difference
WRONG = ["asked for", "answers", "should answer", "short by"]


def matrices(run: Run, view: View) -> Panel:
    """Draw one matrix as readings v_jᵀ W u_i, trained | constructed | difference on one scale."""
    snapshot = run.snapshot_at(view)
    name = shown(run, view.memory)
    weights, end = (weights_at(run, index) for index in (snapshot, len(run.snapshot_steps) - 1))
    comparison, last = (compare(name, model, run.config) for model in (weights, end))
    maps = _maps(comparison, view)
    read = comparison.trained
    limit = figures.largest_magnitude(*maps, *_maps(last, view))  # one scale for all snapshots
    heads = origin(run), "constructed", "difference"
    titles = {"row_title": read.row_kind, "column_title": read.column_kind}
    data = pd.DataFrame(np.round(maps[0], 4), index=read.rows, columns=read.columns)
    return WORDS.panel(
        "matrix",
        run,
        view,
        figures.triple(
            *maps, read.rows, read.columns, READ[name], limit=limit, titles=heads, **titles
        ),
        table=pd.DataFrame(wrong(name, read), columns=WRONG) if view.wrong else None,
        data=data.reset_index(names=read.row_kind),
        matrix=NAMES[name],
        formed=formed(name),
        explained=max(0.0, comparison.aligned.explained),
        factor=comparison.aligned.factor,
        zeros=_zeros(comparison, heads),
        rank=rank(weights[name]),
        **_recalls(comparison),
    )


def shown(run: Run, wanted: str) -> str:
    """Return the matrix asked for, or W_O² where the model has no such one."""
    there = {"W_F": run.config.feed_forward, "W_K1": run.config.layers == 2}.get(wanted, True)
    return wanted if there else "W_O2"


def _maps(comparison: Comparison, view: View) -> Maps:
    """Return trained, constructed and difference, aligned or raw."""
    if view.raw:
        trained = comparison.trained.matrix.numpy()
        constructed = comparison.constructed.matrix.numpy()
        return trained, constructed, trained - constructed
    aligned = comparison.aligned
    return aligned.trained.numpy(), aligned.constructed.numpy(), aligned.difference.numpy()


def _recalls(comparison: Comparison) -> dict[str, Any]:
    """Return the recall and the margin of both, and whether there are any: W_F stores no pairs, and
    a single pair has no wrong answer."""
    recalls = comparison.recall or (np.nan, np.nan)
    margins = comparison.margin or (np.nan, np.nan)
    return {
        "recalls": comparison.recall is not None,
        "recall": recalls[0],
        "recall_built": recalls[1],
        "margins": comparison.recall is not None and bool(np.isfinite(margins[0])),
        "margin": margins[0],
        "margin_built": margins[1],
    }


def _zeros(comparison: Comparison, heads: tuple[str, ...]) -> str:
    """Return which of the maps have nothing to show."""
    readings = zip(heads, (comparison.trained, comparison.constructed), strict=False)
    return " and ".join(head for head, scores in readings if not scores.matrix.any())


def spectrum(run: Run, view: View) -> Panel:
    """Draw the singular values of the matrices at the step shown."""
    weights = weights_at(run, run.snapshot_at(view))
    names = [name for name in weights.trained() if name != "W_K1" or run.config.layers == 2]
    values = {NAMES[name]: np.linalg.svd(weights[name].numpy(), compute_uv=False) for name in names}
    figure = figures.spectrum(values, [KINDS[name] for name in names])
    return WORDS.panel(
        "spectrum",
        run,
        view,
        figure,
        data=pd.DataFrame(values),
        directions=", ".join(f"{NAMES[name]} {rank(weights[name])}" for name in names),
    )


def surgery(run: Run, view: View) -> Panel:
    """Draw the in-context accuracy before and after the grafts that the view asks for."""
    labels = [origin(run), "after the graft"]
    _, phrases = graft(run, weights_at(run, run.snapshot_at(view)), view)
    before = achieved(run, View(snapshot=view.snapshot))
    after = achieved(run, view)
    values, errors = ([before[name], after[name]] for name in ("accuracy", "accuracy_error"))
    kinds = ["trained", "construction" if phrases else "trained"]
    figure = figures.bars(
        labels, values, "in-context accuracy", errors=errors, kinds=kinds, y_range=(0, 1.05)
    )
    return WORDS.panel(
        "graft",
        run,
        view,
        figure,
        data=pd.DataFrame([before, after], index=labels).T,
        parts=", ".join(f"{NAMES[name]} → {phrase}" for name, phrase in phrases.items()),
        fitted=any("×" in phrase for phrase in phrases.values()),
        loss=before["in_context_loss"],
        loss_left=after["in_context_loss"],
        loss_changes=after["in_context_loss"] != before["in_context_loss"],
        global_loss=before["global_loss"],
        global_loss_left=after["global_loss"],
        global_loss_changes=after["global_loss"] != before["global_loss"],
    )


def score(run: Run, view: View) -> Panel:
    """Draw what is kept of accuracy and logits with constructed matrices in place of the model's
    own."""
    snapshot = run.snapshot_at(view)
    shares = beside_construction.kept(run, snapshot)
    labels = []
    values = []
    errors = []
    kinds = []
    for name, share in shares.items():
        label = NAMES.get(
            name, {beside_construction.CLEANED: "all, without cross-talk"}.get(name, name)
        )
        labels += [label, f"{label}: logits"]
        values += [share.accuracy, share.logits]
        errors += [share.error, 0.0]
        kinds += ["construction", figures.colour("seed")]
    return WORDS.panel(
        "score",
        run,
        view,
        figures.bars(labels, values, "share kept", errors=errors, kinds=kinds, y_range=(0, 1.1)),
        data=pd.DataFrame({"stands in": labels, "share kept": values, "standard error": errors}),
        together=shares[beside_construction.TOGETHER].accuracy,
        cleaned=shares[beside_construction.CLEANED].accuracy,
    )

"""What the layer holds beside the gradient, over its training and after every pair, and what the
recurrence keeps of every example (Figure 3 B); and how the numbers on the maps of the stage are
made, from examples."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.explanation import Explanation, Map, Term, largest
from icl_core.contract.figure import Figure
from icl_core.figures import Curve, number_text
from icl_core.papers.gdssm.layer.accumulated_state import (
    PROMPTS,
    SUMS,
    Held,
    contributed,
    held,
    is_curvature,
    typical,
)
from icl_core.papers.gdssm.layer.grafted import as_trained
from icl_core.papers.gdssm.layer.words import WORDS
from icl_core.papers.gdssm.shared.load_run import row_of, trained_at
from icl_core.papers.gdssm.shared.weights import powers

TITLES = ("State", "Exact sum")
SAYS = (
    "What each example has added to the state, with all later decays, times the factor "
    "{factor}; beside it what the "
    "exact sum counts for it.",
    "Each example adds the product of two of its numbers: minus N times the gradient is nothing "
    "but their sum.",
)


def state(run: Run, view: Any) -> Panel:
    """Draw the state after the pairs read."""
    memory = held(run, view)
    return WORDS.panel("state", run, view, _map(memory, 0), factor=memory.factor)


def exact(run: Run, view: Any) -> Panel:
    """Draw the exact sum over the same pairs."""
    return WORDS.panel("exact", run, view, _map(held(run, view), 1))


def _map(memory: Held, index: int) -> Figure:
    """Draw the state or the exact sum."""
    matrix = list(memory.maps.values())[index]
    return figures.small_map(matrix, (None, None), memory.axes, memory.total, memory.limit)


def _explain_map(index: int, run: Run, view: Any) -> list[Map]:
    """Explain the map of the state or of the exact sum; the rows of a vector are numbers of pairs
    read."""
    memory = held(run, view)
    matrix = np.asarray(list(memory.maps.values())[index], np.float32)
    rows, columns = ([str(i + 1) for i in range(size)] for size in matrix.shape)
    explain = partial(_explain_sum, index, run, view, memory)
    return [Map(TITLES[index], matrix, memory.axes, rows, columns, explain)]


def _explain_sum(
    index: int, run: Run, view: Any, memory: Held, row: int, column: int
) -> Explanation:
    """Explain a number of the state or of the exact sum as a sum over examples."""
    vector = memory.state.shape[1] == 1
    pairs, at = (row + 1, 0) if vector else (memory.shown, row)
    ours, exact = (added[:, at, column] for added in contributed(run, view, pairs))  # [pairs]
    ours = memory.factor * ours
    values = (ours, exact)[index]
    says = [""] * pairs
    if index == 0:  # the state's
        says = [f"exact: {number_text(float(value))}" for value in exact]
    terms = [Term(f"example {t + 1}", float(values[t]), says[t]) for t in range(pairs)]
    sums = (memory.state, memory.exact)[index]
    total = sums[pairs - 1, at, column]
    exact_total = Term("the exact sum", float(memory.exact[pairs - 1, at, column]), memory.total)
    beside = (exact_total,) if index == 0 else ()
    where = f"entry {column + 1}" if vector else f"row {row + 1}, column {column + 1}"
    return Explanation(
        f"{TITLES[index]} after {pairs} pair{'s' * (pairs > 1)}, {where}",
        SAYS[index].format(factor=number_text(memory.factor)),
        float(total),
        largest(terms, "other examples"),
        beside=beside,
    )


explain_state, explain_exact = (partial(_explain_map, index) for index in range(2))


def along(run: Run, view: Any) -> Panel:
    """Draw, for one feature, where state and gradient are numbers, one against the other, over
    prompts and pairs read."""
    state, exact = typical(run, view)
    top = 1.05 * figures.largest_magnitude(exact)
    off = np.sqrt(((state - exact)[-1] ** 2).mean() / (exact[-1] ** 2).mean())
    ends = np.array([-top, top])
    pairs = np.stack([exact.ravel(), state.ravel()], 1)  # [N prompts, 2]
    figure = figures.curves(
        [Curve("equal, as constructed", ends, ends, "construction")],
        f"{SUMS[is_curvature(run, view)][0]}, exact",
        "state",
        x_range=(-top, top),
        y_range=(-top, top),
        height=figures.SEAT,
    )
    dots = figures.dots(pairs, "trained").update(
        marker={"size": 7, "color": figures.colour("trained")}
    )
    figure.add_trace(dots).update_layout(showlegend=True, hovermode="closest")
    seated = figures.seated(figure, figures.WIDE)
    return WORDS.panel("along", run, view, seated, off=float(off), prompts=exact.shape[1])


def tokens(run: Run, view: Any) -> Panel:
    """Draw the state after t pairs, scaled by one factor for all t, the exact sum, and their
    difference."""
    memory = held(run, as_trained(view), exactly=True)
    row_title, column_title = memory.axes
    figure = figures.maps(
        tuple(memory.maps),
        list(memory.maps.values()),
        None,
        None,
        memory.total,
        columns=3,
        limit=memory.limit,
        row_title=row_title,
        column_title=column_title,
    )
    away = {"pairs": range(1, len(memory.away) + 1), "relative difference": memory.away}
    return WORDS.panel(
        "tokens",
        run,
        view,
        figure,
        data=pd.DataFrame(away).round(6),
        off=memory.off,
        factor=memory.factor,
        prompts=PROMPTS,
    )


def recurrence(run: Run, view: Any) -> Panel:
    """Draw a^(N-t) of every head against t: how much of the t-th example is still in the state when
    the query comes."""
    N = run.config.N
    heads = _heads(run, view)
    x = np.arange(1, N + 1)
    first = heads[0].y[:, 0]  # [entries]
    ticks = [t for t in range(1, N + 1) if t == 1 or t % max(1, -(-N // 10)) == 0]
    series = [*heads, Curve("constructed", x, np.ones(N), "construction")]
    figure = figures.curves(series, "example t", "share of it left in the state")
    return WORDS.panel(
        "recurrence",
        run,
        view,
        figure.update_xaxes(tickvals=ticks),
        data=pd.DataFrame({"example": x} | {head.name: head.y.mean(0) for head in heads}).round(5),
        first=float(first.mean()),
        entries=len(first),
    )


def _heads(run: Run, view: Any) -> list[Curve]:
    """Return a curve for every head: a^(N-t) of every entry, [entries, N]."""
    weights = trained_at(run, run.snapshot_at(view), row_of(run, view)).tensors()
    N = run.config.N

    def head(name: str, kind: str, a: Tensor, dash: str | None = None) -> Curve:
        shares = powers(a, N)[0].reshape(N, -1).T.numpy()  # [entries, N]
        return Curve(name, np.arange(1, N + 1), shares, kind, dash, band="minmax", markers=N <= 20)

    if run.config.layers == 1:
        return [head("trained", "trained", weights["a"])]
    heads = []
    for name, sign, dash, first in (("a", "Z", None, 1), ("a_tilde", "Z̃", "dash", 2)):
        for layer, a in enumerate(weights[name].unbind(1), first):
            heads.append(head(f"{sign}, layer {layer}", f"layer {layer}", a, dash))
    return heads

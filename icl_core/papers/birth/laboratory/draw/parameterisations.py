"""The same pairs in other forms: factors, heads, layer norm, an MLP; and one concrete memory of
each form, with what it answers when it is asked for its pairs."""

from itertools import pairwise

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Trace
from icl_core.contract.seeds import setting_of
from icl_core.contract.statistics import standard_error
from icl_core.figures import Curve
from icl_core.figures.style import TICKS
from icl_core.papers.birth.laboratory import memory
from icl_core.papers.birth.laboratory.load_run import at, place
from icl_core.papers.birth.laboratory.settings import FORMS, HEADS, View
from icl_core.papers.birth.laboratory.sweeps import ANSWERS, MLP_THRESHOLD, TOKENS
from icl_core.papers.birth.laboratory.words import WORDS

ALIKE = 0.02  # recalls that differ by less are alike
DRAWN = 3  # memories over which readings are averaged
SHOWN = 16  # pairs of one memory of which readings are shown
REST = "rest"  # the row of the loudest of all other outputs


def inner(view: View) -> int:
    """Return the inner width shown: no more than there are dimensions."""
    return min(view.rank, view.width)


def forms(run: Run, view: View) -> Panel:
    """Draw what each form recalls of the pairs shown."""
    d = view.width
    where = {"width": d, "pairs": view.pairs}
    shares = {  # [seeds] each
        "W": at(run, "capacity/equal", width=d, capacity=view.pairs),
        f"U V {inner(view)}": at(run, "form/factorised", rank=inner(view), **where),
        f"{HEADS - view.taken} heads": at(run, "form/shared", taken=view.taken, **where),
        "MLP": at(run, "form/mlp", **where),
    }
    numbers = (
        d * d,
        2 * d * inner(view),
        2 * d * d * (HEADS - view.taken) // HEADS,
        2 * d * view.pairs,
    )
    means = {form: float(np.mean(seeds)) for form, seeds in shares.items()}
    values = list(means.values())
    errors = [standard_error(seeds) or 0.0 for seeds in shares.values()]
    kinds = ["layer 1", "layer 4", "layer 3", "layer 2"]
    figure = figures.bars(
        list(means),
        values,
        "recall",
        errors=errors,
        kinds=kinds,
        y_range=(0, 1.05),
        height=figures.SEAT,
    )
    figure.data[0].update(
        textangle=0, textfont={"size": TICKS}, text=[f"{value:.0%}" for value in values]
    )
    figure.update_xaxes(tickangle=0)
    best = max(values)
    leaders = [name for name, value in means.items() if best - value < ALIKE]
    return WORDS.panel(
        "forms",
        run,
        view,
        figures.seated(figure),
        data=pd.DataFrame(
            {"form": list(means), "recall": np.round(values, 4), "numbers stored": numbers}
        ),
        are_alike=len(leaders) == len(means),
        leaders=len(leaders),
        leader_names=", ".join(leaders),
        best=best,
        mlp_threshold=MLP_THRESHOLD,
    )


def concrete(run: Run, view: View) -> Panel:
    """Draw the readings v_jᵀ W u_i of the first pairs, with the outputs that win where it is
    wrong."""
    U, V = memory.pairs(view.pairs, view.width, setting_of(run))
    scores = answers(view, U[:SHOWN], U, V, setting_of(run)) @ V.T  # (asked, outputs)
    count = len(scores)
    form = FORMS[view.form]
    rest = scores[:, count:].max(1) if view.pairs > count else np.full(count, np.nan)
    matrix = np.vstack([scores[:, :count].T, rest])  # (outputs + 1, asked)
    rows = [*(str(index + 1) for index in range(count)), REST]
    figure = figures.small_map(
        matrix, (rows, rows[:-1]), ("output j; last row: others", "asked i"), "reading", 1.0
    )
    winner = np.minimum(scores.argmax(1), count)
    wrong = np.flatnonzero(winner != np.arange(count))
    figure.add_trace(_outlined([rows[winner[i]] for i in wrong], [rows[i] for i in wrong]))
    return WORDS.panel(
        "concrete",
        run,
        view,
        figure,
        data=pd.DataFrame(matrix.round(4), index=rows, columns=rows[:-1]).reset_index(
            names="output"
        ),
        memory=f"{form[0].upper()}{form[1:]}",
        right=count - len(wrong),
        count=count,
    )


def answers(view: View, asked: np.ndarray, U: np.ndarray, V: np.ndarray, seed: int) -> np.ndarray:
    """Return what the memory of the pairs U, V in the view's form answers, a row for each of the
    vectors `asked`."""
    if view.form == "mlp":
        return memory.mlp(asked, U, V, MLP_THRESHOLD)
    if view.form == "factorised":
        return asked @ memory.product(memory.factorised(U, V, inner(view), seed)).T
    plain = asked @ memory.full(U, V).T  # (asked, d)
    return memory.normed(plain) if view.form == "norm" else plain


def _outlined(rows: list[str], columns: list[str]) -> Trace:
    marker = {
        "symbol": "square-open",
        "size": 12,
        "line": {"width": 2},
        "color": figures.colour("trigger"),
    }
    return Trace(
        x=columns,
        y=rows,
        mode="markers",
        marker=marker,
        showlegend=False,
        hoverinfo="skip",
        name="wins",
    )


def factorised(run: Run, view: View) -> Panel:
    """Draw recall against the inner width of U V."""
    ranks = run["axis/rank"]
    where = {"width": view.width, "pairs": view.pairs}
    full = float(at(run, "capacity/equal", width=view.width, capacity=view.pairs).mean())
    series = [
        Curve(
            "nearest matrix of rank d′",
            ranks,
            at(run, "form/best", **where),
            "construction",
            markers=True,
        ),
        Curve(
            "U V of Appendix D", ranks, at(run, "form/factorised", **where), "layer 4", markers=True
        ),
    ]
    shape = {
        "log_x": True,
        "y_range": (0, 1.04),
        "lines": [("W", full, "floor")],
        "at": inner(view),
    }
    figure = figures.curves(series, "inner width d′", "recall", **shape)
    figure.update_xaxes(tickvals=ranks, ticktext=[str(rank) for rank in ranks])
    here, nearest = (
        float(at(run, f"form/{name}", rank=inner(view), **where).mean())
        for name in ("factorised", "best")
    )
    data = pd.DataFrame({"d′": ranks} | {curve.name: curve.mean() for curve in series})
    return WORDS.panel(
        "factorised",
        run,
        view,
        figure,
        data=data.round(4),
        inner=inner(view),
        here=here,
        nearest=nearest,
    )


def heads(run: Run, view: View) -> Panel:
    """Draw recall against the number of heads taken away."""
    counts = run["axis/taken"]
    where = {"width": view.width, "pairs": view.pairs}
    series = [
        Curve(
            "every head stores all pairs",
            counts,
            at(run, "form/shared", **where),
            "layer 3",
            markers=True,
        ),
        Curve(
            "each stores an eighth", counts, at(run, "form/split", **where), "layer 5", markers=True
        ),
    ]
    figure = figures.curves(
        series, f"heads taken away, of {HEADS}", "recall", y_range=(0, 1.04), at=view.taken
    )
    index = place(run, "taken", view.taken)
    shared, split = (float(curve.mean()[index]) for curve in series)
    data = pd.DataFrame({"taken": counts} | {curve.name: curve.mean() for curve in series})
    return WORDS.panel(
        "heads",
        run,
        view,
        figure,
        data=data.round(4),
        heads=HEADS,
        left=HEADS - view.taken,
        shared=shared,
        split=split,
    )


def sets(run: Run, view: View) -> Panel:
    """Draw recall of sets of vectors against the MLP's threshold."""
    where = {"width": view.width, "members": view.members}
    thresholds = run["axis/threshold"]
    linear = float(at(run, "form/linear", **where).mean())
    shares = at(run, "form/sets", **where)  # [seeds, thresholds]
    series = [Curve("MLP", thresholds, shares, "layer 2")]
    shared = (view.members - 1) / view.members
    marks = [(shared, "a similar set", "other output"), (1.0, "the set itself", "correct output")]
    figure = figures.curves(
        series,
        "threshold b",
        "recall",
        y_range=(0, 1.04),
        lines=[("a matrix", linear, "floor")],
        marks=marks if view.members > 1 else marks[1:],
        at=view.threshold,
    )
    return WORDS.panel(
        "sets",
        run,
        view,
        figure,
        data=pd.DataFrame({"threshold": thresholds, "MLP": shares.mean(0)}).round(4),
        here=float(shares.mean(0)[place(run, "threshold", view.threshold)]),
        linear=linear,
        best=float(shares.mean(0).max()),
        tokens=TOKENS,
        outputs=ANSWERS,
    )


def norm(run: Run, view: View) -> Panel:
    """Draw readings by rank, with and without layer norm, of pairs as strong as they are
    frequent."""
    ranks = np.arange(1, view.pairs + 1)
    strengths = (ranks**-run.config.exponent).astype(np.float32)
    readings = [_readings(strengths, view.width, run.config.seed + index) for index in range(DRAWN)]
    plain, normed = np.mean(readings, 0)  # [pairs] each
    rest = np.sqrt(strengths**2 + ((strengths**2).sum() - strengths**2) / view.width)
    x, grouped = _by_rank(np.array([normed, plain, strengths / rest, strengths]))
    series = [
        Curve("layer norm", x, grouped[0], "layer 2", markers=True),
        Curve("without", x, grouped[1], "layer 1", markers=True),
        Curve("formula, layer norm", x, grouped[2], "floor"),
        Curve("formula, without", x, grouped[3], "floor"),
    ]
    figure = figures.curves(
        series,
        "rank of the pair, the most frequent first",
        "reading of the right output",
        log_x=True,
    )
    tenth = min(9, view.pairs - 1)
    data = pd.DataFrame({"rank": x} | {curve.name: curve.mean() for curve in series})
    return WORDS.panel(
        "norm",
        run,
        view,
        figure,
        data=data.round(4),
        rank=tenth + 1,
        with_norm=strengths[tenth] / rest[tenth],
        without=strengths[tenth],
    )


def _by_rank(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the middles of groups of neighbouring ranks, and the means over each group of values
    by rank, [..., ranks] to [..., groups]."""
    edges = np.unique(np.geomspace(1, values.shape[-1] + 1, 25).round().astype(int)) - 1
    middles = np.sqrt((edges[:-1] + 1.0) * edges[1:])
    means = [values[..., low:high].mean(-1) for low, high in pairwise(edges)]
    return middles, np.stack(means, -1)


def _readings(strengths: np.ndarray, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what each pair's own output reads, without layer norm and with it, [pairs] each."""
    U, V = memory.pairs(len(strengths), d, seed)
    answers = U @ memory.full(U, V, strengths).T
    return (V * answers).sum(1), (V * memory.normed(answers)).sum(1)

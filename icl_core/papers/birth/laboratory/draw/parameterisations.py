"""The same pairs in other forms: factors, heads, layer norm, an MLP."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.figures.style import TICKS
from icl_core.papers.birth.laboratory import memory, vectors
from icl_core.papers.birth.laboratory.load_run import at, place
from icl_core.papers.birth.laboratory.settings import HEADS, View
from icl_core.papers.birth.laboratory.sweeps import ANSWERS, MLP_THRESHOLD, TOKENS
from icl_core.statistics.over_seeds import standard_error

ALIKE = 0.02  # recalls that differ by less are alike
DRAWN = 3  # memories over which readings are averaged


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
    return Panel(
        f"{view.pairs:,} pairs: {_leading(means)}",
        "The same pairs stored as one matrix W, as a product U V of inner width d′, in heads of "
        "width d/8 that store all pairs each, and in an MLP with a hidden unit per pair that is "
        f"silent below {MLP_THRESHOLD}. Guessing would recall one pair in P. Heads taken away, d′ "
        "and P are set in the drawers “Other forms” and “View”.",
        figures.seated(figure),
        data=pd.DataFrame(
            {"form": list(means), "recall": np.round(values, 4), "numbers stored": numbers}
        ),
    )


def _leading(recalled: Mapping[str, float]) -> str:
    """Return the forms that recall most, in words: one, or all that are as good."""
    best = max(recalled.values())
    leading = [name for name, value in recalled.items() if best - value < ALIKE]
    if len(leading) == len(recalled):
        return f"all forms {best:.0%}"
    return (
        f"{leading[0]} leads, {best:.0%}"
        if len(leading) == 1
        else f"{', '.join(leading)} {best:.0%}"
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
    here, best = (
        float(at(run, f"form/{name}", rank=inner(view), **where).mean())
        for name in ("factorised", "best")
    )
    return Panel(
        f"d′ = {inner(view)}: U V recalls {here:.0%}, the nearest matrix of that rank {best:.0%}, "
        f"W {full:.0%}",
        "A head's matrices are products with an inner width d′. The paper writes U and V down as "
        "one gradient step from random ones would make them; their random parts add noise. The "
        "nearest matrix of the same rank has none: what it loses is lost by the rank. If rank did "
        "not matter, both curves would be level.",
        figure,
        data=pd.DataFrame({"d′": ranks} | {curve.name: curve.mean() for curve in series}).round(4),
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
    return Panel(
        f"{HEADS - view.taken} heads left: {shared:.0%} if each stores all pairs, {split:.0%} if "
        "each an eighth",
        f"{HEADS} heads of width d/{HEADS}, each a product U V. If all store all pairs, the random "
        "parts of the heads average out and any head can be missed: this is the redundancy that "
        "makes it hard to say which head knows what. If each stores its own share, every head "
        "taken away takes its pairs along, and the others' noise stays.",
        figure,
        data=pd.DataFrame({"taken": counts} | {curve.name: curve.mean() for curve in series}).round(
            4
        ),
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
    here = float(shares.mean(0)[place(run, "threshold", view.threshold)])
    best = float(shares.mean(0).max())
    member = {1: "one vector", 2: "two vectors", 3: "three vectors"}[view.members]
    return Panel(
        f"Sets of {member}, b = {view.threshold:g}: the MLP recalls {here:.0%}, a matrix "
        f"{linear:.0%}",
        f"Each set of {member} out of {TOKENS} has one of {ANSWERS} outputs, drawn at random. A "
        "matrix must answer a sum with the sum of its members' answers. A hidden unit knows its "
        "whole set: its input is about 1 for it, and less for sets that share only a part. "
        f"Between the two stands the best threshold ({best:.0%}). Lower, similar sets speak too; "
        "higher, the set itself is silent. Without a threshold the curve would lie on the dotted "
        "line.",
        figure,
        data=pd.DataFrame({"threshold": thresholds, "MLP": shares.mean(0)}).round(4),
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
    return Panel(
        f"By formula the pair of rank {tenth + 1} reads {strengths[tenth] / rest[tenth]:.2f} with "
        f"layer norm, {strengths[tenth]:.2f} without",
        "Pairs stored as strongly as they are frequent, and how strongly each is read, means over "
        "neighbouring ranks. Layer norm divides an answer by its length, so that a weak pair is "
        "read as loudly as a strong one as long as it is louder than the cross-talk. Which output "
        "wins does not change. If it evened out nothing, the curves would be one.",
        figure,
        data=pd.DataFrame({"rank": x} | {curve.name: curve.mean() for curve in series}).round(4),
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
    U, V = vectors.pairs(len(strengths), d, seed)
    answers = U @ memory.full(U, V, strengths).T
    return (V * answers).sum(1), (V * memory.normed(answers)).sum(1)

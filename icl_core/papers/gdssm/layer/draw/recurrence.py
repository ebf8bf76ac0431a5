"""What the recurrence keeps of every example (Figure 3 B): the powers of the decay."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.papers.gdssm.shared.read_run import percent, row_of, trained_at
from icl_core.papers.gdssm.shared.weights import powers


def draw(run: Run, view: Any) -> Panel:
    """a^(N-t) of every head against t: how much of the t-th example is still in the state when the query comes."""
    snapshot, N = run.snapshot_at(view), run.config.N
    kept = heads(run, snapshot, row_of(run, view))
    x = np.arange(1, N + 1)
    series = [
        Curve(name, x, rows, kind, dash, band="minmax", markers=N <= 20) for name, (kind, dash, rows) in kept.items()
    ]
    series.append(Curve("constructed", x, np.ones(N), "construction"))
    figure = figures.curves(series, "example t", "share of it left in the state", at=None)
    first = next(iter(kept.values()))[2][:, 0]
    ticks = [t for t in range(1, N + 1) if t == 1 or t % max(1, -(-N // 10)) == 0]
    step = run.snapshot_steps[snapshot]
    return Panel(
        f"Step {step}: the first example still counts {percent(float(first.mean()))} after the last",
        "The decays A to the power of the tokens that follow. A gradient is a plain sum, so every example should "
        "count 1, as the construction has it. Decays of 0.95, where training begins, would forget the first examples."
        + (" The band spans the entries of A." if len(next(iter(kept.values()))[2]) > 1 else ""),
        figure.update_xaxes(tickvals=ticks),
        data=pd.DataFrame({"example": x} | {name: rows.mean(0) for name, (_, _, rows) in kept.items()}).round(5),
    )


def heads(run: Run, snapshot: int, row: int) -> dict[str, tuple[str, str | None, np.ndarray]]:
    """By head: colour, dash, and a^(N-t) of every entry, [entries, N]."""
    weights, N = trained_at(run, snapshot, row).tensors(), run.config.N
    if run.config.layers == 1:
        kept = powers(weights["a"], N)[0].reshape(N, -1).T.numpy()
        return {"trained": ("trained", None, kept)}
    found: dict[str, tuple[str, str | None, np.ndarray]] = {}
    for name, sign, dash, first in (("a", "Z", None, 1), ("a_tilde", "Z̃", "dash", 2)):
        for index in range(weights[name].shape[1]):
            kept = powers(weights[name][:, index], N)[0].reshape(N, -1).T.numpy()
            found[f"{sign}, layer {index + first}"] = (f"layer {index + first}", dash, kept)
    return found

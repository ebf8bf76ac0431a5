"""What the recurrence keeps of every example (Figure 3 B): the powers of the decay."""

from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.papers.gdssm.shared.load_run import percent, row_of, trained_at
from icl_core.papers.gdssm.shared.weights import powers


def draw(run: Run, view: Any) -> Panel:
    """Draw a^(N-t) of every head against t: how much of the t-th example is still in the state when
    the query comes."""
    N = run.config.N
    step = run.step(view)
    heads = _heads(run, view)
    x = np.arange(1, N + 1)
    first = heads[0].y[:, 0]  # [entries]
    ticks = [t for t in range(1, N + 1) if t == 1 or t % max(1, -(-N // 10)) == 0]
    series = [*heads, Curve("constructed", x, np.ones(N), "construction")]
    return Panel(
        f"Step {step}: in the end the first example counts {percent(float(first.mean()))} of the "
        "last",
        "How much of each example is still in the state when the query comes: its decay to the "
        "power of the pairs that follow it. A gradient is a plain sum, so every example should "
        "count 1. Decays of 0.95, near which training begins, would forget the first ones."
        + (" The band spans the entries of A." if len(first) > 1 else ""),
        figures.curves(series, "example t", "share of it left in the state").update_xaxes(
            tickvals=ticks
        ),
        data=pd.DataFrame({"example": x} | {head.name: head.y.mean(0) for head in heads}).round(5),
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

"""How W_K¹ comes to its positions, what the opposite freezing lets form, and outputs of the law not
trained on."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve, mean_of
from icl_core.papers.birth.induction.draw.curves import over_steps
from icl_core.papers.birth.induction.memory_formation import at_the_thaw
from icl_core.papers.birth.induction.metrics import other_law
from icl_core.papers.birth.induction.settings import View
from icl_core.papers.birth.shared.probes import early_positions

ROWS = (("W_K1_early_rows", "early rows", "solid"), ("W_K1_late_rows", "late rows", "dash"))


def rows(run: Run, view: View) -> Panel:
    """Recall of W_K1 by early and by late queries, all keys competing."""
    early = early_positions(run.config.T)
    x = run["curve/step"]
    series = [
        Curve(label, x, run[f"curve/recall_{name}"], "layer 1", dash) for name, label, dash in ROWS
    ]
    (first, late) = (curve.mean() for curve in series)
    window = mean_of(run["curve/recall_W_K1_early"])
    series.append(
        Curve("early keys alone", x, run["curve/recall_W_K1_early"], figures.colour("seed"), "dot")
    )
    title = (
        f"W_K¹ gets {_last(first):.0%} of its early rows right, {_last(late):.0%} of its late ones"
    )
    return Panel(
        title if run.finished else "Early and late rows of W_K¹ so far",
        f"Early rows are the queries at the first {early} positions, late rows all others. Both "
        f"choose among all keys; for the dotted line, the paper's probe, only the first {early} "
        "keys compete. If all positions were stored alike, you would see one line.",
        over_steps(run, view, series, "recall", y_range=(0, 1.02)),
        data=pd.DataFrame(
            {"step": x, "early rows": first, "late rows": late, "early keys alone": window}
        ),
    )


def _last(curve: np.ndarray) -> float:
    known = curve[np.isfinite(curve)]
    return float(known[-1]) if len(known) else np.nan


def opposite(run: Run, view: View) -> Panel:
    """Figure 3, right: W_K2's recall while W_K1 is frozen, W_K1's while W_K2 is, up to the thaw."""
    kinds = (
        {"W_K2": "curve", "W_K1": "opposite"}
        if run.config.freeze_W_K1
        else {"W_K2": "opposite", "W_K1": "curve"}
    )
    until = run.config.freeze_until
    probes = (
        ("W_K2", "W_K2", "W_K², W_K¹ frozen", "layer 2", "solid"),
        ("W_K2", "W_K2_weighted", "the same by frequency", "layer 2", "dot"),
        ("W_K1", "W_K1_early", "early W_K¹, W_K² frozen", "layer 1", "solid"),
        ("W_K1", "W_K1", "all of W_K¹", "layer 1", "dot"),
    )
    series = []
    for matrix, name, label, kind, dash in probes:
        shown = run[f"{kinds[matrix]}/step"] <= until
        values = run[f"{kinds[matrix]}/recall_{name}"][:, shown]
        series.append(Curve(label, run[f"{kinds[matrix]}/step"][shown], values, kind, dash))
    second, first = (float(each.mean()) for each in at_the_thaw(run, "W_K2", "W_K1_early"))
    return Panel(
        f"W_K² gets {second:.0%} right without W_K¹, W_K¹ {first:.0%} without W_K²",
        "Two trainings from the same start. In each, one of the two matrices is frozen up to the "
        "thaw. The paper reads this as: the second layer is the easier one to learn first. If "
        "neither needed the other, both would rise as high as when trained together.",
        figures.curves(series, "training step", "recall", y_range=(0, 1.02)),
        data=pd.DataFrame(
            {
                "recall": [curve.name for curve in series],
                "last before the thaw": [c.mean()[-1] for c in series],
            }
        ),
    )


def outputs(run: Run, view: View) -> Panel:
    """Figure 4, center: accuracy on outputs of both laws, one of which was trained on."""
    own = run.config.outputs
    x = run["curve/step"]
    other = other_law(own)
    series = [
        Curve(f"{own} outputs, trained on", x, run["curve/accuracy"], "trained"),
        Curve(f"{other} outputs", x, run[f"curve/accuracy_{other}"], "layer 4", "dash"),
    ]
    here, there = (_last(curve.mean()) for curve in series)
    return Panel(
        f"Trained on {own} outputs: {here:.0%} right, on {other} outputs {there:.0%}"
        if run.finished
        else "Outputs drawn in both ways, so far",
        "In-context accuracy on held-out sequences with outputs drawn as in training, and with "
        "outputs drawn the other way. A model that copies whatever followed does equally well on "
        "both.",
        over_steps(run, view, series, "in-context accuracy", y_range=(0, 1.02)),
        data=pd.DataFrame({"step": x, own: series[0].mean(), other: series[1].mean()}),
    )

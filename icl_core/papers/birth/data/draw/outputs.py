"""Uniform or bigram outputs: trained on one, tested on both (Figure 4, center, and Figure 6)."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.papers.birth.data.arrivals import BIGRAM, UNIFORM, of
from icl_core.papers.birth.data.draw.style import PROBES, kind
from icl_core.papers.birth.data.settings import OUTPUTS, View

LAWS = {"uniform": None, "bigram": "dash"}  # what is tested on, with its dash
DASHES = {UNIFORM: None, BIGRAM: "dash"}


def accuracy(run: Run, view: View) -> Panel:
    """In-context accuracy, trained on either law and tested on both (Figure 4, center)."""
    x = run["curve/step"]
    series = [
        Curve(
            f"{OUTPUTS[name]} → {law}", x, of(run, f"curve/accuracy_{law}", name), kind(name), dash
        )
        for name in OUTPUTS
        for law, dash in LAWS.items()
    ]
    return Panel(
        _title(run) if run.finished else "Right in context, so far",
        "“uniform → bigram” is trained on uniform outputs and tested on bigram ones. A model of "
        "bigram outputs, which are likely characters anyway, fails on unlikely ones. One of "
        "uniform outputs does not need them to be likely. If the outputs did not matter, all four "
        "lines would lie together. The title counts more sequences than the lines do.",
        figures.curves(
            series, "training step", "accuracy in context", y_range=(0, 1.02), height=340
        ),
        data=pd.DataFrame({"step": x} | {each.name: np.round(each.mean(), 4) for each in series}),
    )


def _title(run: Run) -> str:
    accuracies = {
        name: float(of(run, "evaluated/accuracy_uniform", name).mean()) for name in OUTPUTS
    }
    return (
        f"On uniform outputs: trained on uniform {accuracies[UNIFORM]:.0%}, on bigram "
        f"{accuracies[BIGRAM]:.0%}"
    )


def probes(run: Run, view: View) -> Panel:
    """Draw what the matrices of both trainings recall (Figure 6)."""
    x = run["curve/step"]
    series = [
        Curve(
            f"{PROBES[probe][0]}, {OUTPUTS[name]}",
            x,
            of(run, f"curve/{probe}", name),
            PROBES[probe][1],
            dash,
        )
        for probe in list(PROBES)[1:]
        for name, dash in DASHES.items()
    ]
    gaps = ", ".join(
        f"{PROBES[probe][0]} {100 * _gap(run, probe):+.0f}".replace("-", "\N{MINUS SIGN}")
        for probe in list(PROBES)[1:]
    )
    return Panel(
        f"Gained by uniform outputs: {gaps} points"
        if run.finished
        else "What the matrices recall, so far",
        "Solid: trained on uniform outputs. Dashed: on bigram outputs, which W_F can guess "
        "without any context, so that less is left to learn for W_O² and W_K². W_K¹ only has to "
        "find the previous character, whatever comes out. If outputs did not matter, solid and "
        "dashed would agree for all three.",
        figures.curves(series, "training step", "recall", y_range=(0, 1.02), height=340),
        data=pd.DataFrame({"step": x} | {each.name: np.round(each.mean(), 4) for each in series}),
    )


def _gap(run: Run, probe: str) -> float:
    """Return what uniform outputs gain in recall at the end."""
    return float(
        (of(run, f"curve/{probe}", UNIFORM) - of(run, f"curve/{probe}", BIGRAM))[:, -1].mean()
    )

"""What each model can see of its prompt: whether its prediction depends on the size of y."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures.style import FAINT, axis, colour, layout
from icl_core.papers.gdssm.comparison.load_run import entries
from icl_core.papers.gdssm.comparison.settings import Config
from icl_core.papers.gdssm.comparison.size_of_y import BLIND, LEAST, MOST, changes
from icl_core.papers.gdssm.shared.sequence_models.style import marker

EXPONENTS = range(-7, 2)  # of ten, on the axis
LOWEST = 10.0 ** EXPONENTS[0]


def applies(config: Config) -> bool:
    """Return whether the models have a read-in that may have a bias."""
    return config.by_authors


def size_of_y(run: Run, view: Any) -> Panel:
    """Draw a row a model: the change of its prediction without a bias and with one."""
    without_bias = changes(run.config, False)
    with_bias = changes(run.config, True)
    models = [
        entry.model for entry in entries(run) if entry.baseline and entry.model.id in without_bias
    ]
    rows = [(model, without_bias[model.id], with_bias[model.id]) for model in models]
    blind = [model.short for model, before, _ in rows if before < BLIND]
    finding = f"{len(blind)} of {len(rows)} models cannot see how large y is"
    return Panel(
        f"Without a bias {finding}" if blind else "Every model can see how large y is",
        f"Every y of a prompt is multiplied by a factor of its own, from {LEAST:g} to {MOST:g}. "
        "The relative change of the prediction is shown, with weights freshly drawn and not "
        "trained: open symbols without a bias in the read-in, filled ones with it."
        + (_why(blind, sum(after < BLIND for *_, after in rows)) if blind else "")
        + " If the bias made no difference, open and filled symbols would lie together.",
        _rows(rows),
        data=pd.DataFrame(
            {
                "model": [model.label for model, *_ in rows],
                "without a bias": [float(f"{before:.2g}") for _, before, _ in rows],
                "with a bias": [float(f"{after:.2g}") for *_, after in rows],
            }
        ),
    )


def _why(blind: list[str], still: int) -> str:
    """Return why some models see no size, and whether a bias helps all of them."""
    return (
        " A norm behind a read-in without a bias gives the same for y and for 3 y, so that the "
        f"open symbols of {_listed(blind)} lie at the left: such a model cannot take the step, "
        f"whose y xᵀ is as large as y, however long it trains. With the bias {still or 'none'} of "
        "them stays there. Positions, or a second block behind the first one's residual, show "
        "the size as well."
    )


def _abbreviated(label: str) -> str:
    """Return a model's label as it fits beside a row."""
    return label.replace(" transformer", " transf.").removesuffix(" layer").removesuffix(" layers")


def _listed(names: list[str]) -> str:
    """Return names in a sentence."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _rows(rows: list[tuple[Any, float, float]]) -> Figure:
    """Draw the first model on top; a line joins its two symbols."""
    figure = Figure([], layout(110 + 34 * len(rows), {"l": 150}, showlegend=False))
    for place, (model, before, after) in enumerate(rows):
        ends = np.maximum([before, after], LOWEST)
        line = {"color": FAINT, "width": 1}
        look = {"mode": "lines", "line": line, "hoverinfo": "skip"}
        figure.add_trace(Trace(x=ends, y=[place, place], name=model.label, **look))
        for name, value, filled in (("without", before, False), ("with", after, True)):
            symbol = model.symbol.removesuffix("-open") + ("" if filled else "-open")
            hover = f"{model.label}, {name} a bias: {value:.2g}<extra></extra>"
            dot = Trace(x=[max(value, LOWEST)], y=[place], mode="markers", hovertemplate=hover)
            symbol_look = marker(model, 12, symbol=symbol, color=colour(model.colour))
            figure.add_trace(dot.update(marker=symbol_look, name=f"{model.label}, {name} a bias"))
    powers = [f"10<sup>{power}</sup>".replace("-", "−") for power in EXPONENTS]
    ticks = {"tickvals": [10.0**power for power in EXPONENTS], "ticktext": powers}
    span = [EXPONENTS[0] - 0.3, EXPONENTS[-1]]
    title = "relative change of the prediction (log scale)"
    figure.update_xaxes(axis(title, type="log", range=span, **ticks))
    names = [_abbreviated(model.label) for model, *_ in rows]
    places = {"tickvals": list(range(len(rows))), "ticktext": names}
    figure.update_yaxes(axis(range=[len(rows) - 0.5, -0.5], **places))
    return figure

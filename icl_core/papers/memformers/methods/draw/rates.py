"""The log-loss of Nesterov's method and of momentum over learning rate and β, one pair for all
depths (Appendix B)."""

import numpy as np
import pandas as pd

from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures.map_grid import BAR, TITLE, Subplot, subplots
from icl_core.figures.style import (
    INK,
    NONE_TO_ALL,
    PAPER,
    TEXT,
    TICKS,
    axis,
    colourscale,
    layout,
    legend,
)
from icl_core.papers.memformers.methods import rate_grid
from icl_core.papers.memformers.methods.settings import View
from icl_core.papers.memformers.methods.words import WORDS
from icl_core.papers.memformers.shared.baselines import BETA, MOMENTUM, NESTEROV

HEIGHT = 430
BELOW = 96  # pixels under the maps, with the key
ABOVE = BAR + TITLE  # pixels above them
HIGHEST = 2.0  # log-loss above the best from which on cells have one colour


def panel(run: Run, view: View) -> Panel:
    """Draw both methods side by side: the printed pair a ring, the best pair of the grid a star."""
    grids = {method: rate_grid.grid(method, run.config) for method in rate_grid.METHODS}
    figure = _empty()
    maps = subplots(list(grids), 2, HEIGHT - ABOVE - BELOW, 0.14)
    for (method, grid), subplot in zip(grids.items(), maps, strict=True):
        _add(figure, method, grid, subplot)
    nesterov, momentum = (max(grid.gap, 0.0) for grid in grids.values())
    return WORDS.panel(
        "rates",
        run,
        view,
        figure,
        data=_table(grids),
        nesterov=nesterov,
        momentum=momentum,
        steps=min(rate_grid.DEEPEST, run.config.layers),
        examples=rate_grid.EXAMPLES,
        nesterov_rate=NESTEROV,
        momentum_rate=MOMENTUM,
        highest=HIGHEST,
    )


def _empty() -> Figure:
    bar = {
        "orientation": "h", "x": 0.5, "len": 0.5, "y": 1 + (TITLE + 8) / (HEIGHT - ABOVE - BELOW),
        "yanchor": "bottom", "thickness": 12, "outlinewidth": 0, "ypad": 0,
        "title": {"text": "log-loss above the best pair", "side": "top", "font": {"size": 14}},
        "tickfont": {"size": TICKS}, "tickvals": [0, 1, HIGHEST],
        "ticktext": ["0", "1", f"{HIGHEST:g} or more"],
    }  # fmt: skip
    scale = {
        "colorscale": colourscale(NONE_TO_ALL),
        "cmin": 0.0,
        "cmax": HIGHEST,
        "colorbar": bar,
    }
    key = legend(-0.24) | {"yanchor": "top"}
    margin = {"t": ABOVE, "b": BELOW}
    return Figure(layout=layout(HEIGHT, margin, coloraxis=scale, legend=key, showlegend=True))


def _add(figure: Figure, method: str, grid: rate_grid.Grid, subplot: Subplot) -> None:
    """Add a method's map, its printed pair and its best pair."""
    above = np.minimum(grid.values - grid.values.min(), HIGHEST)
    hover = f"{method}<br>rate %{{x:.2f}}, β %{{y:.2f}}<br>%{{z:.2f}} above the best<extra></extra>"
    cells = {"x": list(rate_grid.RATES), "y": list(rate_grid.BETAS), "z": above.astype(np.float32)}
    figure.add_trace(
        Trace("heatmap", coloraxis="coloraxis", hovertemplate=hover, **cells, **subplot.axes)
    )
    printed = (rate_grid.METHODS[method][1], BETA)
    # the ring goes around the star where both are one pair
    points = (("printed in the paper", "circle-open", 21, printed), ("best", "star", 13, grid.best))
    for name, symbol, size, (rate, beta) in points:
        marker = {
            "symbol": symbol,
            "size": size,
            "color": INK,
            "line": {"color": PAPER, "width": 2.5 if symbol.endswith("open") else 1.5},
        }
        own = {"name": name, "legendgroup": name, "showlegend": subplot.number == 1}
        text = f"{name}: rate {rate:.2f}, β {beta:.2f}<extra></extra>"
        figure.add_trace(
            Trace(
                x=[rate],
                y=[beta],
                mode="markers",
                marker=marker,
                cliponaxis=False,
                hovertemplate=text,
                **own,
                **subplot.axes,
            )
        )
    end = subplot.end
    # cells reach half a step beyond the first and the last value
    half_rate = rate_grid.RATES[0] / 2
    half_beta = rate_grid.BETAS[1] / 2
    across = [rate_grid.RATES[0] - half_rate, rate_grid.RATES[-1] + half_rate]
    up = [rate_grid.BETAS[0] - half_beta, rate_grid.BETAS[-1] + half_beta]
    plain = {"showgrid": False, "ticks": "outside"}
    axes = {
        "x": axis(anchor=f"y{end}", domain=subplot.x, range=across, **plain),
        "y": axis(anchor=f"x{end}", domain=subplot.y, range=up, **plain),
    }
    beta = "β" if subplot.number == 1 else ""  # beside the second map there is no room
    for letter, name in (("x", "learning rate"), ("y", beta)):
        # without `standoff`, which would move the title into the labels
        axes[letter]["title"] = {"text": name, "font": {"size": TEXT}}
    figure.update_layout({f"{letter}axis{end}": axes[letter] for letter in axes})
    figure.add_annotation(**subplot.heading())


def _table(grids: dict[str, rate_grid.Grid]) -> pd.DataFrame:
    rows = []
    for method, grid in grids.items():
        printed_rate = rate_grid.METHODS[method][1]
        least = float(grid.values.min())
        rows.append((method, "printed", printed_rate, BETA, round(grid.printed, 4)))
        rows.append((method, "best", *grid.best, round(least, 4)))
    return pd.DataFrame(rows, columns=["method", "pair", "rate", "beta", "log-loss"])

"""What the models of sines fit to a prompt, and what their embeddings have learned."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import CannotDraw, Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import Curve
from icl_core.figures.style import FAINT
from icl_core.papers.gdssm.nonlinear.load_run import (
    GRID,
    Learned,
    example,
    learned,
    lines,
    model_at,
)
from icl_core.papers.gdssm.nonlinear.settings import BENT, STRAIGHT, variant
from icl_core.papers.gdssm.nonlinear.words import WORDS
from icl_core.papers.gdssm.shared.load_run import row_of
from icl_core.papers.gdssm.shared.typed_points import points

EVERY = 4  # of the grid's points


def fit(run: Run, view: Any) -> Panel:
    """Draw one prompt, and what the gated models and gradient descent predict at every x."""
    pairs = example(run, view.prompt)
    curves = lines(run, pairs, run.snapshot_at(view), row_of(run, view))
    series = [
        Curve("gradient descent", curves["x"], curves["gradient descent"], "gradient descent"),
        *(
            Curve(variant(id).label, curves["x"], curves[id], variant(id).colour)
            for id in (STRAIGHT, BENT)
            if id in curves
        ),
        Curve("the sine", curves["x"], curves["truth"], "floor"),
    ]
    bent, straight = (
        float(np.sqrt(np.mean((curves[id] - curves["truth"]) ** 2))) for id in (BENT, STRAIGHT)
    )
    figure = figures.curves(series, "x", "y", y_range=(-0.75, 0.75), height=figures.SEAT)
    figure.data[-1].update(showlegend=False)  # the sine, which is the dotted one on every page
    figure.add_trace(figures.dots(pairs, "examples").update(showlegend=False))
    return WORDS.panel(
        "fit",
        run,
        view,
        figures.seated(figure, figures.HALF),
        data=pd.DataFrame(curves).round(4),
        bent_off=bent,
        straight_off=straight,
    )


def fit_of_all(run: Run, view: Any) -> Panel:
    """Draw one prompt, and what every model predicts at every x."""
    pairs = example(run, view.prompt)
    curves = _curves(run, view, pairs)
    sine = curves.loc[curves["x"].abs() <= 5, ["x", "truth"]].to_numpy()
    return WORDS.panel(
        "fits",
        run,
        view,
        **_fit(run, curves, pairs, ("examples", "the sine"), 0.85),
        bent_off=_away(curves, BENT, sine),
        descent_off=_away(curves, "gradient descent", sine),
        straight_off=_away(curves, STRAIGHT, sine),
    )


def prompt(run: Run, view: Any) -> Panel:
    """Draw the visitor's points, and what every model predicts at every x."""
    pairs = np.array(points(view.points), dtype=np.float32)
    curves = _curves(run, view, pairs)
    top = 1.4 * max(0.5, float(np.abs(pairs[:, 1]).max()))
    surplus = len(pairs) - run.config.N
    return WORDS.panel(
        "points",
        run,
        view,
        **_fit(run, curves, pairs, ("your points", "nearest sine"), top),
        bent_off=_away(curves, BENT, pairs),
        sine_off=_away(curves, "truth", pairs),
        straight_off=_away(curves, STRAIGHT, pairs),
        pairs=len(pairs),
        surplus=surplus,
        too_long=surplus > 0,
        beyond=np.abs(pairs[:, 0]).max() > 5,
    )


def _curves(run: Run, view: Any, pairs: np.ndarray) -> pd.DataFrame:
    """Return all curves over one prompt."""
    return pd.DataFrame(lines(run, pairs, run.snapshot_at(view), row_of(run, view)))


def _away(curves: pd.DataFrame, name: str, points: np.ndarray) -> float:
    """Return how far a curve is from points [points, 2], root mean square."""
    misses = np.interp(points[:, 0], curves["x"], curves[name]) - points[:, 1]
    return float(np.sqrt(np.mean(misses**2)))


def _fit(
    run: Run, curves: pd.DataFrame, pairs: np.ndarray, named: tuple[str, str], top: float
) -> dict[str, Any]:
    """Return the figure and its table; `named`: what the dots and the truth are called."""
    dots, truth = named
    x = curves["x"]
    variants = [variant(id) for id in run.names("variants")]
    series = [
        Curve(
            "gradient descent on sin x, cos x", x, curves["gradient descent"], "gradient descent"
        ),
        *(Curve(drawn.label, x, curves[drawn.id], drawn.colour, drawn.dash) for drawn in variants),
        Curve(truth, x, curves["truth"], "floor"),
    ]
    figure = figures.curves(series, "x", "y", y_range=(-top, top), height=460)
    labels = {drawn.id: drawn.label for drawn in variants} | {"truth": truth}
    return {
        "figure": figure.add_trace(figures.dots(pairs, dots)),
        "data": curves.rename(columns=labels).round(4),
    }


def features(run: Run, view: Any) -> Panel:
    """Draw the two leading directions of an embedding's features, turned to be as near to sin x and
    cos x as they can, at every few points of the grid."""
    if view.features_of not in run.names("variants"):
        raise CannotDraw(f"This run holds no model “{variant(view.features_of).label}”.")
    model = model_at(run, view.features_of, run.snapshot_at(view), row_of(run, view))
    waves = learned(model)
    shown = variant(view.features_of)
    figure = _waves(waves, run.config.features, shown.colour)
    for trace in figure.data:
        trace.update(
            x=np.asarray(trace["x"], np.float32)[::EVERY],
            y=np.asarray(trace["y"], np.float32)[::EVERY],
        )
        trace.update(showlegend=trace.get("name") in ("nearest to sin x", "nearest to cos x"))
    table = {"x": GRID, "near sin": waves.fitted[:, 0], "near cos": waves.fitted[:, 1]}
    return WORDS.panel(
        "features",
        run,
        view,
        figures.seated(figure, figures.HALF),
        data=pd.DataFrame(table).round(4),
        embedding=shown.label,
        sine=float(waves.r2[0]),
        cosine=float(waves.r2[1]),
    )


def _waves(waves: Learned, count: int, kind: str) -> Figure:
    """Draw the directions in the colour of their model, `kind`, over `count` single features."""
    series = [
        Curve("nearest to sin x", GRID, waves.fitted[:, 0], kind),
        Curve("nearest to cos x", GRID, waves.fitted[:, 1], kind, "dash"),
        Curve("sin x", GRID, np.sin(GRID), "floor"),
        Curve("cos x", GRID, np.cos(GRID), "floor", "dashdot"),
    ]
    figure = figures.curves(series, "x", "feature", y_range=(-1.35, 1.35))
    raw = waves.features / (np.abs(waves.features).max() or 1.0)
    thin = {
        "mode": "lines",
        "line": {"color": FAINT, "width": 1},
        "opacity": 0.35,
        "hoverinfo": "skip",
    }
    for number, feature in enumerate(raw.T[:count]):
        named = {"name": "single features", "legendgroup": "single", "showlegend": number == 0}
        figure.add_scatter(x=GRID, y=feature, **thin, **named)
    return figure

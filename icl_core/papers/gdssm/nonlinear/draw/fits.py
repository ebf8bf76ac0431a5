"""What the models of sines fit to a prompt, and what their embeddings have learned."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import CannotDraw, Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import Curve, number_text
from icl_core.figures.style import FAINT
from icl_core.papers.gdssm.nonlinear.load_run import (
    GRID,
    Learned,
    example,
    gained_blind,
    learned,
    lines,
    model_at,
)
from icl_core.papers.gdssm.nonlinear.settings import variant
from icl_core.papers.gdssm.shared.load_run import percent, row_of
from icl_core.papers.gdssm.shared.typed_points import points


def fit(run: Run, view: Any) -> Panel:
    """Draw one prompt, and what every model predicts at every x."""
    pairs = example(run, view.prompt)
    curves, place = _curves(run, view, pairs)
    sine = curves.loc[curves["x"].abs() <= 5, ["x", "truth"]].to_numpy()
    gated, descent, linear = (
        _away(curves, name, sine) for name in ("mlp gate", "gradient descent", "linear gate")
    )
    return Panel(
        f"Prompt {view.prompt}: the gated MLP is {gated} off the sine, gradient descent on sin x "
        f"and cos x {descent}, the gated linear embedding {linear}",
        f"The {run.config.N} dots are the prompt, and every x of the curves is a query. Both blue "
        f"curves should follow the dotted sine as the grey one does. {_linear(run)} Look at "
        "another prompt: a curve that does not move ignores the dots.",
        note=f"Off: root mean square over all x from −5 to 5. {place}",
        **_fit(run, curves, pairs, ("examples", "the sine"), 0.85),
    )


def _linear(run: Run) -> str:
    """Say what models with a linear embedding make of the dots, by their losses at the end."""
    text = (
        "With a linear embedding constructed layers make a straight line, also with an MLP on the "
        "state"
    )
    if "linear trained" in run.names("variants"):
        bent, line = (
            float(run[name].mean()) for name in ("evaluated/linear trained", "baseline/line")
        )
        text += (
            f"; trained ones may bend it, and lose {number_text(bent, 4)} where best straight "
            f"lines lose {number_text(line, 4)}"
        )
    share = percent(gained_blind(run, "linear gate"))
    return (
        f"{text}. The gated unit bends it, but with the labels hidden it keeps {share} of its gain."
    )


def prompt(run: Run, view: Any) -> Panel:
    """Draw the visitor's points, and what every model predicts at every x."""
    pairs = np.array(points(view.points), dtype=np.float32)
    curves, place = _curves(run, view, pairs)
    gated, sine, linear = (
        _away(curves, name, pairs) for name in ("mlp gate", "truth", "linear gate")
    )
    warning = "" if np.abs(pairs[:, 0]).max() <= 5 else " No training saw an x beyond ±5."
    too = "long" if len(pairs) > run.config.N else "short"
    count = (
        f" Trained for {run.config.N} pairs and given {len(pairs)}, a step is too {too}, as η/N is "
        "fixed."
    )
    top = 1.4 * max(0.5, float(np.abs(pairs[:, 1]).max()))
    return Panel(
        f"Your points: the gated MLP is {gated} off them, the nearest sine {sine}, the gated "
        f"linear embedding {linear}",
        "Type points of a sine with an amplitude of up to 0.5, and the blue curves go near them. "
        "Turn all signs, and the MLP turns with them; the gated one does not quite, because all "
        "sines of its training are above zero at x = 0. Type points of a line or of a faster "
        "wave, and they still draw a sine of period 2π: the features were learned once, and the "
        "prompt only weighs them. A model that fitted any curve would follow those points too.",
        note="Off: root mean square over your "
        f"points.{count * (len(pairs) != run.config.N)}{warning} {place}",
        **_fit(run, curves, pairs, ("your points", "nearest sine"), top),
    )


def _curves(run: Run, view: Any, pairs: np.ndarray) -> tuple[pd.DataFrame, str]:
    """Return all curves over one prompt, and of which step and seed they are, in a sentence."""
    snapshot = run.snapshot_at(view)
    row = row_of(run, view)
    place = f"Step {run.snapshot_steps[snapshot]}, seed {row + 1}."
    return pd.DataFrame(lines(run, pairs, snapshot, row)), place


def _away(curves: pd.DataFrame, name: str, points: np.ndarray) -> str:
    """Return how far a curve is from points [points, 2], root mean square."""
    misses = np.interp(points[:, 0], curves["x"], curves[name]) - points[:, 1]
    return number_text(float(np.sqrt(np.mean(misses**2))), 2)


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
    cos x as they can."""
    snapshot = run.snapshot_at(view)
    row = row_of(run, view)
    if view.features_of not in run.names("variants"):
        raise CannotDraw(f"This run holds no model “{variant(view.features_of).label}”.")
    waves = learned(model_at(run, view.features_of, snapshot, row))
    sine_r2, cosine_r2 = (number_text(float(r2), 2) for r2 in waves.r2)
    return Panel(
        f"{variant(view.features_of).label}: two directions hold {percent(waves.share)} of the "
        f"features, and of sin x and cos x R² = {sine_r2} and {cosine_r2}",
        "Single features (thin) mean nothing by themselves, because the layers only see inner "
        "products. So we take their two leading directions, turned towards sin x and cos x: they "
        "should cover the dotted waves. R² is 1 if they do and 0 if they hold nothing of a wave. "
        "A linear embedding can only draw straight lines.",
        _waves(waves, run.config.features, variant(view.features_of).colour),
        data=pd.DataFrame(
            {
                "x": GRID,
                "near sin": waves.fitted[:, 0],
                "near cos": waves.fitted[:, 1],
            }
        ).round(4),
        note=f"Step {run.snapshot_steps[snapshot]}, seed {row + 1}.",
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

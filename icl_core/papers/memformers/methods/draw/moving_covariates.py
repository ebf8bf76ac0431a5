"""GD++, whose covariates move: the log-loss against what its layers cost, and the eigenvalues of
the covariates' S_l, layer by layer."""

from dataclasses import replace

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve, mean_of
from icl_core.papers.memformers.methods import moving_covariates
from icl_core.papers.memformers.methods.draw.depth import METHODS
from icl_core.papers.memformers.methods.settings import View
from icl_core.papers.memformers.methods.words import WORDS
from icl_core.papers.memformers.shared import load_run
from icl_core.papers.memformers.shared.draw import losses
from icl_core.papers.memformers.shared.draw.losses import (
    FULL,
    roomy,
)
from icl_core.papers.memformers.shared.load_run import log_of
from icl_core.papers.memformers.shared.variants import VARIANTS

COLOURS = 8  # that eigenvalues have; from there on they repeat, dashed
ROOM = 1.15  # the factor by which the axis goes beyond the means
MOST = 5  # condition numbers in a title
LEAST = 1e-3  # the lowest share of the mean that is drawn


def spectra_panel(run: Run, view: View) -> Panel:
    """Draw the eigenvalues of S_l relative to their mean before every layer, on held-out
    prompts."""
    depth = load_run.depth_of(run, view)
    snapshot = run.snapshot_at(view)
    eigenvalues = _eigenvalues(run, view, depth, snapshot)  # [layers, prompts, d]
    finished = _eigenvalues(run, view, depth, len(run.snapshot_steps) - 1)
    layers = np.arange(1, depth + 1)
    series = [
        Curve(
            f"eigenvalue {index + 1}",
            layers,
            eigenvalues[..., index].T,
            f"layer {index % COLOURS + 1}",
            "dash" if index >= COLOURS else "solid",
            markers=True,
        )
        for index in range(run.config.d)
    ]
    figure = figures.curves(
        series,
        "covariates that layer l meets",
        "eigenvalue of S, over their mean",
        log_y=True,
        y_range=_range(eigenvalues, finished),
    )
    figure.update_xaxes(tickvals=layers, ticktext=[str(layer) for layer in layers])
    conditions = moving_covariates.conditions(eigenvalues)
    columns = {curve.name: curve.mean() for curve in series}
    return WORDS.panel(
        "covariates",
        run,
        view,
        roomy(figure),
        data=pd.DataFrame({"layer": layers, "condition number": conditions} | columns).round(5),
        deep=depth > MOST,
        first=conditions[0],
        last=conditions[-1],
        every=", ".join(f"{condition:.3g}" for condition in conditions),
        prompts=moving_covariates.SPECTRA_PROMPTS,
    )


def _eigenvalues(run: Run, view: View, depth: int, snapshot: int) -> np.ndarray:
    """Return `spectra` of the model of that depth at a snapshot, [layers, prompts, d]."""
    parameters = load_run.parameters_at(run, view.seed_shown, depth, snapshot)
    config = replace(run.config, layers=depth)
    root = load_run.root_of(run, view.seed_shown)
    return moving_covariates.spectra(
        parameters, config, root, moving_covariates.held_out(run.config)
    )


def _range(*spectra: np.ndarray) -> tuple[float, float]:
    """Return the axis' range around the means of `spectra` [layers, prompts, d] over prompts. With
    the finished model among them it moves little from step to step."""
    means = np.concatenate([eigenvalues.mean(1).ravel() for eigenvalues in spectra])
    return max(float(means.min()), LEAST) / ROOM, float(means.max()) * ROOM


def by_products(run: Run, view: View) -> Panel:
    """Draw the log-loss on fresh prompts against products with S."""
    d = run.config.d
    depths = [int(layers) for layers in run["depth/layers"]]
    logs = log_of(run["evaluated/loss"])
    zero = float(np.log(d))
    tokens = run.config.n if VARIANTS[run.config.variant].needs_examples else 0
    costs = [moving_covariates.products(layers, d, tokens) for layers in depths]
    degrees = [moving_covariates.degree(layers) for layers in depths]
    lines = {name: moving_covariates.conjugate(run, name) for name in ("cg", "pcg")}
    floor = log_of(run["baseline/floor"])
    low, high = losses.window(
        [mean_of(logs), floor, [zero], *(line[:-1] for line in lines.values())]
    )
    high = min(high, zero + 1.5)
    last = max(costs[-1], moving_covariates.MOST)
    series = [_level(name, line, last, low + 0.02 * (high - low)) for name, line in lines.items()]
    series += [
        Curve(FULL + " (B = 0)", depths, floor, "floor"),
        Curve("GD++, by its degree", degrees, logs, "trained", "dot", markers=True),
        Curve("GD++, by products", costs, logs, "trained", markers=True),
    ]
    figure = figures.curves(
        series, "products with S, or degree", "log-loss", log_x=True,
        x_range=(0.9, 1.1 * last), y_range=(low, high), lines=[("predicting zero", zero, "floor")],
    )  # fmt: skip
    can_be_exact = run.config.n >= d <= moving_covariates.MOST
    return WORDS.panel(
        "products",
        run,
        view,
        losses.roomy(figure),
        data=pd.DataFrame(
            {
                "layers": depths,
                "products with S": costs,
                "degree": degrees,
                "GD++": mean_of(logs).round(4),
            }
        ),
        error=float(mean_of(logs)[-1]),
        products=costs[-1],
        degree=degrees[-1],
        exact=can_be_exact,
        cg=float(lines["cg"][-1]),
        cg_steps=len(lines["cg"]),
    )


def _level(name: str, line: np.ndarray, last: int, edge: float) -> Curve:
    """Return the curve of a line, level from its end on; not below the `edge` of the picture."""
    label, kind, dash, _ = METHODS[name]
    x = np.append(np.arange(1, len(line) + 1), last)
    y = np.maximum(np.append(line, line[-1]), edge)
    return Curve(label, x, y, kind, dash, markers=True)

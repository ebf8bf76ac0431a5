"""The eigenvalues of the covariates' S_l, layer by layer, where covariates move (GD++)."""

from dataclasses import replace

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.papers.memformers.methods import covariate_spectra
from icl_core.papers.memformers.methods.settings import View
from icl_core.papers.memformers.methods.words import WORDS
from icl_core.papers.memformers.shared import load_run
from icl_core.papers.memformers.shared.draw.losses import roomy

COLOURS = 8  # that eigenvalues have; from there on they repeat, dashed
ROOM = 1.15  # the factor by which the axis goes beyond the means
MOST = 5  # condition numbers in a title
LEAST = 1e-3  # the lowest share of the mean that is drawn


def panel(run: Run, view: View) -> Panel:
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
    conditions = covariate_spectra.conditions(eigenvalues)
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
        prompts=covariate_spectra.PROMPTS,
    )


def _eigenvalues(run: Run, view: View, depth: int, snapshot: int) -> np.ndarray:
    """Return `spectra` of the model of that depth at a snapshot, [layers, prompts, d]."""
    parameters = load_run.parameters_at(run, view.seed_shown, depth, snapshot)
    config = replace(run.config, layers=depth)
    root = load_run.root_of(run, view.seed_shown)
    return covariate_spectra.spectra(
        parameters, config, root, covariate_spectra.held_out(run.config)
    )


def _range(*spectra: np.ndarray) -> tuple[float, float]:
    """Return the axis' range around the means of `spectra` [layers, prompts, d] over prompts. With
    the finished model among them it moves little from step to step."""
    means = np.concatenate([eigenvalues.mean(1).ravel() for eigenvalues in spectra])
    return max(float(means.min()), LEAST) / ROOM, float(means.max()) * ROOM

"""Section 6's example: what one step keeps of x = w_E(y) + p_t."""

from typing import Any

import pandas as pd
import torch

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import Curve
from icl_core.papers.birth.steps import noise_example
from icl_core.papers.birth.steps.gradient_steps import task_of
from icl_core.papers.birth.steps.load_run import weights_after

LABELS = {
    "exact": ("infinitely many", "layer 2"),
    "batch": ("a batch", "trained"),
    "one": ("one per character", "layer 4"),
}
DASH = {"batch": "dash"}


def example(run: Run, view: object) -> Panel:
    """Draw what the matrix says of characters and of positions after one step, from one input a
    character and from all."""
    weights = weights_after(run, 0, "batch")
    generator = torch.Generator().manual_seed(run.config.seed)
    one = noise_example.step(weights, "one", run.config.batch, generator)
    exact = noise_example.step(weights, "exact", run.config.batch, generator)
    # (N, N + T) each
    matrices = [torch.cat([step.tokens, step.places], 1).numpy() for step in (one, exact)]
    characters = figures.visible_characters(task_of(run.config).characters)
    columns = [*characters, *(f"p{t + 1}" for t in range(run.config.T))]
    return Panel(
        f"The position's noise falls from {one.noise:.2f} to {exact.noise:.2f}, the signal stays "
        f"at {exact.signal:.2f}",
        "Each input is a character plus a random position, and the character is to be predicted. "
        "You see what one step has made the matrix say of each character, and behind the last "
        "character, of each position. From one input per character, positions are learned along "
        "with it. Over all inputs they cancel. If nothing were filtered, both maps would have the "
        "same speckles at the right.",
        figures.maps(
            ["one input per character", "infinitely many"],
            matrices,
            characters,
            columns,
            "reading",
            row_title="output",
            column_title="character, then position",
            columns=2,
        ),
        data=pd.DataFrame(matrices[1].round(4), index=characters, columns=columns).reset_index(
            names="output"
        ),
    )


def _against(run: Run, measure: str) -> list[Curve]:
    """Return a measure against the width, a curve for each number of inputs, as in LABELS."""
    return [
        Curve(
            label,
            run["sweep/width"],
            run[f"toy/{measure}_{variant}"],
            kind,
            DASH.get(variant),
            "minmax",
            markers=True,
        )
        for variant, (label, kind) in LABELS.items()
    ]


def _over_widths(run: Run, series: list[Curve], y_title: str, **more: Any) -> Figure:
    widths = run["sweep/width"]
    figure = figures.curves(series, "width d", y_title, log_x=True, **more)
    return figure.update_xaxes(tickvals=widths, ticktext=[str(width) for width in widths])


def noise(run: Run, view: object) -> Panel:
    """Draw the noise beside the signal, against the width."""
    widths = run["sweep/width"]
    series = _against(run, "noise")
    series.insert(0, Curve("signal", widths, run["toy/signal_exact"], "#000000", "dot"))
    exact = series[1].mean()  # [widths]
    return Panel(
        f"Filtered, the noise falls as d grows: {exact[0]:.2f} at {widths[0]}, {exact[-1]:.2f} at "
        f"{widths[-1]}",
        "How strongly the matrix answers to a right character (the signal, about 1) and to a "
        "position (the noise, root mean square). What is left over all inputs is the overlap of "
        "random vectors, about 1 over the root of d. From one input per character the noise "
        "stays, however wide the model is.",
        _over_widths(run, series, "reading", y_range=(0, 1.1)),
        data=pd.DataFrame({"d": widths} | {curve.name: curve.mean().round(4) for curve in series}),
    )


def accuracy(run: Run, view: object) -> Panel:
    """Draw the accuracy of the classifier that one step makes, against the width."""
    widths = run["sweep/width"]
    series = _against(run, "accuracy")
    exact = series[0].mean()[-1]
    one = series[2].mean()[-1]
    return Panel(
        f"After one step {exact:.0%} are right at d = {widths[-1]}; from one input per character, "
        f"{one:.0%}",
        "The share of all characters at all positions that the matrix names after one gradient "
        "step. A step that kept the positions would stay at the lowest line.",
        _over_widths(run, series, "right", y_range=(0, 1.04)),
        data=pd.DataFrame({"d": widths} | {curve.name: curve.mean().round(4) for curve in series}),
    )

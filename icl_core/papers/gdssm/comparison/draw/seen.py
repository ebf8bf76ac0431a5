"""What each model can see of its prompt, by its form alone: whether its prediction depends on the
size of y, and which changes of a prompt it answers as a learner of linear functions should. No
training: the weights are freshly drawn."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import torch

from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures.style import FAINT, axis, colour, layout
from icl_core.machine import device
from icl_core.papers.gdssm.comparison.load_run import entries
from icl_core.papers.gdssm.comparison.settings import Config
from icl_core.papers.gdssm.comparison.words import WORDS
from icl_core.papers.gdssm.shared import any_layer
from icl_core.papers.gdssm.shared.sequence_models import train
from icl_core.papers.gdssm.shared.sequence_models.all_models import Learner, learners
from icl_core.papers.gdssm.shared.settings import Config as Layer
from icl_core.papers.gdssm.shared.task import Tasks, sample
from icl_core.papers.gdssm.shared.transformations import (
    TRANSFORMATIONS,
    Predict,
    departures,
    response_to_sizes,
)

LEAST = 0.2  # the smallest factor
MOST = 5.2  # the largest
PROMPTS = 64
BLIND = 1e-3  # a relative change below it is that of the norm's ε, or of rounding: 1e-4 at most


@cache
def answer_changes(config: Config, bias: bool) -> dict[str, float]:
    """Return, by a model's id, the root mean square of the change of its predictions over theirs,
    with the weights of the first seed, in float64, as every y of the prompt is made larger or
    smaller, each by a factor of its own."""
    generator = torch.Generator().manual_seed(1)
    tasks = train.tasks(config, PROMPTS, generator).to(torch.float64)
    pairs = tasks.y[:-1]  # (N, n_o, tasks)
    uniform = torch.rand(len(pairs), 1, PROMPTS, generator=generator, dtype=torch.float64)
    factors = LEAST + (MOST - LEAST) * uniform.to(pairs.device)
    scaled = Tasks(tasks.x, torch.cat([factors * pairs, tasks.y[-1:]]))
    changes_by_id = {}
    for learner in learners(replace(config, bias=bias)):
        weights = {name: tensor.double() for name, tensor in learner.initial([config.seed]).items()}
        before, after = (learner.predict(weights, prompts) for prompts in (tasks, scaled))
        changes_by_id[learner.model.id] = float((after - before).norm() / before.norm())
    return changes_by_id


EXPONENTS = range(-7, 2)  # of ten, on the axis
LOWEST = 10.0 ** EXPONENTS[0]
TASKS = 256
SEED = 0
SIZES = "each y times its own factor"
BUILT = "GD-SSM, as constructed"


def size_of_y(run: Run, view: Any) -> Panel:
    """Draw a row a model: the change of its prediction without a bias and with one."""
    without_bias = answer_changes(run.config, False)
    with_bias = answer_changes(run.config, True)
    models = [
        entry.model for entry in entries(run) if entry.baseline and entry.model.id in without_bias
    ]
    rows = [(model, without_bias[model.id], with_bias[model.id]) for model in models]
    blind = [model.short for model, before, _ in rows if before < BLIND]
    data = pd.DataFrame(
        {
            "model": [model.label for model, *_ in rows],
            "without a bias": [float(f"{before:.2g}") for _, before, _ in rows],
            "with a bias": [float(f"{after:.2g}") for *_, after in rows],
        }
    )
    return WORDS.panel(
        "seen",
        run,
        view,
        _rows(rows),
        data=data,
        least=LEAST,
        most=MOST,
        blind=len(blind),
        blind_models=_listed(blind),
        models=len(rows),
        blind_with_bias=sum(after < BLIND for *_, after in rows),
    )


def _listed(names: Sequence[str]) -> str:
    """Return names in a sentence."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


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
            symbol_look = model.marker(12, symbol=symbol, color=colour(model.colour))
            figure.add_trace(dot.update(marker=symbol_look, name=f"{model.label}, {name} a bias"))
    powers = [f"10<sup>{power}</sup>".replace("-", "−") for power in EXPONENTS]
    ticks = {"tickvals": [10.0**power for power in EXPONENTS], "ticktext": powers}
    span = [EXPONENTS[0] - 0.3, EXPONENTS[-1]]
    title = "relative change of the prediction (log scale)"
    figure.update_xaxes(axis(title, type="log", range=span, **ticks))
    labels = [model.label.replace(" transformer", " transf.") for model, *_ in rows]
    names = [label.removesuffix(" layer").removesuffix(" layers") for label in labels]
    places = {"tickvals": list(range(len(rows))), "ticktext": names}
    figure.update_yaxes(axis(range=[len(rows) - 0.5, -0.5], **places))
    return figure


@torch.no_grad()
def symmetries(run: Run, view: Any) -> Panel:
    """Draw the departures of every model with random weights, and of the construction."""
    config = run.config
    n_o = 1 if config.model == "1-D" else config.f
    generator = torch.Generator().manual_seed(2**31 + 23)
    # in double precision: single products are less exact on some processors than what is 0 here
    tasks = sample(config.f, config.N, TASKS, generator, n_o).to(
        device.current_device(), torch.float64
    )
    layer = Layer(config.model, "row", 1, f=config.f, N=config.N)
    construction = any_layer.constructed(layer, tasks).to(device.current_device(), torch.float64)
    rows = [_symmetries_of(BUILT, lambda tasks: any_layer.predict(construction, tasks)[0], tasks)]
    ids = run.names("models")  # a run holds its models, whatever the table has today
    models = [learner for learner in learners(config) if learner.model.id in ids]
    rows += [_symmetries_of(learner.model.label, _random(learner), tasks) for learner in models]
    table = pd.DataFrame(rows)
    blind = table.loc[table[SIZES] < BLIND, "model"].tolist()
    return WORDS.panel(
        "symmetries",
        run,
        view,
        table=table.map(lambda cell: cell if isinstance(cell, str) else f"{cell:.2g}"),
        data=table,
        blind=len(blind),
        blind_models=", ".join(blind) if len(blind) > 1 else "",
        models=len(models),
    )


def _random(learner: Learner) -> Predict:
    """Return the prediction of a model with random weights."""
    weights = {name: tensor.double() for name, tensor in learner.initial([SEED]).items()}
    return lambda tasks: learner.predict(weights, tasks)[0]


def _symmetries_of(label: str, predict: Predict, tasks: Tasks) -> dict[str, str | float]:
    """Return a model's row of the table; a share that rounding makes is 0."""
    names_by_id = {transformation.id: transformation.name for transformation in TRANSFORMATIONS}
    shares = {names_by_id[id]: share for id, share in departures(predict, tasks).items()}
    shares[SIZES] = response_to_sizes(predict, tasks)
    return {"model": label} | {
        name: 0.0 if share < BLIND else share for name, share in shares.items()
    }

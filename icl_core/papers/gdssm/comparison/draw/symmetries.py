"""Which changes of a prompt each model answers as a learner of linear functions should, by its form
alone."""

from typing import Any

import pandas as pd
import torch

from icl_core.contract.experiment import Panel, Run
from icl_core.machine import device
from icl_core.papers.gdssm.shared import any_layer
from icl_core.papers.gdssm.shared.sequence_models.all_models import Learner, learners
from icl_core.papers.gdssm.shared.settings import Config as Layer
from icl_core.papers.gdssm.shared.task import Tasks, sample
from icl_core.papers.gdssm.shared.transformations import (
    TRANSFORMATIONS,
    Predict,
    departures,
    response_to_sizes,
)

TASKS = 256
SEED = 0
BLIND = 1e-3  # a share below which a change is none: rounding gives 1e-4 at most
SIZES = "each y times its own factor"
BUILT = "GD-SSM, as constructed"


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
    rows = [_row(BUILT, lambda tasks: any_layer.predict(construction, tasks)[0], tasks)]
    ids = run.names("models")  # a run holds its models, whatever the table has today
    models = [learner for learner in learners(config) if learner.model.id in ids]
    rows += [_row(learner.model.label, _random(learner), tasks) for learner in models]
    table = pd.DataFrame(rows)
    blind = table.loc[table[SIZES] < BLIND, "model"].tolist()
    return Panel(
        f"{len(blind)} of {len(rows) - 1} models cannot see how large a label is"
        if blind
        else "Every model sees how large a label is",
        "How far an answer is from the one that should come out when the prompt is changed, as a "
        "share of it: 0 is exact. The models have random weights, as drawn before training with "
        "seed 0, because runs do not hold trained ones: what is 0 here is so by form, and no "
        "training can undo it. The last column is another question: by how much the answer moves "
        "if every y has a factor of its own, between 0.2 and 5.2. There 0 means that the model "
        f"norms each token by itself and is blind to its size{_named(blind)}. The construction "
        "doubles its answer where x grows by √2, as a step of gradient descent does, and at that "
        "scale it is no better than zero.",
        table=table.map(lambda cell: cell if isinstance(cell, str) else f"{cell:.2g}"),
        data=table,
    )


def _random(learner: Learner) -> Predict:
    """Return the prediction of a model with random weights."""
    weights = {name: tensor.double() for name, tensor in learner.initial([SEED]).items()}
    return lambda tasks: learner.predict(weights, tasks)[0]


def _row(label: str, predict: Predict, tasks: Tasks) -> dict[str, str | float]:
    """Return a model's row of the table; a share that rounding makes is 0."""
    names_by_id = {transformation.id: transformation.name for transformation in TRANSFORMATIONS}
    shares = {names_by_id[id]: share for id, share in departures(predict, tasks).items()}
    shares[SIZES] = response_to_sizes(predict, tasks)
    return {"model": label} | {
        name: 0.0 if share < BLIND else share for name, share in shares.items()
    }


def _named(blind: list[str]) -> str:
    """Say which models are blind. Empty if there are not several."""
    return f", as {', '.join(blind)} are" if len(blind) > 1 else ""

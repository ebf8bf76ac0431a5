"""A linear transformer of one layer: trained, built by hand to take the step, and the GD-SSM's
construction."""

from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from icl_core import figures
from icl_core.contract.experiment import CannotDraw, Panel, Run
from icl_core.papers.gdssm.comparison import constructed
from icl_core.papers.gdssm.comparison.settings import Config
from icl_core.papers.gdssm.shared import construction
from icl_core.papers.gdssm.shared.sequence_models import train
from icl_core.papers.gdssm.shared.task import loss
from icl_core.training.phases import final

NAMES = ("trained", "built by hand", "GD-SSM's construction")


def applies(config: Config) -> bool:
    """Return whether the run keeps the weights that are shown."""
    return train.is_kept(config, "linear-1")


def by_hand(run: Run, view: Any) -> Panel:
    """Draw M of all three on one scale. Raises `CannotDraw` where the transformer diverged."""
    weights = {
        name: torch.tensor(array, dtype=torch.float64) for name, array in final(run.tensors).items()
    }
    if not weights:
        raise CannotDraw(
            "The linear transformer of one layer diverged: there are no weights to show."
        )
    # on the CPU, where the weights of a file are
    tasks = train.held_out(run.config, train.TEST_SET).to("cpu", torch.float64)
    eta = construction.best_eta(tasks)
    maps = _maps(weights, run.config.f, run.config.N, eta)
    predictions = constructed.of_products(torch.from_numpy(maps["trained"]), tasks)[None]
    ratio = float(loss(predictions, tasks.y[-1])) / float(run["baseline/one"][0])
    trained = float(
        run["evaluated/loss"][0, run.names("models").index("linear-1")] / run["baseline/one"][0]
    )
    f = run.config.f
    halves = [f"xy {i + 1}" for i in range(f)] + [f"x' {i + 1}" for i in range(f)]
    return Panel(
        f"By its products alone the trained linear transformer has {ratio:.2f} times the loss of "
        "one step",
        "How each half of a token [x y, next x] is multiplied with each half of the last one. The "
        "step is η/N on the diagonal of the upper right and nothing elsewhere: the key is x y, "
        "the query is x, and the value is a constant from the position vector. The trained model, "
        f"seed 1, ends at {trained:.2f} times the loss of one step. A model that had not found the "
        "step would show no diagonal.",
        figures.small_maps(
            maps,
            (halves, halves),
            ("token t", "the last token"),
            "M",
            figures.largest_magnitude(*maps.values()),
        ),
        data=_table(maps, halves),
    )


def _maps(weights: dict[str, Tensor], f: int, N: int, eta: float) -> dict[str, np.ndarray]:
    """Return M of the trained transformer, of the one built by hand and of the GD-SSM's
    construction, by name, [2f, 2f] each."""
    layer = construction.layer_1d(f, N, eta)
    matrices = (
        constructed.products(weights),
        constructed.products(constructed.linear_attention(f, N, eta)),
        layer.beta[0] * layer.Psi[0].mT @ layer.Theta[0],
    )
    return {name: M.double().numpy() for name, M in zip(NAMES, matrices, strict=True)}


def _table(maps: dict[str, np.ndarray], halves: list[str]) -> pd.DataFrame:
    """Return the maps as a table, one row a number."""
    rows = np.repeat(halves, len(halves))
    columns = np.tile(halves, len(halves))
    return pd.DataFrame(
        {"token t": rows, "last": columns} | {name: M.ravel().round(4) for name, M in maps.items()}
    )

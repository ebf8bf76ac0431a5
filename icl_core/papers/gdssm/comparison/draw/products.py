"""What each architecture has to multiply, and where it can: the story behind the losses, as a
table; and the products of a linear transformer of one layer, trained and built by hand."""

from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from icl_core import figures
from icl_core.contract.experiment import CannotDraw, Panel, Run
from icl_core.papers.gdssm.comparison import exact
from icl_core.papers.gdssm.comparison.load_run import entries
from icl_core.papers.gdssm.comparison.settings import Config
from icl_core.papers.gdssm.comparison.words import WORDS
from icl_core.papers.gdssm.shared import construction
from icl_core.papers.gdssm.shared.sequence_models import train
from icl_core.papers.gdssm.shared.sequence_models.training_end import levels
from icl_core.papers.gdssm.shared.task import loss
from icl_core.training.phases import final

GD_SSM = ("gd-ssm-1", "gd-ssm-2")
# By the model's id: where y_t meets x_t, and where their product meets the query. As its authors
# build it; below what the plain form has instead.
WHERE = {
    **dict.fromkeys(GD_SSM, ("in the window: C Q Cᵀ", "at the output: Z C q")),
    "s5": (
        "nowhere on the way into the state",
        "in the gate, which must make all products at once",
    ),
    "mamba": (
        "convolution, then Δ x Bᵀ: the input chooses what is written",
        "C, which reads the state, and the gate",
    ),
    "griffin": (
        "convolution, then the input gate; window of attention",
        "the output gate; feed-forward layers",
    ),
    "gated-delta": (
        "convolution, then v kᵀ written to the state",
        "the query: S q; feed-forward layer",
    ),
    "linear-1": ("nowhere: keys and values see one token each", "attention: (k · q) v"),
    "linear-2": ("layer 1 brings x_t and y_t to one place", "attention of layer 2: (k · q) v"),
    "softmax-1": ("nowhere: keys and values see one token each", "attention, bent by its softmax"),
    "softmax-2": (
        "layer 1 brings x_t and y_t to one place",
        "attention of layer 2, bent by its softmax",
    ),
}
PLAIN = {
    "griffin": ("convolution, then the input gate; window of attention", "the output gate"),
    "gated-delta": ("in the state, whose content meets the next key: S k kᵀ", "the query: S q"),
}
GIVEN = "given by the token"
SCALAR = {  # where their products with the query are made, if the token gives them
    **dict.fromkeys(GD_SSM, "at the output: zᵀ Θ c"),
    "linear-2": "attention: (k · q) v",
    "softmax-2": "attention, bent by its softmax",
}
NAMES = ("trained", "built by hand", "GD-SSM's construction")


def products_panel(run: Run, view: Any) -> Panel:
    """Tabulate a row a model: where it makes the products of tokens, and what it ended at."""
    one = levels(run)[1]
    rows = [
        (entry.model.label, *_where(run.config, entry.model.id), entry.loss / one)
        for entry in entries(run)
    ]
    table = pd.DataFrame(
        {
            "model": [label for label, *_ in rows],
            "y times x": [first for _, first, _, _ in rows],
            "that times the query": [second for _, _, second, _ in rows],
            "loss over one step": [f"{ratio:.2f}" if ratio < 100 else "–" for *_, ratio in rows],
        }
    )
    return WORDS.panel("products", run, view, table=table)


def _where(config: Config, id: str) -> tuple[str, str]:
    """Return the two places of a model; dashes for one that is not told of here."""
    places = WHERE | (PLAIN if config.plain else {})
    first, second = places.get(id, ("–", "–"))
    return (GIVEN, SCALAR.get(id, second)) if config.model == "1-D" else (first, second)


def is_kept(config: Config) -> bool:
    """Return whether the run keeps the weights that `by_hand` shows."""
    return train.is_kept(config, "linear-1")


def by_hand(run: Run, view: Any) -> Panel:
    """Draw M of the trained linear transformer, of one built by hand to take the step, and of the
    GD-SSM's construction, on one scale. Raises `CannotDraw` where the transformer diverged."""
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
    predictions = exact.of_products(torch.from_numpy(maps["trained"]), tasks)[None]
    one = run["baseline/one"][0]
    f = run.config.f
    halves = [f"xy {i + 1}" for i in range(f)] + [f"x' {i + 1}" for i in range(f)]
    figure = figures.small_maps(
        maps,
        (halves, halves),
        ("token t", "the last token"),
        "M",
        figures.largest_magnitude(*maps.values()),
    )
    return WORDS.panel(
        "by hand",
        run,
        view,
        figure,
        data=_table(maps, halves),
        of_products=float(loss(predictions, tasks.y[-1])) / float(one),
        trained=float(run["evaluated/loss"][0, run.names("models").index("linear-1")] / one),
    )


def _maps(weights: dict[str, Tensor], f: int, N: int, eta: float) -> dict[str, np.ndarray]:
    """Return M of the trained transformer, of the one built by hand and of the GD-SSM's
    construction, by name, [2f, 2f] each."""
    layer = construction.layer_1d(f, N, eta)
    matrices = (
        exact.products(weights),
        exact.products(exact.step_in_linear_attention(f, N, eta)),
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

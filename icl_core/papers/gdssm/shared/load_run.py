"""Read a finished run: its models at a training step, what they are compared with, a prompt to
look at."""

from typing import Any

import numpy as np
import torch

from icl_core.contract import statistics
from icl_core.contract.experiment import Run, Tensors
from icl_core.contract.number_text import percent
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared.any_layer import Model
from icl_core.papers.gdssm.shared.layer_nd import LayerND
from icl_core.papers.gdssm.shared.multi_layer import MultiLayer
from icl_core.papers.gdssm.shared.settings import Config
from icl_core.papers.gdssm.shared.task import Tasks, sample

COUNTS = 0.001  # the share of a loss that counts as a difference


def row_of(run: Run, view: Any) -> int:
    """Return the row of the seed that the view asks for; the last if there are not so many."""
    return min(view.seed_shown, run.config.seeds) - 1


def model_of(config: Config, tensors: Tensors, prefix: str) -> Model:
    """Return the model whose weights stand under `prefix`, "final/" or "constructed/"."""
    like = models.initial(config, [0])
    names = like.tensors()
    return _unrolled(like.with_(**{name: torch.tensor(tensors[prefix + name]) for name in names}))


def trained_at(run: Run, snapshot: int, row: int | None = None) -> Model:
    """Return the model at a snapshot: of the seed in that row, or of all seeds (None)."""
    seeds = slice(None) if row is None else slice(row, row + 1)
    like = models.initial(run.config, [0])
    parts = {name: torch.from_numpy(run.snapshot(name, snapshot)[seeds]) for name in like.tensors()}
    return _unrolled(like.with_(**parts))


def _unrolled(model: Model) -> Model:
    """Return looped layers as so many layers of equal weights; any other model as it is."""
    return model.unrolled() if isinstance(model, MultiLayer) else model


def constructed_of(run: Run) -> Model:
    """Return the construction that the run was evaluated beside."""
    return model_of(run.config, run.tensors, "constructed/")


def curve_of(run: Run, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the steps of a curve and its values [seeds, points]; NaN at step 0 where the run has
    not come to it."""
    x = np.asarray(run.tensors.get("curve/step", ()))
    y = np.asarray(run.tensors.get(f"curve/{name}", ()))
    return (x, y) if y.size else (np.array([0]), np.full((run.config.seeds, 1), np.nan))


def unfinished(run: Run) -> str:
    """Return why the training does not decide what is claimed of its end: a seed is still at
    predicting zero, or the loss was falling by what would count, a thousandth of the best loss.
    Return an empty text if it does decide it."""
    loss, zero, best = (
        run[name] for name in ("curve/loss", "baseline/zero", "baseline/constructed")
    )
    steps = run["curve/step"]
    stuck = statistics.on_plateau(loss, float(zero[0]), steps=steps)
    return stuck or statistics.still_falling(loss, COUNTS * float(best[0]), steps)


def folded(weights: Model, f: int) -> Model:
    """Return Q with its upper half added to the lower one, where there is one feature: then C Q C^T
    is a number, in which Q and its transpose are alike. Return any other model as it is."""
    if not isinstance(weights, LayerND) or f > 1:
        return weights
    return weights.with_(Q=weights.Q.tril() + weights.Q.triu(1).mT)


def example(config: Config, index: int, count: int = 1) -> Tasks:
    """Return fresh tasks to look at: the same for all seeds and snapshots."""
    generator = torch.Generator().manual_seed(2**31 + 1000 + index)
    return sample(config.f, config.N, count, generator, config.labels, config.r)


def compared(away: float) -> str:
    """Say where a loss stands, by its share above another: "3% above", or "within 0.1% of" where
    that does not count."""
    if abs(away) < COUNTS:
        return f"within {percent(COUNTS)} of"
    return f"{percent(abs(away))} {'above' if away >= 0 else 'below'}"

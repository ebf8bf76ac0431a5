"""Read a run of the sine experiment: its models at a training step, prompts to ask them, what an
embedding learned."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from icl_core.contract.experiment import Run
from icl_core.figures import mean_of
from icl_core.papers.gdssm.nonlinear.model import Model, embed
from icl_core.papers.gdssm.nonlinear.train import ideal, predict
from icl_core.papers.gdssm.shared.task import Tasks, sample_sine

GRID = np.linspace(-5, 5, 401)


def model_at(run: Run, id: str, snapshot: int, row: int) -> Model:
    """Return the model of one seed at a snapshot, made of what the run holds of that id."""
    prefix = f"snapshot/{id}/"
    parts = [name.removeprefix(prefix) for name in run.tensors if name.startswith(prefix)]
    tensors = {
        part: torch.from_numpy(run.snapshot(f"{id}/{part}", snapshot)[row : row + 1])
        for part in parts
    }
    return Model(**tensors)


def loss_at_snapshot(run: Run, view: Any, id: str) -> float:
    """Return a model's loss at the view's snapshot, as the mean over seeds."""
    step = run.step(view)
    return float(mean_of(run[f"curve/{id}"])[np.abs(run["curve/step"] - step).argmin()])


def gained_blind(run: Run, id: str) -> float:
    """Return how much of what a model gains over predicting zero it gains with the labels in its
    prompt hidden, as a share."""
    zero = float(run["baseline/zero"][0])
    seeing, blind = (zero - float(run[f"evaluated/{id}{which}"].mean()) for which in ("", "/blind"))
    return blind / seeing


def example(run: Run, index: int) -> np.ndarray:
    """Return fresh points of one sine to look at, [N, 2]: the same for all models, seeds and
    snapshots."""
    tasks = sample_sine(run.config.N, 1, torch.Generator().manual_seed(2**31 + 1000 + index))
    return torch.stack((tasks.x[:-1, 0, 0], tasks.y[:-1, 0, 0]), 1).numpy()


def tasks_for_queries(pairs: np.ndarray, queries: np.ndarray) -> Tasks:
    """Return a task for every query, all with the same points; the queries' labels are not
    known."""
    x = np.concatenate([np.repeat(pairs[:, :1], len(queries), 1), queries[None]])
    y = np.concatenate([np.repeat(pairs[:, 1:], len(queries), 1), 0 * queries[None]])
    # [N + 1, queries] to (N + 1, 1, queries)
    return Tasks(*(torch.tensor(array[:, None], dtype=torch.float32) for array in (x, y)))


def lines(run: Run, pairs: np.ndarray, snapshot: int, row: int) -> dict[str, np.ndarray]:
    """Return the lines that are drawn: "x" from -5 to 5 and as far as the points go, and what is
    predicted there: by every model, by its id, by "gradient descent", and the "truth", the nearest
    sine."""
    reach = 1.04 * max(5.0, float(np.abs(pairs[:, 0]).max()))
    x = np.linspace(-reach, reach, 121)
    tasks = tasks_for_queries(pairs, x)
    predictions = {
        id: predict(model_at(run, id, snapshot, row), tasks)[0].numpy()
        for id in run.names("variants")
    }
    return {
        "x": x,
        **predictions,
        "gradient descent": descended(run, tasks),
        "truth": nearest_sine(pairs, x),
    }


def descended(run: Run, asked: Tasks) -> np.ndarray:
    """Return what gradient descent on sin x and cos x predicts, at the rates that are best over
    tasks."""
    tasks = ideal(asked)
    x = tasks.x[:-1]
    y = tasks.y[:-1, 0]
    u = tasks.x[-1]
    line = 0.0
    for c in run["ideal/mixture"]:
        along = (x * u).sum(1)  # (N, queries)
        line = line + float(c) * (y * along).sum(0)
        u = (x * along[:, None]).sum(0)
    return np.asarray(line)


def nearest_sine(pairs: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the sum of sin x and cos x that is nearest to the points, at every x: exact on a
    sine."""
    return _waves(x) @ np.linalg.lstsq(_waves(pairs[:, 0]), pairs[:, 1], rcond=None)[0]


@dataclass(frozen=True)
class Learned:
    """What an embedding makes of x from -5 to 5, on `GRID`."""

    features: np.ndarray  # [grid, m]
    share: float  # of the features' square that their two leading directions hold
    fitted: np.ndarray  # [grid, 2]: the best of sin x and cos x in the two leading directions
    r2: np.ndarray  # [2]


def learned(weights: Model) -> Learned:
    """Return what the embedding of a model of one seed makes of x. The features have no basis of
    their own, for the layers only take their inner products: so it is their leading directions that
    are compared, and any two that span the same are the same."""
    x = torch.tensor(GRID, dtype=torch.float32)[:, None, None]
    phi = embed(weights, x)[0, :, :, 0].numpy().astype(float).T  # [grid, m]
    U, s, _ = np.linalg.svd(phi, full_matrices=False)
    waves = _waves(GRID)
    fitted = U[:, :2] @ (U[:, :2].T @ _waves(GRID))
    r2 = 1 - ((waves - fitted) ** 2).sum(0) / (waves**2).sum(0)
    return Learned(phi, float((s[:2] ** 2).sum() / max((s**2).sum(), 1e-30)), fitted, r2)


def _waves(x: Any) -> np.ndarray:
    """Return sin x and cos x, [..., 2]."""
    return np.stack([np.sin(x), np.cos(x)], -1)

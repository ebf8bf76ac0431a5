"""Reads a run of the comparison: its models as it holds them, with labels and styles by id."""

from dataclasses import dataclass

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.papers.gdssm.shared.sequence_models import Model, model
from icl_core.papers.gdssm.shared.sequence_models.training_end import NEAR, levels

PAPERS_TASKS = 300_000 * 64  # "up to", A.5


@dataclass(frozen=True, eq=False)
class Entry:
    """A model of a run: its place among the run's models, what it is called and drawn like, what
    the run holds of it. A loss is infinite where a training diverged, and there is no curve where
    none was begun."""

    place: int
    model: Model
    layers: int
    baseline: bool
    parameters: int
    width: int  # 0 for the GD-SSM, which has none
    losses: np.ndarray  # [seeds], on the test set
    curve: np.ndarray | None  # [seeds, evaluations], on other tasks

    @property
    def loss(self) -> float:
        """Return the mean over the seeds."""
        return float(self.losses.mean())

    @property
    def diverged(self) -> bool:
        """Whether the training of a seed did not stay finite."""
        return not np.isfinite(self.losses).all()


def entries(run: Run) -> list[Entry]:
    """Return every model of a finished run, in order."""
    baselines = run.names("baselines")
    curve_by_id = curves(run)
    rows = zip(
        run.names("models"),
        run["size/layers"],
        run["size/parameters"],
        run["size/width"],
        run["evaluated/loss"].T,
        strict=True,
    )
    return [
        Entry(
            place=place,
            model=model(id),
            layers=int(layers),
            baseline=id in baselines,
            parameters=int(parameters),
            width=int(width),
            losses=losses,
            curve=curve_by_id.get(id),
        )
        for place, (id, layers, parameters, width, losses) in enumerate(rows)
    ]


def own_level(run: Run, entry: Entry) -> float:
    """Return the loss on the test set to which a model is held: that of as many steps of gradient
    descent as it has layers, at most two; of one where the tokens allow no second step."""
    return levels(run)[min(entry.layers, 2 if run.config.model == "N-D" else 1)]


def seeds_there(run: Run, entry: Entry) -> int:
    """Return how many seeds of a model come near that loss."""
    return int((entry.losses <= NEAR * own_level(run, entry)).sum())


def curves(run: Run) -> dict[str, np.ndarray]:
    """Return the losses [seeds, evaluations] of every model that has a curve, by id; also of a run
    that is still going."""
    ids = run.names("models") if "names/models" in run.tensors else []
    return {id: np.asarray(run[f"curve/{id}"]) for id in ids if f"curve/{id}" in run.tensors}


def tasks_seen(run: Run) -> int:
    """Return the number of fresh tasks that each seed of each model was trained on."""
    return run.config.steps * run.config.batch

"""Reads a run of the comparison: its models as it holds them, with labels and styles by id."""

from dataclasses import dataclass

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.papers.gdssm.shared.sequence_models import Model, model

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
        """The mean over the seeds."""
        return float(self.losses.mean())


def entries(run: Run) -> list[Entry]:
    """Every model of a finished run, in order."""
    baselines, found, sizes = run.names("baselines"), curves(run), ("layers", "parameters", "width")
    held = zip(
        run.names("models"),
        *(run[f"size/{size}"] for size in sizes),
        run["evaluated/loss"].T,
        strict=True,
    )
    return [
        Entry(
            place,
            model(id),
            int(layers),
            id in baselines,
            int(parameters),
            int(width),
            losses,
            found.get(id),
        )
        for place, (id, layers, parameters, width, losses) in enumerate(held)
    ]


def curves(run: Run) -> dict[str, np.ndarray]:
    """The losses [seeds, evaluations] of every model that has a curve, by id; also of a run that is
    still going."""
    ids = run.names("models") if "names/models" in run.tensors else []
    return {
        each: np.asarray(run[f"curve/{each}"]) for each in ids if f"curve/{each}" in run.tensors
    }


def tasks_seen(run: Run) -> int:
    """Fresh tasks that each seed of each model was trained on."""
    return run.config.steps * run.config.batch


def beside_the_paper(run: Run) -> str:
    """The tasks seen beside the paper's, in a sentence."""
    seen, papers = tasks_seen(run) / 1e6, PAPERS_TASKS / 1e6
    return f"Each has seen {seen:.2g} million tasks; the paper trains on up to {papers:g} million."

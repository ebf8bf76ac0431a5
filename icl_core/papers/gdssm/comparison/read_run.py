"""Reads a run of the comparison: its models as it holds them, with labels and styles by id, and how each training
ended."""

from dataclasses import dataclass

import numpy as np

from icl_core import trend
from icl_core.experiment import Run
from icl_core.papers.gdssm.shared.sequence_models import Model, model, train
from icl_core.papers.gdssm.shared.sequence_models.train import Levels

NEAR = 1.05  # times gradient descent's loss: as good
MATTERS = 0.01  # of one step's loss: a fall by less is none
ZERO, FALLING, FLAT, LOST = "at predicting zero", "still falling", "flat", "diverged"
PAPERS_TASKS = 300_000 * 64  # "up to", A.5


@dataclass(frozen=True, eq=False)
class Entry:
    """A model of a run: its place among the run's models, what it is called and drawn like, what the run holds of it.
    A loss is infinite where a training diverged, and there is no curve where none was begun."""

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
    held = zip(run.names("models"), *(run[f"size/{size}"] for size in sizes), run["evaluated/loss"].T, strict=True)
    return [
        Entry(place, model(id), int(layers), id in baselines, int(parameters), int(width), losses, found.get(id))
        for place, (id, layers, parameters, width, losses) in enumerate(held)
    ]


def curves(run: Run) -> dict[str, np.ndarray]:
    """The losses [seeds, evaluations] of every model that has a curve, by id; also of a run that is still going."""
    ids = run.names("models") if "names/models" in run.tensors else []
    return {each: np.asarray(run[f"curve/{each}"]) for each in ids if f"curve/{each}" in run.tensors}


def levels(run: Run) -> Levels:
    """On the test set."""
    zero, one, two = (float(run[f"baseline/{name}"][0]) for name in ("zero", "one", "two"))
    return zero, one, two


def tasks_seen(run: Run) -> int:
    """Fresh tasks that each seed of each model was trained on."""
    return run.config.steps * run.config.batch


def beside_the_paper(run: Run) -> str:
    """The tasks seen beside the paper's, in a sentence."""
    seen, papers = tasks_seen(run) / 1e6, PAPERS_TASKS / 1e6
    return f"Each has seen {seen:.2g} million tasks; the paper trains on up to {papers:g} million."


def ending(run: Run, each: Entry) -> tuple[str, str]:
    """How a model's training ended, in words for a table, and a sentence of why that decides nothing, empty if it
    does: some seed still predicts zero, or the loss was falling by what `MATTERS`."""
    if each.curve is None or not np.isfinite(each.curve).all():
        return LOST, ""
    zero, steps = train.levels(run.config, train.WATCHED)[0], run["curve/step"]
    if said := trend.on_plateau(each.curve, zero, steps=steps):
        return ZERO, said
    said = trend.still_falling(each.curve, MATTERS * levels(run)[1], steps)
    return (FALLING, said) if said else (FLAT, "")


def falls(run: Run, each: Entry) -> np.ndarray:
    """Each seed's fall over the last tenth of its training, as a share of the loss in which it ended; NaN where it
    cannot be told."""
    if each.curve is None:
        return np.full(len(each.losses), np.nan)
    fell = [trend.last_fall(row[None], run["curve/step"])[0] for row in each.curve]
    return np.array(fell) / each.curve[:, -1]

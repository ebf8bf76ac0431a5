"""Reads a run of the comparison: its models as it holds them, with labels and styles by id."""

from dataclasses import dataclass

import numpy as np

from icl_core.experiment import Run, Tensors, names
from icl_core.papers.gdssm.shared.sequence_models import Model, model
from icl_core.papers.gdssm.shared.sequence_models.train import Levels

NEAR = 1.05  # times gradient descent's loss: as good


@dataclass(frozen=True, eq=False)
class Entry:
    """A model of a run: its place among the run's models, what it is called and drawn like, what the run holds of it.
    A loss is infinite where a training diverged."""

    place: int
    model: Model
    layers: int
    baseline: bool
    parameters: int
    losses: np.ndarray  # [seeds], on the test set

    @property
    def loss(self) -> float:
        """The mean over the seeds."""
        return float(self.losses.mean())


def entries(run: Run) -> list[Entry]:
    """Every model of a finished run, in order."""
    baselines, held = run.names("baselines"), (run["size/layers"], run["size/parameters"], run["evaluated/loss"].T)
    return [
        Entry(place, model(id), int(layers), id in baselines, int(parameters), losses)
        for place, (id, layers, parameters, losses) in enumerate(zip(run.names("models"), *held, strict=True))
    ]


def curves(run: Run) -> dict[str, np.ndarray]:
    """The losses [seeds, evaluations] of every model that has a curve, by id; also of a run that is still going."""
    ids = run.names("models") if "names/models" in run.tensors else []
    return {each: np.asarray(run[f"curve/{each}"]) for each in ids if f"curve/{each}" in run.tensors}


def levels(run: Run) -> Levels:
    """On the test set."""
    zero, one, two = (float(run[f"baseline/{name}"][0]) for name in ("zero", "one", "two"))
    return zero, one, two


# The models of then, in their order: label, id, layers. The 1-D runs had no GD-SSM of two layers.
THEN = (
    ("GD-SSM, 1 layer", "gd-ssm-1", 1),
    ("GD-SSM, 2 layers", "gd-ssm-2", 2),
    ("S5", "s5", 1),
    ("Mamba", "mamba", 1),
    ("Griffin", "griffin", 1),
    ("Linear transformer, 1 layer", "linear-1", 1),
    ("Linear transformer, 2 layers", "linear-2", 2),
    ("Softmax transformer, 1 layer", "softmax-1", 1),
    ("Softmax transformer, 2 layers", "softmax-2", 2),
)


def upgrade(tensors: Tensors) -> Tensors:
    """The tensors in today's form; those that are in it already, as they are."""
    if "names/models" in tensors:
        return tensors
    then = THEN if tensors["judged/loss"].shape[1] == len(THEN) else (THEN[0], *THEN[2:])
    renamed = {f"curve/{label}": f"curve/{id}" for label, id, _ in then} | {"judged/loss": "evaluated/loss"}
    ids = [id for _, id, _ in then]
    return {
        **{renamed.get(name, name): array for name, array in tensors.items()},
        "names/models": names(ids),
        "names/baselines": names(id for id in ids if not id.startswith("gd-ssm")),
        "size/layers": np.array([layers for _, _, layers in then]),
    }

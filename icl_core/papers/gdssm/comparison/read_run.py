"""Reads a run of the comparison: its models as it holds them, with labels and styles by id."""

from dataclasses import dataclass

import numpy as np

import icl_core.papers.gdssm.comparison.train as train
from icl_core.experiment import Run
from icl_core.papers.gdssm.comparison.baselines import Model, model
from icl_core.papers.gdssm.shared import construction

NEAR = 1.05  # times gradient descent's loss: as good


@dataclass(frozen=True)
class Entry:
    """A model of a run: its place among the run's models, what it is called and drawn like, its layers."""

    place: int
    model: Model
    layers: int
    baseline: bool

    @property
    def label(self) -> str:
        return self.model.label

    @property
    def short(self) -> str:
        """The label within a sentence."""
        return self.label.replace("Linear transformer", "linear transformer").replace("Softmax", "softmax")


def entries(run: Run) -> list[Entry]:
    """Every model of a finished run, in order."""
    ids, baselines, layers = run.names("models"), run.names("baselines"), run["size/layers"]
    return [Entry(i, model(each), int(layers[i]), each in baselines) for i, each in enumerate(ids)]


def curves(run: Run) -> dict[str, np.ndarray]:
    """The losses [seeds, evaluations] of every model that has a curve, by id; also of a run that is still going."""
    ids = run.names("models") if "names/models" in run.tensors else []
    return {each: np.asarray(run[f"curve/{each}"]) for each in ids if f"curve/{each}" in run.tensors}


def levels_on(run: Run, which: tuple[int, int]) -> tuple[float, float, float]:
    """Predicting zero, the best step and the best two on some of the held-out tasks, which are too few to lie at the
    expectation; known before the training ends."""
    tasks = train.held_out(run.config, which)
    one, two = (construction.best_mixture(tasks, steps)[1] for steps in (1, 2))
    return float(tasks.y[-1].square().mean()) / 2, one, two


def levels(run: Run) -> tuple[float, float, float]:
    """The same three on the test set."""
    zero, one, two = (float(run[f"baseline/{name}"][0]) for name in ("zero", "one", "two"))
    return zero, one, two

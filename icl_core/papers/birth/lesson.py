"""The lesson on the induction head. Imports no torch until an answer is asked for."""

from collections.abc import Callable
from typing import Any

from icl_core.contract.experiment import Run
from icl_core.contract.lesson import EXPERIMENTS, PRESETS, SETTINGS, TRAIN
from icl_core.contract.paper_words import LessonWords

GRAFTS = ("graft_W_K1", "graft_W_K2", "graft_W_O2")


def _with(*grafts: str) -> Callable[[Run], float]:
    """Return the function that gives the accuracy in percent with some constructed matrices, as the
    drawer Graft measures it."""

    def accuracy(run: Run) -> float:
        from icl_core.papers.birth.induction.grafted import achieved
        from icl_core.papers.birth.induction.settings import View

        fields: dict[str, Any] = dict.fromkeys(grafts, "constructed")
        return 100 * achieved(run, View(**fields))["accuracy"]

    return accuracy


def _half(matrix: str) -> Callable[[Run], float]:
    """Return the function that gives the step where a matrix gets half of its pairs right."""

    def step(run: Run) -> float:
        from icl_core.papers.birth.induction.load_run import milestones

        return milestones(run)[matrix]

    return step


def _apart(run: Run) -> float:
    """Return the steps from W_O2's half to W_K2's."""
    return _half("W_K²")(run) - _half("W_O²")(run)


def _half_by_frequency(run: Run) -> float | None:
    """Return the step where W_K2 has half of its pairs, weighted by how often they come."""
    from icl_core.figures import mean_of
    from icl_core.papers.birth.induction.load_run import half_step

    return half_step(run, mean_of(run["curve/recall_W_K2_weighted"]))


def _learned(run: Run) -> float:
    return float(sum(run[name].size for name in run.tensors if name.startswith("final/")))


LESSON = LessonWords(
    __file__,
    right={
        "order": (_apart, 3),
        "together": (_with(*GRAFTS), 0.25),
        "numbers": (_learned, 0),
    },
    readings={
        "W_O2": _half("W_O²"),
        "W_K2": _half("W_K²"),
        "W_K2_by_frequency": _half_by_frequency,
        "with_W_K1": _with("graft_W_K1"),
        "with_W_K2": _with("graft_W_K2"),
        "with_W_O2": _with("graft_W_O2"),
        "d": lambda run: run.config.d,
    },
).lesson(
    name="induction-head",
    experiment="induction",
    preset="fastest",
    working=15,
    fixed={"orientation": "code", "weighted": False, "strength": 1.0},
    hidden=(PRESETS, SETTINGS, TRAIN, EXPERIMENTS, "Trained beside constructed", "Evidence"),
    predict=("output", "zero"),
)

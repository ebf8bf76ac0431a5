"""The lesson on what a state holds today. Imports no torch until an answer is asked for."""

from collections.abc import Callable

from icl_core.contract.experiment import Run
from icl_core.contract.lesson import EXPERIMENTS, PRESETS
from icl_core.contract.paper_words import LessonWords


def _share(id: str) -> Callable[[Run], float]:
    """Return the function that gives what the construction of a layer loses."""
    return lambda run: float(run["layers/share"][run.names("layers").index(id)])


def _drifting(run: Run) -> float:
    """Return the mean trained decay of KDA's columns that drift."""
    return float(run["layers/kda-half/decays"][:, : (run.config.f + 1) // 2].mean())


def _found(run: Run) -> int:
    """Return how many trainings find DeltaProduct's two pairs."""
    from icl_core.papers.gdssm.states.load_run import found_both_pairs

    return int(found_both_pairs(run).sum())


LESSON = LessonWords(
    __file__,
    right={
        "older": (lambda run: float(run["layers/oldest"][0]), 0.01),
        "newer": (_share("product-two"), 0.01),
        "channels": (_drifting, 0.01),
    },
    readings={
        "f": lambda run: run.config.f,
        "N": lambda run: run.config.N,
        "unit": lambda run: (1 - 1 / run.config.f) ** run.config.N,
        "found": _found,
        "seeds": lambda run: run.config.seeds,
        "half_gated": _share("gated-half"),
        "half_channels": _share("kda-half"),
    },
).lesson(
    name="state-today",
    experiment="states",
    preset="paper size",
    working=15,
    fixed={"f": 10, "N": 10, "drift": 0.0, "train_recent": True},
    hidden=(PRESETS, EXPERIMENTS, "Symmetries"),
    predict=("today", "gates"),
)

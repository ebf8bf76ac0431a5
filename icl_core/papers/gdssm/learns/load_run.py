"""Reads a run of the experiment on width and tasks."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.papers.gdssm.learns.run import OWN
from icl_core.papers.gdssm.learns.settings import settings_of
from icl_core.papers.gdssm.shared.sequence_models import model, training_end


def ratios(run: Run, id: str) -> np.ndarray:
    """A model's final losses over one step's, [seeds, widths]; infinite where it diverged."""
    return run["evaluated/loss"][:, run.names("models").index(id)] / training_end.levels(run)[1]


def widths(run: Run) -> np.ndarray:
    """The widths over 2f + N + 1, [widths]."""
    return np.array([setting.hidden / setting.base for setting in settings_of(run.config)])


def base_place(run: Run) -> int:
    """Which of the widths is nearest to 2f + N + 1."""
    return int(np.abs(np.log(widths(run))).argmin())


def curve(run: Run, id: str, place: int) -> np.ndarray | None:
    """A model's losses [seeds, evaluations] at the width at `place`; None where there is none, yet
    or at all."""
    width = settings_of(run.config)[place].hidden
    found = run.tensors.get(f"curve/{id}" if id == OWN else f"curve/{id} {width}")
    return None if found is None else np.asarray(found)


def unfinished(run: Run, ids: list[str], place: int) -> str:
    """Which of some models, at one width, cannot be told to be far from one step, and why. Empty if
    all can."""
    said = [(id, training_end.undecided(run, curve(run, id, place))) for id in ids]
    return " ".join(f"{model(id).label}: {why}" for id, why in said if why)

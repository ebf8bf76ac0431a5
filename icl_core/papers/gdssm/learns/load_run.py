"""Reads a run of the experiment on width and tasks."""

from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.papers.gdssm.learns.run import OWN
from icl_core.papers.gdssm.learns.settings import settings_of
from icl_core.papers.gdssm.shared.sequence_models import model, training_end


def ratios(run: Run, id: str) -> np.ndarray:
    """Return a model's final losses over one step's, [seeds, widths]; infinite where it
    diverged."""
    return run["evaluated/loss"][:, run.names("models").index(id)] / training_end.levels(run)[1]


def widths(run: Run) -> np.ndarray:
    """Return the widths over 2f + N + 1, [widths]."""
    return np.array([setting.hidden / setting.base for setting in settings_of(run.config)])


def base_place(run: Run) -> int:
    """Return the place of the width that is nearest to 2f + N + 1."""
    return int(np.abs(np.log(widths(run))).argmin())


def place_shown(run: Run, view: Any) -> int:
    """Return the place of the width whose curves the view shows; also of a run that is still
    going."""
    return {"narrowest": 0, "base": base_place(run), "widest": -1}[view.shown]


def curve(run: Run, id: str, place: int) -> np.ndarray | None:
    """Return a model's losses [seeds, evaluations] at the width at `place`; None where there are
    none, yet or at all."""
    width = settings_of(run.config)[place].hidden
    losses = run.tensors.get(f"curve/{id}" if id == OWN else f"curve/{id} {width}")
    return None if losses is None else np.asarray(losses)


def unfinished(run: Run, ids: list[str], place: int) -> str:
    """Say which of some models, at one width, cannot be told to be far from one step, and why.
    Empty if all can."""
    reasons = [(id, training_end.undecided(run, curve(run, id, place))) for id in ids]
    return " ".join(f"{model(id).label}: {why}" for id, why in reasons if why)

"""Reads a run of the experiment on width and tasks."""

import numpy as np

from icl_core import trend
from icl_core.experiment import Run
from icl_core.papers.gdssm.learns.run import OWN
from icl_core.papers.gdssm.learns.settings import settings_of
from icl_core.papers.gdssm.shared.sequence_models import train

NEAR = 1.05  # times gradient descent's loss: as good
MATTERS = 0.01  # of one step's loss: a fall by less is none


def levels(run: Run) -> train.Levels:
    """Predicting zero, one step and two, on the test set."""
    zero, one, two = (float(run[f"baseline/{name}"][0]) for name in ("zero", "one", "two"))
    return zero, one, two


def ratios(run: Run, id: str) -> np.ndarray:
    """A model's final losses over one step's, [seeds, widths]; infinite where it diverged."""
    return run["evaluated/loss"][:, run.names("models").index(id)] / levels(run)[1]


def widths(run: Run) -> np.ndarray:
    """The widths over 2f + N + 1, [widths]."""
    return np.array([setting.hidden / setting.base for setting in settings_of(run.config)])


def base_place(run: Run) -> int:
    """Which of the widths is nearest to 2f + N + 1."""
    return int(np.abs(np.log(widths(run))).argmin())


def curve(run: Run, id: str, place: int) -> np.ndarray | None:
    """A model's losses [seeds, evaluations] at the width at `place`; None where there is none, yet or at all."""
    width = settings_of(run.config)[place].hidden
    found = run.tensors.get(f"curve/{id}" if id == OWN else f"curve/{id} {width}")
    return None if found is None else np.asarray(found)


def unfinished(run: Run, ids: list[str], place: int) -> str:
    """Which of some models, at one width, had not come to the end of their training: still at predicting zero, or
    falling by a hundredth of one step's loss. Empty if all had."""
    zero, one, _ = train.levels(settings_of(run.config)[0], train.WATCHED)
    steps, said = run["curve/step"], []
    for id in ids:
        rows = curve(run, id, place)
        if rows is not None and np.isfinite(rows).all():
            held = trend.on_plateau(rows, zero, steps=steps) or trend.still_falling(rows, MATTERS * one, steps)
            said += [f"{id}: {held}"] if held else []
    return " ".join(said)

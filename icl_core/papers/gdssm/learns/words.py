"""The numbers in words.md, and which answers are right."""

from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.words import Reading, Words
from icl_core.papers.gdssm.learns.claims import base_place, curve, place_shown, ratios, widths
from icl_core.papers.gdssm.learns.run import OWN
from icl_core.papers.gdssm.learns.settings import SHOWN, Config, View, settings_of
from icl_core.papers.gdssm.shared.captions import prompt
from icl_core.papers.gdssm.shared.sequence_models import model
from icl_core.papers.gdssm.shared.sequence_models.training_end import LEFT, NEAR, watched

ROOM = 40  # characters of a headline for names
WIDEST = -1


def _others(run: Run) -> list[str]:
    """Return the ids of all models but the GD-SSM."""
    return [id for id in run.names("models") if id != OWN]


def _own(run: Run) -> float:
    """Return the GD-SSM's loss over that of one step."""
    return float(ratios(run, OWN).mean())


def _reaching_from(run: Run) -> dict[str, float]:
    """Return, by id, the smallest width at which a model reaches one step, of those that do."""
    x = widths(run)
    reached = {id: x[ratios(run, id).mean(0) <= NEAR] for id in _others(run)}
    return {id: float(at[0]) for id, at in reached.items() if len(at)}


def _reaching_list(run: Run, view: Any) -> str:
    """Return the names of these models with their widths, where there is room."""
    names = [f"{model(id).short} from {at:.2g}" for id, at in _reaching_from(run).items()]
    listing = ", ".join(names)
    return listing if len(listing) <= ROOM else ""


def _reaching_at(run: Run, place: int) -> int:
    """Return how many other models reach one step at the width at `place`."""
    return sum(int(ratios(run, id)[:, place].mean() <= NEAR) for id in _others(run))


def _blind(run: Run, view: Any) -> str:
    """Return the models that do not see the size of y: see `seen` of the comparison."""
    if run.config.bias or run.config.norm == "none":
        return ""
    blind = ("mamba", "gated-delta")
    if run.config.norm == "authors":
        blind = ("s5", *blind)
    return ", ".join(model(id).short for id in blind if id in run.names("models"))


def _leaves(run: Run, place: int) -> tuple[int, int]:
    """Return the fewest and the most tasks after which other models have left predicting zero at a
    width, of those that do."""
    level = (1 - LEFT) * watched(run)[0]
    tasks = run["curve/step"] * run.config.batch
    curves = [curve(run, id, place) for id in _others(run)]
    evaluations = [
        np.flatnonzero(losses.mean(0) < level) for losses in curves if losses is not None
    ]
    first = [int(tasks[at[0]]) for at in evaluations if len(at)]
    return min(first), max(first)


def _left_at(index: int, *, base: bool) -> Reading:
    """Return the reading of the fewest (0) or the most (1) of these tasks, at the width that is
    nearest to 2f + N + 1 or at the largest."""
    return lambda run, view: _leaves(run, base_place(run) if base else WIDEST)[index]


def _wider(run: Run, view: Any) -> int:
    there = _reaching_at(run, WIDEST)
    return 0 if not there else 2 if there == len(_others(run)) else 1


def _sooner(run: Run, view: Any) -> int:
    before, after = (
        np.prod(np.array(_leaves(run, place), float)) ** 0.5 for place in (base_place(run), WIDEST)
    )
    return 0 if after < 0.9 * before else 1 if after <= 1.1 * before else 2


WORDS = Words(
    __file__,
    Config,
    View,
    of_config={"scalar_labels": lambda config: config.model == "1-D"},
    readings={
        "near_margin": lambda run, view: NEAR - 1,
        "tasks": lambda run, view: run.config.steps * run.config.batch,
        # widths over 2f + N + 1
        "several_widths": lambda run, view: len(widths(run)) > 1,
        "narrowest": lambda run, view: widths(run)[0],
        "base": lambda run, view: widths(run)[base_place(run)],
        "widest": lambda run, view: widths(run)[WIDEST],
        "factor_shown": lambda run, view: widths(run)[place_shown(run, view)],
        "width_shown": lambda run, view: settings_of(run.config)[place_shown(run, view)].hidden,
        "which_width": lambda run, view: SHOWN[view.shown],
        # how many other models there are, and reach one step
        "others": lambda run, view: len(_others(run)),
        "reaching": lambda run, view: len(_reaching_from(run)),
        "reaching_from": _reaching_list,
        "reaching_narrowest": lambda run, view: _reaching_at(run, 0),
        "reaching_widest": lambda run, view: _reaching_at(run, WIDEST),
        "blind": _blind,
        # the GD-SSM's loss over that of one step
        "own": lambda run, view: _own(run),
        "own_excess": lambda run, view: _own(run) - 1,
        "own_above": lambda run, view: NEAR < _own(run) < np.inf,
        # tasks after which the first and the last of the others have left predicting zero
        "first_at_base": _left_at(0, base=True),
        "last_at_base": _left_at(1, base=True),
        "first_at_widest": _left_at(0, base=False),
        "last_at_widest": _left_at(1, base=False),
    },
    right={"wider": _wider, "sooner": _sooner},
    example=prompt(("", "0.08"), ("−0.5", "0.5"), query="0.3", answer="0.6"),
)

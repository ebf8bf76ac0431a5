"""The numbers in words.md, and which answers are right."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.number_text import number_text
from icl_core.contract.story import first_from
from icl_core.contract.words import Words
from icl_core.papers.memformers.convergence.settings import Config, View
from icl_core.papers.memformers.shared.draw.preconditioner import (
    distances_at,
    multiples,
    random_distance,
)
from icl_core.papers.memformers.shared.words import EXAMPLE

CLOSE = 0.1  # from a multiple of Σ⁻¹, as a share of its size
SAME = 0.1  # a share by which two steps may differ and count as one
OTHER = 2  # the seed that is compared with the first


def _farthest(run: Run, view: View) -> float:
    """Return the largest distance of a layer's matrix from a multiple of Σ⁻¹ at the step shown,
    over seeds."""
    return float(distances_at(run, run.snapshot_at(view)).max())


def _at_most(share: float) -> str:
    """Return a share in percent, rounded up: all lie within it."""
    return f"{math.ceil(1000 * share) / 10:g}%"


def _in_the_end(run: Run, view: View) -> float:
    """Return the same at the end."""
    return max(float(run[f"curve/distance_{n}"][:, -1].max()) for n in range(run.config.layers))


def _found(run: Run) -> float | None:
    """Return the step from which on all layers of all seeds are close to a multiple of Σ⁻¹, at
    every evaluation."""
    # [L, seeds, points]
    away = np.stack([run[f"curve/distance_{layer}"] for layer in range(run.config.layers)])
    farthest = away.max((0, 1))  # NaN where any is
    return first_from(run["curve/step"], farthest <= CLOSE)


def _another(run: Run) -> float | None:
    """Return the end of the training, if there is another seed to compare."""
    return run.snapshot_steps[-1] if run.config.seeds >= OTHER else None


def _best(run: Run) -> np.ndarray:
    """Return the steps 1/r of the best polynomial, smallest first, as theory has them."""
    return np.sort(run["reference/floor_steps"][-1][: run.config.layers])


def _listed(steps: Sequence[Any] | np.ndarray) -> str:
    return ", ".join(number_text(float(step), 2) for step in steps)


def _ending_in_and(steps: np.ndarray) -> str:
    return f"{_listed(steps[:-1])} and {_listed(steps[-1:])}"


def _lengths(run: Run, view: View) -> int:
    """Return how many steps of the best polynomial are longer than the one before."""
    best = _best(run)
    return int(np.sum(np.diff(best) > SAME * best[:-1]))


def _order(run: Run, view: View) -> int:
    every = multiples(run)
    one = every[0]
    other = every[OTHER - 1]
    if not np.allclose(np.sort(one), np.sort(other), rtol=SAME):
        return 2
    return 0 if np.allclose(one, other, rtol=SAME) else 1


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        "step": lambda run, view: run.step(view),
        # distances from a multiple of Σ⁻¹: of the layer farthest away
        "farthest": _farthest,
        "within": lambda run, view: _at_most(_farthest(run, view)),
        "farthest_in_the_end": _in_the_end,
        # and what they are held against
        "close": lambda run, view: CLOSE,
        "random": lambda run, view: random_distance(run.config.d),
        "step_found": lambda run, view: _found(run),
        # the layers' steps: as theory has them, as learned, as learned with another seed
        "best_steps": lambda run, view: _ending_in_and(_best(run)),
        "learned_steps": lambda run, view: _ending_in_and(multiples(run)[0]),
        "steps_of_one": lambda run, view: _listed(multiples(run)[0]),
        "steps_of_other": lambda run, view: _listed(multiples(run)[OTHER - 1]),
        "other_seed": lambda run, view: OTHER,
    },
    at={"found": _found, "another seed": _another},
    right={"noise": _lengths, "seeds": _order},
    example=EXAMPLE,
)

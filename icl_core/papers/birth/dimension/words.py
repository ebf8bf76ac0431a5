"""The numbers in words.md, and which answers are right."""

from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.words import Reading, Words
from icl_core.papers.birth.dimension.one_step import (
    FIXED,
    HALF,
    at_rates,
    contour,
    over_training,
    tuned,
)
from icl_core.papers.birth.dimension.settings import Config, View, widths_of
from icl_core.papers.birth.shared.captions import EXAMPLE

BATCHES = 16  # of the one step, if nothing else is said
SHARES = (1 / 3, 3 / 4)
CAUGHT = (1 / 3, 2 / 3)  # of the way from the fixed rate's recall to that of the largest width
LITTLE = 0.03
NARROW = 32  # the width whose training is compared with that of the largest


def _place(run: Run, d: int) -> int:
    """Return the index of a width."""
    return run["task/widths"].tolist().index(d)


def _number(run: Run, batches: int) -> int:
    """Return the index of a number of batches."""
    return run["task/numbers"].tolist().index(batches)


def _width(place: int) -> Reading:
    """Return the reading of the least (0) or the largest width (-1)."""
    return lambda run, view: int(run["task/widths"][place])


def _recall(run: Run, d: int, batches: int = BATCHES) -> float:
    """Return the one-step recall, the mean over seeds."""
    return float(run["one_step/recall"].mean(0)[_number(run, batches), _place(run, d)])


def _one_step(d: int, batches: int = BATCHES) -> Reading:
    """Return the reading of the one-step recall at a width."""
    return lambda run, view: _recall(run, d, batches)


def _one_step_at(place: int) -> Reading:
    """Return the reading of the one-step recall at the least or the largest width."""
    return lambda run, view: _recall(run, int(run["task/widths"][place]))


def _half(run: Run) -> tuple[int, float]:
    """Return the largest number of batches from which theory expects one half to be recalled at
    some width, and that width; 0 and NaN if there is none."""
    crossings = [
        (int(number), float(d))
        for number, d in zip(run["task/numbers"], contour(run, 0.5), strict=True)
        if np.isfinite(d)
    ]
    return crossings[-1] if crossings else (0, np.nan)


def _over_training_fixed(run: Run, d: int) -> float:
    """Return the mean recall over the training at the fixed rate."""
    return float(over_training(run)[:, _place(run, d), FIXED].mean())


def _over_training_tuned(run: Run, d: int) -> float:
    """Return the mean recall over the training at the width's best rate."""
    return float(at_rates(over_training(run), tuned(run)).mean(0)[_place(run, d)])


def _noise(d: int) -> Reading:
    """Return the reading of the first seed's noise at a width."""
    return lambda run, view: np.sqrt(run["theory/noise"][0, _number(run, BATCHES)])[_place(run, d)]


def _rate(place: int) -> Reading:
    """Return the reading of a learning rate that was tried."""
    return lambda run, view: float(run["task/rates"][place])


def _narrow(run: Run, view: Any) -> int:
    return int(np.digitize(_recall(run, 16), SHARES))


def _helps(run: Run, view: Any) -> int:
    """Return which choice holds: the width helps more, the data, or neither."""
    now = _recall(run, 64, 4)
    wider = _recall(run, 128, 4) - now
    more = _recall(run, 64, 8) - now
    return 2 if max(wider, more) < LITTLE else int(more > wider)


def _caught(run: Run, view: Any) -> int:
    """Return which choice says how far the narrow width catches up at its best rate."""
    fixed = _over_training_fixed(run, NARROW)
    best = _over_training_tuned(run, NARROW)
    widest = _over_training_tuned(run, int(run["task/widths"][-1]))
    return int(np.digitize((best - fixed) / (widest - fixed), CAUGHT))


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        "finished": lambda run, view: run.finished,
        "least_d": _width(0),
        "largest_d": _width(-1),
        "width_count": lambda run, view: len(run["task/widths"]),
        "batches": lambda run, view: int(view.batches_shown),
        # what one step recalls, by width, and by the number of batches if it is not 16
        "one_step_least_d": _one_step_at(0),
        "one_step_largest_d": _one_step_at(-1),
        "one_step_16": _one_step(16),
        "one_step_64_4": _one_step(64, 4),
        "one_step_128_4": _one_step(128, 4),
        "one_step_64_8": _one_step(64, 8),
        # where theory expects one half
        "half": lambda run, view: HALF,
        "half_batches": lambda run, view: _half(run)[0],
        "half_d": lambda run, view: _half(run)[1],
        # readings of the one step, of the first seed
        "noise_128": _noise(128),
        "noise_16": _noise(16),
        "signal": lambda run, view: float(run["one_step/signal"][0, _number(run, BATCHES)]),
        # learning rates
        "rates": lambda run, view: len(run["task/rates"]),
        "least_rate": _rate(0),
        "largest_rate": _rate(-1),
        "fixed_rate": _rate(FIXED),
        "widths_at_last_rate": lambda run, view: (tuned(run) == len(run["task/rates"]) - 1).sum(),
        "is_paper_scale": lambda run, view: run.config.scale == "paper",
        # recall over the training, and at its end
        "fixed_32": lambda run, view: _over_training_fixed(run, NARROW),
        "tuned_32": lambda run, view: _over_training_tuned(run, NARROW),
        "tuned_largest_d": lambda run, view: _over_training_tuned(run, run["task/widths"][-1]),
    },
    of_config={
        "least_d": lambda config: widths_of(config)[0],
        "largest_d": lambda config: widths_of(config)[-1],
    },
    right={"width": _narrow, "data": _helps, "tuned": _caught},
    done={"close": lambda view: view.width_shown == "16"},
    example=EXAMPLE,
)

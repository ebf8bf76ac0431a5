"""The numbers in words.md, and which answers are right."""

from functools import partial
from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.words import Words
from icl_core.papers.memformers.shared.words import EXAMPLE, times
from icl_core.papers.memformers.speed.claims import (
    WITHIN,
    Factors,
    arrivals,
    at_best,
    best_rate,
    models_of,
    nearest,
    typical,
)
from icl_core.papers.memformers.speed.settings import (
    CGD,
    LINEAR,
    MODELS_BY_ID,
    STEPPED,
    Config,
    Timed,
    View,
)

BOUNDS = (1.3, 4.0)  # of how many times as fast: no faster below, far faster above
MORE = 1.25  # a factor from which memory is worth more, or less, elsewhere
ENOUGH = 0.06  # a learning rate from which on 0.1 is the nearest that was trained


def _factor(coordinates: str, model: Timed, slower: Timed, run: Run, view: Any) -> float:
    """Return how many times as fast as a slower one a model is, each at its best rate; 1 if that is
    not known."""
    factors = at_best(run, coordinates, model, slower)
    return factors.mean if factors is not None and np.isfinite(factors.mean) else 1.0


def _times(coordinates: str, model: Timed, run: Run, view: Any) -> str:
    """Return the factor over the linear transformer in words, such as "3.6 times"."""
    return times(_factor(coordinates, model, LINEAR, run, view))


def _seeds(coordinates: str, slower: Timed, run: Run, view: Any) -> str:
    """Return the lowest and the highest seed's factor of the CGD-like Memformer, in brackets and
    after a blank; empty if they are not known."""
    factors = at_best(run, coordinates, CGD, slower)
    return "" if factors is None else _in_brackets(factors)


def _in_brackets(factors: Factors) -> str:
    return f" ({factors.values.min():.1f} to {factors.values.max():.1f})"


def _times_shown(model: Timed, run: Run, view: Any) -> str:
    """Return the factor over the linear transformer in the view's coordinates: "3.2 times", "more
    than 3.2 times", "not known"."""
    factors = at_best(run, view.coordinates, model)
    if factors is None or not np.isfinite(factors.mean):
        return "not known"
    return "more than " * bool(factors.at_least.any()) + f"{factors.mean:.1f} times"


def _seeds_shown(run: Run, view: Any) -> str:
    """Return the lowest and the highest seed's factor in the view's coordinates, as above; empty
    for a single seed."""
    factors = at_best(run, view.coordinates, CGD)
    return _in_brackets(factors) if factors is not None and len(factors.values) > 1 else ""


def _steps(coordinates: str, model: Timed, run: Run, view: Any) -> float:
    """Return the training steps that a model needs in the median, at its best rate."""
    return float(typical(arrivals(run, model, coordinates)).min())


def _buys_time(run: Run, view: Any) -> bool:
    """Return whether memory makes every seed's training shorter than step sizes alone do."""
    factors = at_best(run, view.coordinates, CGD, STEPPED)
    return factors is not None and bool(factors.values.min() > 1)


def _best_rate(run: Run, view: Any) -> int | None:
    """Return the index of the rate at which the view's model arrives soonest."""
    return best_rate(arrivals(run, MODELS_BY_ID[view.model], view.coordinates))


def _models_too_late(run: Run, view: Any) -> int:
    """Return how many models do not arrive at the view's rate."""
    index = nearest(run, view.rate)
    steps = [typical(arrivals(run, model, view.coordinates))[index] for model in models_of(run)]
    return int((~np.isfinite(steps)).sum())


def _sooner(run: Run, view: Any) -> int:
    return int(np.digitize(_factor("original", CGD, LINEAR, run, view), BOUNDS))


def _whitened(run: Run, view: Any) -> int:
    there, here = (_factor(where, CGD, STEPPED, run, view) for where in ("whitened", "original"))
    return int(np.digitize(there / here, (1 / MORE, MORE)))


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        "within": lambda run, view: WITHIN,
        "several_seeds": lambda run, view: run.config.seeds > 1,
        # how many times as fast, each at its best rate, and in brackets the seeds' range: of the
        # CGD-like Memformer, of step sizes alone, and of what memory adds to these
        "memformer_times": partial(_times, "original", CGD),
        "memformer_seeds": partial(_seeds, "original", LINEAR),
        "memformer_times_whitened": partial(_times, "whitened", CGD),
        "memformer_seeds_whitened": partial(_seeds, "whitened", LINEAR),
        "alpha_times": partial(_times, "original", STEPPED),
        "memory_factor": partial(_factor, "original", CGD, STEPPED),
        "memory_seeds": partial(_seeds, "original", STEPPED),
        "memory_factor_whitened": partial(_factor, "whitened", CGD, STEPPED),
        "memory_seeds_whitened": partial(_seeds, "whitened", STEPPED),
        # training steps to the floor at the best rate, in whitened coordinates
        "linear_steps_whitened": partial(_steps, "whitened", LINEAR),
        "memformer_steps_whitened": partial(_steps, "whitened", CGD),
        # in the coordinates shown, of the CGD-like Memformer and of step sizes alone
        "both_arrive": lambda run, view: at_best(run, view.coordinates, CGD) is not None,
        "is_original": lambda run, view: view.coordinates == "original",
        "buys_time": _buys_time,
        "memformer_arrives": lambda run, view: np.isfinite(
            _steps(view.coordinates, CGD, run, view)
        ),
        "times_shown": partial(_times_shown, CGD),
        "seeds_shown": _seeds_shown,
        "factor_shown": lambda run, view: _times_shown(CGD, run, view).removesuffix(" times"),
        "alpha_times_shown": partial(_times_shown, STEPPED),
        "alpha_factor_shown": lambda run, view: _times_shown(STEPPED, run, view).removesuffix(
            " times"
        ),
        # at the rate shown
        "rate_shown": lambda run, view: float(run["rate/values"][nearest(run, view.rate)]),
        "models_too_late": _models_too_late,
        "models_timed": lambda run, view: len(models_of(run)),
        # of the one model at every rate
        "model_shown": lambda run, view: MODELS_BY_ID[view.model].name,
        "finished": lambda run, view: run.finished,
        "model_arrives": lambda run, view: _best_rate(run, view) is not None,
        "best_rate": lambda run, view: float(run["rate/values"][_best_rate(run, view)]),
        "best_steps": lambda run, view: _steps(
            view.coordinates, MODELS_BY_ID[view.model], run, view
        ),
    },
    of_config={"within": lambda config: WITHIN},
    right={"sooner": _sooner, "whitened": _whitened},
    done={"rate": lambda view: view.rate >= ENOUGH},
    example=EXAMPLE,
)

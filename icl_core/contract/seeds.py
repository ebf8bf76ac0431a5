"""Several seeds in one run: which of them a drawing shows, and what a run keeps of each.

Where a model's seeds are the first axis of its tensors a drawing reads the row of the seed shown.
Where seeds are trained one after the other, a run holds the first one's model under plain names,
and what the stage needs of the others as `seed/<number>/<name>`; numbers count from 1. Large
shipped runs, and those of before, hold the first seed alone. No torch.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from icl_core.contract.knobs import knobs_of, slider
from icl_core.contract.run import PER_SNAPSHOT, Run, Tensors

FIELD = "seed_shown"  # of a view
ROWS = "seeds"  # the setting that says how many rows a run's tensors have
HELD = "seeds_held"  # `Run.seeds_held`
SHOWN = "seed/shown"  # the tensor that says of which seed a run's model is


def seed_shown_knob(held: str = ROWS) -> Any:
    """Declare the view's field `seed_shown`. `held` names what says how many seeds a run holds: the
    config's ROWS, or the run's HELD."""
    return slider("seed shown", 1, 5, default=1, at_most=held, help="whose model the maps show")


def other_seeds(models: Mapping[int, Tensors], in_half: bool = True) -> dict[str, np.ndarray]:
    """Return the tensors that store the models of seeds other than the first, given by number.
    Floats are rounded to half precision, which numbers below 0.0001 do not bear."""
    return {
        f"seed/{number}/{name}": half(array) if in_half else np.asarray(array)
        for number, tensors in models.items()
        for name, array in tensors.items()
    }


def half(array: np.ndarray) -> np.ndarray:
    """Return an array of floats in half precision, any other as it is."""
    values = np.asarray(array)
    return values.astype(np.float16) if np.issubdtype(values.dtype, np.floating) else values


def model_of_seed(number: int) -> dict[str, np.ndarray]:
    """Return the tensor that says that a preview's model is of this seed."""
    return {SHOWN: np.array([number])}


def setting_of(run: Run) -> int:
    """Return the setting `seed` of the seed whose model stands under the run's plain names."""
    return (run.config.seed + number_of(run) - 1) % 100


def number_of(run: Run) -> int:
    """Return the number of the seed whose model stands under the run's plain names."""
    return int(run.tensors.get(SHOWN, (1,))[0])


@lru_cache(maxsize=4)
def of_seed(run: Run, number: int) -> Run:
    """Return the run with the model of another seed under the plain names, floats in single
    precision; the run itself for the first seed, and where the run does not hold that one.

    Where snapshots of other seeds are not kept, the run that is returned has the last one alone.
    """
    prefix = f"seed/{number}/"
    model = {
        name.removeprefix(prefix): array
        for name, array in run.tensors.items()
        if name.startswith(prefix)
    }
    if not model:
        return run
    common = {
        name: array for name, array in run.tensors.items() if name.split("/")[0] not in PER_SNAPSHOT
    }
    last = {"snapshot/step": np.asarray(run.snapshot_steps[-1:], np.int64)}
    tensors = {**common, **last, **model_of_seed(number)}
    for name, array in model.items():
        is_float = np.issubdtype(array.dtype, np.floating)
        tensors[name] = array.astype(np.float32) if is_float else array
    return replace(run, tensors=tensors, digest=f"{run.digest} seed {number}")


def can_choose(view: Any) -> bool:
    """Return whether a view, or a class of views, has a field that chooses the seed shown."""
    knob = knobs_of(view if isinstance(view, type) else type(view)).get(FIELD)
    return knob is not None and bool(knob.at_most)


def seed_shown(run: Run, view: Any) -> int:
    """Return the number of the seed whose model a view shows of a run."""
    knob = knobs_of(type(view)).get(FIELD)
    if knob is None or not knob.at_most or (knob.at_most == HELD and not run.finished):
        return number_of(run)
    return min(getattr(view, FIELD), run.limit(knob.at_most))

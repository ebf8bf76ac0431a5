"""A grid of trainings: one for every combination of the values of some axes, such as seed × width.

A run that trains a grid declares one named phase a point of it (`RunGrid.phases`). While and after
it trains, `phases.run` hands back what each phase has produced so far, by the phase's name; a grid
reads these results as arrays whose first axes are the grid's:

    grid = RunGrid(lambda seed, d: f"{d} {seed}", {"seed": range(3), "d": (16, 32)})
    plan = grid.phases(steps, train, lambda seed, d: f"d = {d}, seed {seed + 1}")
    results = phases.run(plan, progress, lambda results: grid.curves(results, {"curve": 40}))
    grid.stack(results, "evaluated/loss")  # (seeds, widths)

A phase's name is its identity in checkpoints and among processes that share a run: if a grid names
its points in another way, stored checkpoints are abandoned.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from icl_core.contract.experiment import Tensors
from icl_core.training.phases import Made, Phase
from icl_core.training.several_seeds import padded

Point = dict[str, Any]  # of every axis one value


@dataclass(frozen=True, eq=False)
class RunGrid:
    """Trainings that differ in the values of some axes.

    name  called with a point's values by keyword, returns the name of its phase; points of the same
          name share one training
    axes  of each axis its values; the axes of the arrays that are read come in this order.
          Trainings do too: the values of the last axis change first.
    """

    name: Callable[..., str]
    axes: Mapping[str, Sequence[Any]]

    def points(self, **fixed: Any) -> list[Point]:
        """Return all points in order, or those at which the `fixed` axes have the given values."""
        values = [
            [fixed[axis]] if axis in fixed else choices for axis, choices in self.axes.items()
        ]
        return [dict(zip(self.axes, point, strict=True)) for point in product(*values)]

    def phases(
        self,
        steps: int,
        train: Callable[..., dict[str, np.ndarray]],
        label: Callable[..., str],
        curves: Callable[..., dict[str, np.ndarray]] = lambda state, **point: state.curves(),
    ) -> list[Phase]:
        """Return one phase a point, in order.

        steps   of each training
        train   called as `train(resumed, report, **point)`; see `Phase.train`
        label   called with a point's values by keyword, returns the training's name for people
        curves  called as `curves(state, **point)`; see `Phase.curves`
        """
        plan: dict[str, Phase] = {}
        for point in self.points():
            name = self.name(**point)
            if name not in plan:
                plan[name] = Phase(
                    name,
                    steps,
                    partial(train, **point),
                    partial(curves, **point),
                    label=label(**point),
                )
        return list(plan.values())

    def stack(self, results: Made, tensor: str, **fixed: Any) -> np.ndarray:
        """Return one tensor of all trainings, which must have ended: [*grid, *the tensor's shape].

        An axis that is `fixed` at a value is left out of the shape.
        """
        arrays = [results[self.name(**point)][tensor] for point in self.points(**fixed)]
        return np.stack(arrays).reshape(*self._shape(fixed), *np.shape(arrays[0]))

    def stack_all(self, results: Made, *kinds: str) -> dict[str, np.ndarray]:
        """Return `stack` of every tensor whose name begins with one of the `kinds` and a slash."""
        return {
            name: self.stack(results, name)
            for name in self._first(results)
            if name.partition("/")[0] in kinds
        }

    def curve(self, results: Made, tensor: str, points: int, **fixed: Any) -> np.ndarray:
        """Return one curve of all trainings as far as they have come: [*grid, …, points].

        `points` is how many a finished training has. Those not reached yet are NaN, and so are
        trainings that have not begun; at least one must have begun. An axis that is `fixed` at a
        value is left out of the shape.
        """
        begun = next(part for part in results.values() if tensor in part)
        nothing = begun[tensor][..., :0]  # (…, 0)
        names = [self.name(**point) for point in self.points(**fixed)]
        curves = [padded(results.get(name, {}).get(tensor, nothing), points) for name in names]
        return np.stack(curves).reshape(*self._shape(fixed), *curves[0].shape)

    def curves(self, results: Made, points: Mapping[str, int]) -> dict[str, np.ndarray]:
        """Return `curve` of every tensor of the first training that is a curve.

        `points` gives the kinds of curves, the part of the name before the slash, and how many
        points a finished training has of each: {"curve": evaluations, "batch": steps}. `curve/step`
        is left out.
        """
        arrays: dict[str, np.ndarray] = {}
        for name in self._first(results):
            kind = name.partition("/")[0]
            if kind in points and name != "curve/step":
                arrays[name] = self.curve(results, name, points[kind])
        return arrays

    def _first(self, results: Made) -> Tensors:
        """Return the tensors of the first training; it is shown before all others."""
        return results[self.name(**self.points()[0])]

    def _shape(self, fixed: Mapping[str, Any]) -> list[int]:
        return [len(values) for axis, values in self.axes.items() if axis not in fixed]


def to_longest(curves: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return curves over the same steps, which have come to different lengths, all as long as the
    longest: `curve/step` [evaluations] and each as `curve/<name>` [..., evaluations].

    `curves` holds by name the steps [reached] and the values [..., reached]; what has not been
    reached becomes NaN. Of no curves, return nothing.
    """
    if not curves:
        return {}
    longest = max((steps for steps, _ in curves.values()), key=len)
    rows = {f"curve/{name}": padded(values, len(longest)) for name, (_, values) in curves.items()}
    return {"curve/step": longest, **rows}

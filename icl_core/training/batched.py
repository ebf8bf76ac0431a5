"""Several trainings as one tensor program, whose rows are the seeds of one run, then those of the
next.

A tiny training is mostly waiting for the calls that it is made of, and a call on twenty runs takes
hardly longer than on one. Each run keeps what is its own: parameters, optimiser, generators,
curves. So its checkpoint is the one that it would have alone, and it can go on alone or in other
company.

Its digits are those that it would have alone, too: else a run would depend on its company, two of
one key would differ, and one that was resumed would be a mixture that nobody can repeat. Libraries
may add up in another order where there are more rows. So the first step of every company is made
alone as well, and where a bit differs `Differs` is raised.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Diverged
from icl_core.training import divergence, loop
from icl_core.training.loop import Measures, State
from icl_core.training.member import Going, Member

ROUND = 0.05  # seconds between reports: they look at the clock, which is not worth it at every step
MOMENTS = ("exp_avg", "exp_avg_sq")
Ended = State | Exception


class Differs(Exception):
    """On this machine a row has other digits beside others than alone."""


@dataclass(frozen=True, eq=False)
class Whole:
    """The problems of some members as one: `gradient` and `evaluate` of all rows. `leaders`: for
    every member the place of the one that draws for it, itself or one that would draw the same."""

    gradient: Callable[[int], tuple[Mapping[str, Tensor], Measures]]
    evaluate: Callable[[int], Measures]
    leaders: Sequence[int]


Join = Callable[
    [Sequence[int], dict[str, Tensor]], Whole
]  # members by index, the parameters of all their rows


def train(
    members: Sequence[Member], join: Join, steps: int, evaluation_steps: list[int]
) -> Iterator[tuple[int, Ended]]:
    """Train all; each by its index as it ends: its state, or what was raised in its report, or
    `Diverged`. The others go on. Those that are behind, as they were interrupted earlier, first
    catch up."""
    going = {index: Going(member) for index, member in enumerate(members)}
    while going:
        reached = sorted({each.state.step for each in going.values()})
        company = _Company(
            {i: each for i, each in going.items() if each.state.step == reached[0]}, join
        )
        ended = company.advance(
            steps, reached[1] if len(reached) > 1 else steps + 1, set(evaluation_steps)
        )
        for index, what in ended.items():
            del going[index]
            yield index, what


class _Company:
    """Members at the same step, as one program: their tensors become parts of the whole's."""

    def __init__(self, going: Mapping[int, Going], join: Join) -> None:
        self.going, self.new = going, True
        first, *_ = self.each = list(going.values())
        for each in self.each:
            each.draw_itself()
        self.parameters = {
            name: _stacked([each.problem.parameters[name] for each in self.each])
            for name in first.problem.parameters
        }
        self.moments = [
            tuple(
                _stacked([each.optimiser.state[each.parameters[at]][of] for each in self.each])
                for of in MOMENTS
            )
            for at in range(len(first.parameters))
        ]
        self.whole = join(list(going), self.parameters)
        for each, leader in zip(self.each, self.whole.leaders, strict=True):
            each.generators = self.each[leader].problem.generators

    def advance(self, steps: int, until: int, evaluate_at: set[int]) -> dict[int, Ended]:
        """Train until some end, and which, or to the step `until`, at which others wait."""
        due = 0.0
        while (step := self.each[0].state.step) < until:
            if step == steps or time.monotonic() >= due:
                if left := self._report():
                    return left
                due = time.monotonic() + ROUND
            if step in evaluate_at:
                self._evaluate(step)
            if step == steps:
                return {index: each.state for index, each in self.going.items()}
            if left := self._step(step):
                return left
        return {}

    def _report(self) -> dict[int, Ended]:
        left: dict[int, Ended] = {}
        for index, each in self.going.items():
            try:
                each.report(each.state, each.save)
            except (
                Exception
            ) as why:  # one that is cancelled, or cannot be kept, ends none of the others
                left[index] = why
        return left

    def _evaluate(self, step: int) -> None:
        for each, measures in zip(self.each, self._rows(self.whole.evaluate(step)), strict=True):
            alone = each.problem.evaluate(step) if self.new else {}
            if not all(np.array_equal(alone[name], measures[name]) for name in alone):
                raise Differs("what is measured of several runs has other digits than of one")
            loop.record(each.state.curve, {"step": step, **measures})
            snapshot = {
                name: tensor.cpu().numpy().copy()
                for name, tensor in each.problem.parameters.items()
            }
            each.state.snapshots.append(snapshot)

    def _step(self, step: int) -> dict[int, Ended]:
        alone = [each.alone() for each in self.each] if self.new else []
        gradients, measures = self.whole.gradient(step)
        self._compare([each for each, _ in alone], gradients)
        for each, own in zip(self.each, self._rows(measures), strict=True):
            loop.record(each.state.batch, own)
        left = self._diverged(step, gradients)
        self._update(step, gradients)
        for each in self.each:
            each.state.step += 1
        self._compare(
            [dict(zip(self.parameters, after, strict=True)) for _, after in alone], self.parameters
        )
        self.new = False
        return left

    def _update(self, step: int, gradients: Mapping[str, Tensor]) -> None:
        """`torch.optim.Adam`'s step with a rate for every row; the same operations, so the same
        digits."""
        group = self.each[0].optimiser.param_groups[0]
        (beta_1, beta_2), eps = group["betas"], group["eps"]
        sizes = [
            -(each.rate * each.problem.schedule(step)) / (1 - beta_1 ** (step + 1))
            for each in self.each
        ]
        rows = [
            size for size, each in zip(sizes, self.each, strict=True) for _ in range(each.seeds)
        ]
        by_row = torch.tensor(
            rows, dtype=torch.float32, device=self.parameters[next(iter(self.parameters))].device
        )
        for (name, parameter), (mean, square) in zip(
            self.parameters.items(), self.moments, strict=True
        ):
            gradient = gradients[name]
            mean.lerp_(gradient, 1 - beta_1)
            square.mul_(beta_2).addcmul_(gradient, gradient, value=1 - beta_2)
            divisor = (square.sqrt() / (1 - beta_2 ** (step + 1)) ** 0.5).add_(eps)
            parameter.add_((mean * by_row.view(-1, *[1] * (mean.dim() - 1))).div_(divisor))

    def _diverged(self, step: int, gradients: Mapping[str, Tensor]) -> dict[int, Ended]:
        """Those whose loss or gradient is no longer finite, or too large."""
        losses = [each.state.batch[each.problem.loss][-1] for each in self.each]
        fine = all(bool(torch.isfinite(gradient.sum())) for gradient in gradients.values())
        if fine and all(
            np.max(loss) <= each.problem.ceiling
            for loss, each in zip(losses, self.each, strict=True)
        ):
            return {}
        left: dict[int, Ended] = {}
        for index, loss, each, own in zip(
            self.going, losses, self.each, self._rows(gradients), strict=True
        ):
            try:
                divergence.check(step, loss, own, each.problem.ceiling)
            except Diverged as why:
                left[index] = why
        return left

    def _rows(self, of_all: Mapping) -> Iterator[dict]:
        """What belongs to each member of what has the rows first."""
        start = 0
        for each in self.each:
            yield {name: values[start : start + each.seeds] for name, values in of_all.items()}
            start += each.seeds

    def _compare(
        self, alone: Sequence[Mapping[str, Tensor]], together: Mapping[str, Tensor]
    ) -> None:
        """Raise `Differs` where a row is not what it is alone; of nothing, all is well."""
        for one, own in zip(alone, self._rows(together), strict=bool(alone)):
            if not all(torch.equal(one[name], own[name]) for name in own):
                raise Differs("a row of several runs has other digits than alone")


def _stacked(parts: Sequence[Tensor]) -> Tensor:
    """One tensor of all rows, of which each of the given becomes a part: what changes it changes
    them."""
    whole = torch.cat([part.detach() for part in parts])
    for part, its in zip(parts, whole.split([len(part) for part in parts]), strict=True):
        part.data = its
    return whole

"""Several trainings as one tensor program, whose rows are the seeds of one run, then those of the
next.

A tiny training spends most of its time on the overhead of its calls, and a call on twenty runs
takes hardly longer than a call on one. Each run keeps its own parameters, optimiser, generators and
curves. So its checkpoint is the one it would have alone, and it can go on alone or in another
batch.

Its results are bit for bit those it would have alone, too. Otherwise a run would depend on what it
was batched with, two runs of one key would differ, and a resumed run would be a mixture that nobody
can repeat. Libraries may sum in another order where there are more rows. So the first step of every
batch is also computed one training at a time, and `Differs` is raised if a bit differs.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Diverged, Tensors
from icl_core.training import divergence, loop
from icl_core.training.loop import Measures, Problem, State

REPORT_INTERVAL = 0.05  # seconds; a report reads the clock and files, too slow for every step
MOMENTS = ("exp_avg", "exp_avg_sq")  # Adam's, as torch names them
Ended = State | Exception


class Differs(Exception):
    """On this machine a row of a batch has other digits than the same training alone."""


@dataclass(frozen=True, eq=False)
class Member:
    """One training of a batch, with the arguments of `loop.train`.

    Its optimiser is Adam, and the first axis of its parameters is its seeds.
    """

    problem: Problem
    resumed: Tensors
    report: Callable[[State, Callable[[], dict[str, np.ndarray]]], None]


@dataclass(frozen=True, eq=False)
class Whole:
    """The problems of several members as one.

    gradient  as of `loop.Problem`, for all rows: gradients [rows, …] and measures [rows]
    evaluate  as of `loop.Problem`, for all rows: measures [rows]
    leaders   for every member, the index of the member whose generators draw its batches: itself,
              or another that draws the same
    """

    gradient: Callable[[int], tuple[Mapping[str, Tensor], Measures]]
    evaluate: Callable[[int], Measures]
    leaders: Sequence[int]


# of the members' indices and the parameters of all their rows, [rows, …] by name
Join = Callable[[Sequence[int], dict[str, Tensor]], Whole]


def train(
    members: Sequence[Member], join: Join, steps: int, evaluation_steps: list[int]
) -> Iterator[tuple[int, Ended]]:
    """Train all members for `steps` steps and yield each one's index and outcome as it ends.

    The outcome is the final state, or the exception that ended the training: one raised in the
    member's report, or `Diverged`. The other members go on. Members that were interrupted at an
    earlier step first catch up with the others. Raises `Differs`.
    """
    trainings = {index: ActiveTraining(member) for index, member in enumerate(members)}
    while trainings:
        # The trainings that are furthest behind go on to the step at which the next ones wait.
        reached = sorted({training.state.step for training in trainings.values()})
        behind = {
            index: training
            for index, training in trainings.items()
            if training.state.step == reached[0]
        }
        until = reached[1] if len(reached) > 1 else steps + 1
        ended = _Batch(behind, join).advance(steps, until, set(evaluation_steps))
        for index, outcome in ended.items():
            del trainings[index]
            yield index, outcome


class ActiveTraining:
    """A member in training: its state, optimiser and generators."""

    def __init__(self, member: Member) -> None:
        self.problem = member.problem
        self.report = member.report
        self.generators = member.problem.generators  # or those of the member that draws for it
        self.parameters = list(self.problem.parameters.values())
        self.optimiser = self.problem.optimiser(self.parameters)
        self.learning_rate = self.optimiser.param_groups[0]["lr"]
        self.seeds = len(self.parameters[0])
        if member.resumed:
            self.state = loop.restore(self.problem, self.optimiser, member.resumed)
        else:
            self.state = State()
        self.state.parameters = self.problem.parameters
        for parameter in self.parameters:  # Adam's initial state, which torch makes at its step
            zeros = {name: torch.zeros_like(parameter) for name in MOMENTS}
            self.optimiser.state.setdefault(parameter, {"step": torch.tensor(0.0), **zeros})

    def save(self) -> dict[str, np.ndarray]:
        """Return a checkpoint, the same as `loop.train` makes of this training."""
        self._set_optimiser_step()
        problem = replace(self.problem, generators=self.generators)
        return loop.save(problem, self.optimiser, self.state)

    def use_own_generators(self) -> None:
        """Set its own generators to the state of those that drew for it, and draw from them."""
        for generator, leader in zip(self.problem.generators, self.generators, strict=True):
            generator.set_state(leader.get_state())
        self.generators = self.problem.generators

    def step_alone(self) -> tuple[Mapping[str, Tensor], list[Tensor]]:
        """Return the next step's gradient and the parameters after it, computed without the batch.

        The training itself does not change: the step is made on copies, and the generators are set
        back.
        """
        generator_states = [generator.get_state() for generator in self.problem.generators]
        gradient = self.problem.gradient(self.state.step)[0]
        for generator, state in zip(self.problem.generators, generator_states, strict=True):
            generator.set_state(state)
        parameters = [parameter.detach().clone() for parameter in self.parameters]
        optimiser = self.problem.optimiser(parameters)
        self._set_optimiser_step()
        optimiser.load_state_dict(deepcopy(self.optimiser.state_dict()))
        for parameter, name in zip(parameters, self.problem.parameters, strict=True):
            parameter.grad = gradient[name]
        for group in optimiser.param_groups:
            group["lr"] = self.learning_rate * self.problem.schedule(self.state.step)
        optimiser.step()
        return gradient, parameters

    def _set_optimiser_step(self) -> None:
        """Set Adam's step count, which the batch's own update does not keep."""
        for parameter_state in self.optimiser.state.values():
            parameter_state["step"].fill_(float(self.state.step))


class _Batch:
    """Trainings at the same step as one program, on tensors [rows, …] of which theirs are views."""

    def __init__(self, trainings: Mapping[int, ActiveTraining], join: Join) -> None:
        self.by_index = trainings
        self.trainings = list(trainings.values())
        self.is_first_step = True
        for training in self.trainings:
            training.use_own_generators()
        first = self.trainings[0]
        self.parameters = {
            name: _concatenate([training.problem.parameters[name] for training in self.trainings])
            for name in first.problem.parameters
        }
        self.moments = [self._moments(position) for position in range(len(first.parameters))]
        self.whole = join(list(trainings), self.parameters)
        for training, leader in zip(self.trainings, self.whole.leaders, strict=True):
            training.generators = self.trainings[leader].problem.generators

    def _moments(self, position: int) -> list[Tensor]:
        """Return Adam's mean and mean square, [rows, …], of the parameter at a position."""
        states = [
            training.optimiser.state[training.parameters[position]] for training in self.trainings
        ]
        return [_concatenate([state[name] for state in states]) for name in MOMENTS]

    def advance(self, steps: int, until: int, evaluate_at: set[int]) -> dict[int, Ended]:
        """Train until a training ends, or to the step `until`, at which others wait.

        Return the outcomes of those that ended, by index.
        """
        next_report = 0.0
        while (step := self.trainings[0].state.step) < until:
            if step == steps or time.monotonic() >= next_report:
                if ended := self._report():
                    return ended
                next_report = time.monotonic() + REPORT_INTERVAL
            if step in evaluate_at:
                self._evaluate(step)
            if step == steps:
                return {index: training.state for index, training in self.by_index.items()}
            if ended := self._step(step):
                return ended
        return {}

    def _report(self) -> dict[int, Ended]:
        """Call every training's report; return the exceptions of those that raise one."""
        ended: dict[int, Ended] = {}
        for index, training in self.by_index.items():
            try:
                training.report(training.state, training.save)
            # A training that is cancelled, or cannot be saved, ends none of the others.
            except Exception as why:
                ended[index] = why
        return ended

    def _evaluate(self, step: int) -> None:
        """Add an evaluation and a snapshot to every training's state."""
        rows = self._rows(self.whole.evaluate(step))
        for training, measures in zip(self.trainings, rows, strict=True):
            alone = training.problem.evaluate(step) if self.is_first_step else {}
            if not all(np.array_equal(alone[name], measures[name]) for name in alone):
                raise Differs("what is measured of several runs has other digits than of one")
            loop.record(training.state.curve, {"step": step, **measures})
            snapshot = {
                name: tensor.cpu().numpy().copy()
                for name, tensor in training.problem.parameters.items()
            }
            training.state.snapshots.append(snapshot)

    def _step(self, step: int) -> dict[int, Ended]:
        """Make one step of all trainings; return `Diverged` of those that diverged in it."""
        alone = [training.step_alone() for training in self.trainings] if self.is_first_step else []
        gradients, measures = self.whole.gradient(step)
        self._compare([gradient for gradient, _ in alone], gradients)
        for training, row in zip(self.trainings, self._rows(measures), strict=True):
            loop.record(training.state.batch, row)
        ended = self._diverged(step, gradients)
        self._update(step, gradients)
        for training in self.trainings:
            training.state.step += 1
        self._compare(
            [dict(zip(self.parameters, after, strict=True)) for _, after in alone], self.parameters
        )
        self.is_first_step = False
        return ended

    def _update(self, step: int, gradients: Mapping[str, Tensor]) -> None:
        """Make the step of `torch.optim.Adam` with a learning rate for every row.

        These are torch's operations in torch's order, so that every digit agrees.
        """
        group = self.trainings[0].optimiser.param_groups[0]
        beta_1, beta_2 = group["betas"]
        eps = group["eps"]
        factors: list[float] = []  # one a row
        for training in self.trainings:
            learning_rate = training.learning_rate * training.problem.schedule(step)
            factor = -learning_rate / (1 - beta_1 ** (step + 1))
            factors += [factor] * training.seeds
        device = next(iter(self.parameters.values())).device
        factor_by_row = torch.tensor(factors, dtype=torch.float32, device=device)  # (rows,)
        for (name, parameter), (mean, square) in zip(
            self.parameters.items(), self.moments, strict=True
        ):
            gradient = gradients[name]  # (rows, …)
            mean.lerp_(gradient, 1 - beta_1)
            square.mul_(beta_2).addcmul_(gradient, gradient, value=1 - beta_2)
            divisor = (square.sqrt() / (1 - beta_2 ** (step + 1)) ** 0.5).add_(eps)
            # (rows,) to (rows, 1, …), which broadcasts over the parameter's own axes
            factor = factor_by_row.view(-1, *[1] * (mean.dim() - 1))
            parameter.add_((mean * factor).div_(divisor))

    def _diverged(self, step: int, gradients: Mapping[str, Tensor]) -> dict[int, Ended]:
        """Return `Diverged` of the trainings whose loss or gradient is not finite or too large."""
        losses = [training.state.batch[training.problem.loss][-1] for training in self.trainings]
        # One check of all rows first: reading every training's gradient would cost each step.
        finite = all(bool(torch.isfinite(gradient.sum())) for gradient in gradients.values())
        if finite and all(
            np.max(loss) <= training.problem.ceiling
            for loss, training in zip(losses, self.trainings, strict=True)
        ):
            return {}
        ended: dict[int, Ended] = {}
        for (index, training), loss, row in zip(
            self.by_index.items(), losses, self._rows(gradients), strict=True
        ):
            try:
                divergence.check(step, loss, row, training.problem.ceiling)
            except Diverged as why:
                ended[index] = why
        return ended

    def _rows(self, values: Mapping) -> Iterator[dict]:
        """Yield each training's part of values whose first axis is the rows, by name."""
        start = 0
        for training in self.trainings:
            stop = start + training.seeds
            yield {name: array[start:stop] for name, array in values.items()}
            start = stop

    def _compare(
        self, alone: Sequence[Mapping[str, Tensor]], batched: Mapping[str, Tensor]
    ) -> None:
        """Raise `Differs` where a training's rows differ from those computed alone.

        `alone` is empty after the first step, and then nothing is compared.
        """
        for tensors, row in zip(alone, self._rows(batched), strict=bool(alone)):
            if not all(torch.equal(tensors[name], row[name]) for name in row):
                raise Differs("a row of several runs has other digits than alone")


def _concatenate(parts: Sequence[Tensor]) -> Tensor:
    """Return one tensor [rows, …] of all parts, and make each part a view of it.

    A change of the whole then changes the parts in place.
    """
    whole = torch.cat([part.detach() for part in parts])
    views = whole.split([len(part) for part in parts])
    for part, view in zip(parts, views, strict=True):
        part.data = view
    return whole

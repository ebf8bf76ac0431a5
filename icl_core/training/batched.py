"""Several trainings as one tensor program, whose rows are the seeds of one training, then those of
the next. They are runs of a sweep, or trainings of one run.

A tiny training spends most of its time on the overhead of its calls, and a call on twenty trainings
takes hardly longer than a call on one. Each keeps its own parameters, optimiser, generators and
curves. So its checkpoint is the one it would have alone, and it can go on alone or in another
batch.

Trainings of one kind have parameters of the same names. Where some are smaller, as those of a model
of fewer layers, they are a corner of the tensor of all rows, which is zero elsewhere.

Its results are bit for bit those it would have alone, too. Otherwise a run would depend on what it
was batched with, two runs of one key would differ, and a resumed run would be a mixture that nobody
can repeat. Libraries may sum in another order where there are more rows. So the first steps of
every batch, and those whose numbers are powers of two, are also computed one training at a time. A
training of which a bit differs ends with `Differs`, and is to be done alone.
"""

import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Diverged, Tensors
from icl_core.training import loop, rows
from icl_core.training.loop import Measures, Problem, State

REPORT_INTERVAL = 0.05  # seconds; a report reads the clock and files, too slow for every step
COMPARED = 5  # first steps that are also computed alone
Ended = State | Exception


class Differs(Exception):
    """On this machine a training has other digits in a batch than alone."""


@dataclass(frozen=True, eq=False)
class Member:
    """One training of a batch, with the arguments of `loop.train`.

    Its optimiser is Adam, and the first axis of its parameters is its seeds. Members of one `kind`
    have parameters of the same names, whose tensors are joined.
    """

    problem: Problem
    resumed: Tensors
    report: Callable[[State, Callable[[], dict[str, np.ndarray]]], None]
    kind: Hashable = None


@dataclass(frozen=True, eq=False)
class Kind:
    """The members of one kind.

    indices     of the members, in the order of their rows
    parameters  of all their rows, [rows, …] by name
    """

    indices: Sequence[int]
    parameters: dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Whole:
    """The problems of several members as one. Members are in the order of the kinds, and their rows
    too.

    gradient  as of `loop.Problem`, for all rows: for each kind the gradients [rows, …], which are
              zero where a member's parameters are smaller, and the measures [rows] of all kinds
    evaluate  of the step to the measures of every member, as `loop.Problem.evaluate` returns them
    leaders   for every member, the place of the member whose generators draw its batches: its own,
              or that of another that draws the same
    """

    gradient: Callable[[int], tuple[Sequence[Mapping[str, Tensor]], Measures]]
    evaluate: Callable[[int], Sequence[Measures]]
    leaders: Sequence[int]


Join = Callable[[Sequence[Kind]], Whole]


def train(
    members: Sequence[Member], join: Join, steps: int, evaluation_steps: list[int]
) -> Iterator[tuple[int, Ended]]:
    """Train all members for `steps` steps and yield each one's index and outcome as it ends.

    The outcome is the final state, or the exception that ended the training: one raised in the
    member's report, `Diverged` or `Differs`. The other members go on. Members that were interrupted
    at an earlier step first catch up with the others.
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
        self.kind = member.kind
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
        loop.begin_moments(self.optimiser)

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
        generator_states = [generator.get_state() for generator in self.generators]
        for generator, state in zip(self.problem.generators, generator_states, strict=True):
            generator.set_state(state)
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


@dataclass(frozen=True, eq=False)
class _Rows:
    """The trainings of one kind in a batch.

    trainings   by index
    parameters  of all rows, [rows, …] by name; those of the trainings are views of them
    moments     by the parameter's name Adam's mean and mean square, [rows, …]
    """

    trainings: Mapping[int, ActiveTraining]
    parameters: dict[str, Tensor]
    moments: dict[str, list[Tensor]]


def _rows_of(trainings: Mapping[int, ActiveTraining]) -> _Rows:
    """Join the parameters and moments of trainings of one kind."""
    members = list(trainings.values())
    names = list(members[0].problem.parameters)
    parameters = {
        name: rows.join([member.problem.parameters[name] for member in members]) for name in names
    }
    moments: dict[str, list[Tensor]] = {}
    for position, name in enumerate(names):
        states = [member.optimiser.state[member.parameters[position]] for member in members]
        moments[name] = [rows.join([state[kind] for state in states]) for kind in loop.MOMENTS]
    return _Rows(trainings, parameters, moments)


class _Batch:
    """Trainings at the same step as one program, on tensors [rows, …] of which theirs are views."""

    def __init__(self, trainings: Mapping[int, ActiveTraining], join: Join) -> None:
        self.steps_made = 0
        for training in trainings.values():
            training.use_own_generators()
        by_kind: dict[Hashable, dict[int, ActiveTraining]] = {}
        for index, training in trainings.items():
            by_kind.setdefault(training.kind, {})[index] = training
        self.kinds = [_rows_of(members) for members in by_kind.values()]
        self.by_index = {
            index: training for kind in self.kinds for index, training in kind.trainings.items()
        }
        self.trainings = list(self.by_index.values())  # in the order of the rows
        self.whole = join([Kind(list(kind.trainings), kind.parameters) for kind in self.kinds])
        for training, leader in zip(self.trainings, self.whole.leaders, strict=True):
            training.generators = self.trainings[leader].problem.generators

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
            if step in evaluate_at and (ended := self._evaluate(step)):
                return ended
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

    def _evaluate(self, step: int) -> dict[int, Ended]:
        """Add an evaluation and a snapshot to every training's state, unless some measure other
        digits than alone: then return `Differs` of those."""
        by_member = self.whole.evaluate(step)
        ended: dict[int, Ended] = {}
        for (index, training), measures in zip(self.by_index.items(), by_member, strict=True):
            alone = {} if self.steps_made else training.problem.evaluate(step)
            if alone and not rows.equal(alone, measures):
                ended[index] = Differs()
        if ended:
            return ended
        for training, measures in zip(self.trainings, by_member, strict=True):
            loop.record(training.state.curve, {"step": step, **measures})
            snapshot = {
                name: tensor.cpu().numpy().copy()
                for name, tensor in training.problem.parameters.items()
            }
            training.state.snapshots.append(snapshot)
        return {}

    def _step(self, step: int) -> dict[int, Ended]:
        """Make one step of all trainings; return `Diverged` of those that diverged in it, and
        `Differs` of those that have other digits alone."""
        alone: list[tuple[Mapping[str, Tensor], list[Tensor]]] = []
        is_power_of_two = step & (step - 1) == 0
        if self.steps_made < COMPARED or is_power_of_two:
            alone = [training.step_alone() for training in self.trainings]
        self.steps_made += 1
        gradients, measures = self.whole.gradient(step)
        by_training = [
            row
            for kind, of_kind in zip(self.kinds, gradients, strict=True)
            for row in rows.by_member(of_kind, [each.seeds for each in kind.trainings.values()])
        ]
        seeds = [training.seeds for training in self.trainings]
        for training, row in zip(self.trainings, rows.by_member(measures, seeds), strict=True):
            loop.record(training.state.batch, row)
        ended = self._diverged(step, gradients, by_training)
        for kind, of_kind in zip(self.kinds, gradients, strict=True):
            _update(kind, step, of_kind)
        for training in self.trainings:
            training.state.step += 1
        for (index, training), (gradient, parameters), row in zip(
            self.by_index.items(), alone, by_training, strict=bool(alone)
        ):
            batched = training.problem.parameters
            after = dict(zip(batched, parameters, strict=True))
            has_same_gradient = rows.equal(gradient, rows.corner(batched, row))
            has_same_digits = has_same_gradient and rows.equal(after, batched)
            if index not in ended and not has_same_digits:
                ended[index] = Differs()
        return ended

    def _diverged(
        self,
        step: int,
        gradients: Sequence[Mapping[str, Tensor]],
        by_training: Sequence[Mapping[str, Tensor]],
    ) -> dict[int, Ended]:
        """Return `Diverged` of the trainings whose loss or gradient is not finite or too large."""
        losses = [training.state.batch[training.problem.loss][-1] for training in self.trainings]
        # One check of all rows first: reading every training's gradient would cost each step.
        finite = all(
            bool(torch.isfinite(gradient.sum()))
            for of_kind in gradients
            for gradient in of_kind.values()
        )
        if finite and all(
            np.max(loss) <= training.problem.ceiling
            for loss, training in zip(losses, self.trainings, strict=True)
        ):
            return {}
        ended: dict[int, Ended] = {}
        for (index, training), loss, row in zip(
            self.by_index.items(), losses, by_training, strict=True
        ):
            try:
                loop.check_divergence(step, loss, row, training.problem.ceiling)
            except Diverged as why:
                ended[index] = why
        return ended


def _update(kind: _Rows, step: int, gradients: Mapping[str, Tensor]) -> None:
    """Make the step of `torch.optim.Adam` for the trainings of one kind, with a learning rate for
    every row.

    These are torch's operations in torch's order, so that every digit agrees.
    """
    trainings = list(kind.trainings.values())
    group = trainings[0].optimiser.param_groups[0]
    beta_1, beta_2 = group["betas"]
    eps = group["eps"]
    factors: list[float] = []  # one a row
    for training in trainings:
        learning_rate = training.learning_rate * training.problem.schedule(step)
        factor = -learning_rate / (1 - beta_1 ** (step + 1))
        factors += [factor] * training.seeds
    device = next(iter(kind.parameters.values())).device
    factor_by_row = torch.tensor(factors, dtype=torch.float32, device=device)  # (rows,)
    for name, parameter in kind.parameters.items():
        gradient = gradients[name]  # (rows, …)
        mean, square = kind.moments[name]
        mean.lerp_(gradient, 1 - beta_1)
        square.mul_(beta_2).addcmul_(gradient, gradient, value=1 - beta_2)
        divisor = (square.sqrt() / (1 - beta_2 ** (step + 1)) ** 0.5).add_(eps)
        # (rows,) to (rows, 1, …), which broadcasts over the parameter's own axes
        factor = factor_by_row.view(-1, *[1] * (mean.dim() - 1))
        parameter.add_((mean * factor).div_(divisor))

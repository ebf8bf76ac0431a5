"""One of several trainings that are made as one: what is its own."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Tensors
from icl_core.training import loop
from icl_core.training.loop import Problem, State


@dataclass(frozen=True, eq=False)
class Member:
    """A training as `loop.train` is given it; its optimiser is Adam, its parameters have the seeds
    first."""

    problem: Problem
    resumed: Tensors
    report: Callable[[State, Callable[[], dict[str, np.ndarray]]], None]


class Going:
    """A member on its way."""

    def __init__(self, member: Member) -> None:
        self.problem, self.report, self.generators = (
            member.problem,
            member.report,
            member.problem.generators,
        )
        self.parameters = list(self.problem.parameters.values())
        self.optimiser = self.problem.optimiser(self.parameters)
        self.rate, self.seeds = self.optimiser.param_groups[0]["lr"], len(self.parameters[0])
        self.state = (
            loop.restore(self.problem, self.optimiser, member.resumed)
            if member.resumed
            else State()
        )
        for each in self.parameters:  # as Adam begins
            zeros = {name: torch.zeros_like(each) for name in ("exp_avg", "exp_avg_sq")}
            self.optimiser.state.setdefault(each, {"step": torch.tensor(0.0), **zeros})

    def save(self) -> dict[str, np.ndarray]:
        """All that is needed to go on, as `loop.train` saves it."""
        self._count()
        return loop.save(
            replace(self.problem, generators=self.generators), self.optimiser, self.state
        )

    def draw_itself(self) -> None:
        """Bring its own generators to where those are that drew for it."""
        for own, drew in zip(self.problem.generators, self.generators, strict=True):
            own.set_state(drew.get_state())
        self.generators = self.problem.generators

    def alone(self) -> tuple[Mapping[str, Tensor], list[Tensor]]:
        """The gradient of the next step and the parameters after it, as this training makes them
        alone."""
        before = [each.get_state() for each in self.problem.generators]
        gradient = self.problem.gradient(self.state.step)[0]
        for generator, state in zip(self.problem.generators, before, strict=True):
            generator.set_state(state)
        after = [each.detach().clone() for each in self.parameters]
        optimiser = self.problem.optimiser(after)
        self._count()
        optimiser.load_state_dict(deepcopy(self.optimiser.state_dict()))
        for each, name in zip(after, self.problem.parameters, strict=True):
            each.grad = gradient[name]
        for group in optimiser.param_groups:
            group["lr"] = self.rate * self.problem.schedule(self.state.step)
        optimiser.step()
        return gradient, after

    def _count(self) -> None:
        """Tell the optimiser how many steps were made without it."""
        for held in self.optimiser.state.values():
            held["step"].fill_(float(self.state.step))

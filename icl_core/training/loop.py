"""The training loop: fresh batches, an optimiser from torch, curves, snapshots, resumption bit for
bit."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl_core.training import divergence
from icl_core.training.several_seeds import padded

Measures = Mapping[str, Any]  # numbers, or one for each seed: [seeds]
SNAPSHOTS = 24  # that a run keeps: a film of ten seconds


@dataclass(frozen=True)
class Problem:
    """What the loop trains.

    parameters  name to tensor, changed in place
    gradient    of the step to the gradients by name (a name left out is frozen in this step) and
                the fresh batch's
                measures, taken before the step
    evaluate    of the step to held-out measures and probes
    optimiser   torch.optim class with its settings, made on the list of parameters
    schedule    of the step to the factor on the optimiser's learning rate
    ceiling     a loss above it counts as diverged
    """

    parameters: dict[str, Tensor]
    gradient: Callable[[int], tuple[Mapping[str, Tensor], Measures]]
    evaluate: Callable[[int], Measures]
    optimiser: Callable[[list[Tensor]], torch.optim.Optimizer]
    generators: tuple[torch.Generator, ...]
    loss: str = "in_context_loss"  # the measure shown as progress and watched for divergence
    schedule: Callable[[int], float] = lambda step: 1.0
    ceiling: float = float("inf")


@dataclass
class State:
    """All that is needed to go on from a step; goes to disk and back without loss."""

    step: int = 0
    batch: dict[str, list[Any]] = field(
        default_factory=dict
    )  # a value a step, [seeds] where seeds train together
    curve: dict[str, list[Any]] = field(default_factory=dict)  # a value an evaluation
    snapshots: list[dict[str, np.ndarray]] = field(
        default_factory=list
    )  # one an evaluation, or none

    def curves(self, at: Sequence[int] | None = None) -> dict[str, np.ndarray]:
        """`curve/step` and of every measure `curve/…`, [seeds, evaluations] or, of a single model,
        [evaluations].

        With `at`, all evaluations of the training, NaN for those that are still to come.
        """
        found = _arrays(
            "curve", {name: rows for name, rows in self.curve.items() if name != "step"}
        )
        if at is not None:
            found = {name: padded(array, len(at)) for name, array in found.items()}
        return {
            "curve/step": np.array(self.curve.get("step", []) if at is None else at, np.int64),
            **found,
        }

    def batches(self) -> dict[str, np.ndarray]:
        """Of every measure of the fresh batches `batch/…`, [seeds, steps] or, of a single model,
        [steps]."""
        return _arrays("batch", self.batch)

    def kept(self, at: Sequence[int], precision: type = np.float32) -> dict[str, np.ndarray]:
        """`snapshot/step` of the evaluations `at`; of every parameter `snapshot/…` [snapshots, …],
        as precise as asked for, and the last one as `final/…`."""
        last, some = self.snapshots[-1], [self.snapshots[index] for index in at]
        stacked = {
            f"snapshot/{name}": np.stack([each[name] for each in some]).astype(precision)
            for name in last
        }
        steps = np.array([self.curve["step"][index] for index in at], np.int64)
        return {
            "snapshot/step": steps,
            **stacked,
            **{f"final/{name}": array for name, array in last.items()},
        }

    def moving(self, *measures: str) -> list[np.ndarray]:
        """Curves [evaluations], the mean over seeds: along these `spread` lays snapshots."""
        return [
            np.array(self.curve[name], float).reshape(len(self.curve["step"]), -1).mean(1)
            for name in measures
        ]


def _arrays(kind: str, measures: Mapping[str, list[Any]]) -> dict[str, np.ndarray]:
    return {f"{kind}/{name}": np.array(rows, np.float32).T for name, rows in measures.items()}


def evaluations(steps: int, every: int, dense: int = 60) -> list[int]:
    """The steps at which held-out measures, probes and snapshots are taken: first every `every`-th,
    `dense` of them, then twice as far apart whenever the training is twice as long; and a few early
    ones.

    They are nested: but for its last, those of a training are among those of any longer one, so
    that it can go on.
    """
    found, apart = {0, 1, 2, 5}, every
    while (done := max(found) if apart > every else 0) < steps:
        found |= set(range(done, apart * dense + 1, apart))
        apart *= 2
    return sorted({step for step in found if step < steps} | {steps})


def spread(curves: Sequence[np.ndarray], count: int = SNAPSHOTS) -> list[int]:
    """At most `count` of the evaluations, at equal distances along the curves [evaluations] of a
    mechanism, the first and the last among them: many where it forms, few where nothing happens.

    The curves count alike, smoothed a little, as noise is no way to go; and so does time.
    """
    total = len(curves[0])
    if total <= count:
        return list(range(total))
    path = np.zeros(total)  # the way to each evaluation
    for curve in (np.linspace(0, 1, total), *curves):
        known = np.nan_to_num(np.asarray(curve, float))
        smooth = np.convolve(np.pad(known, 1, mode="edge"), np.ones(3) / 3, "valid")
        moved = np.abs(np.diff(smooth, prepend=smooth[0]))
        path += np.cumsum(moved) / max(moved.sum(), 1e-12)
    found = [0]
    for place, wanted in enumerate(np.linspace(0, path[-1], count)[1:-1], start=1):
        near = int(np.abs(path - wanted).argmin())
        found.append(
            min(max(near, found[-1] + 1), total - count + place)
        )  # as many as are left fit behind it
    return [*found, total - 1]


def cosine(steps: int, warm_up: float = 0.0) -> Callable[[int], float]:
    """A schedule that falls to zero as a cosine; `warm_up` is the share of the steps over which it
    rises first."""

    def factor(step: int) -> float:
        risen = min(1.0, (step + 1) / (warm_up * steps)) if warm_up else 1.0
        return risen * (1 + math.cos(math.pi * step / steps)) / 2

    return factor


def train(
    problem: Problem,
    steps: int,
    evaluation_steps: list[int],
    resumed: Mapping[str, np.ndarray] | None,
    report: Callable[[State, Callable[[], dict[str, np.ndarray]]], None],
    keep: bool = True,
) -> State:
    """Train for `steps` updates from the start or from `resumed`, a result of the callable given to
    `report`.

    With `keep` there is a snapshot of every evaluation. `report(state, save)` is called before
    every step. Raises `Diverged` at the first loss that is not finite.
    """
    optimiser = problem.optimiser(list(problem.parameters.values()))
    state = restore(problem, optimiser, resumed) if resumed else State()
    evaluate_at = set(evaluation_steps)
    rates = [group["lr"] for group in optimiser.param_groups]
    while True:
        step = state.step
        # A checkpoint is taken before anything of the step is recorded, so that nothing is recorded
        # twice.
        report(state, lambda: save(problem, optimiser, state))
        if step in evaluate_at:
            record(state.curve, {"step": step, **problem.evaluate(step)})
            if keep:  # to numpy by copy: the parameters change in place
                state.snapshots.append(
                    {n: p.detach().cpu().numpy().copy() for n, p in problem.parameters.items()}
                )
        if step == steps:
            return state
        gradients, measures = problem.gradient(step)
        record(state.batch, measures)
        divergence.check(step, measures[problem.loss], gradients, problem.ceiling)
        for name, parameter in problem.parameters.items():
            parameter.grad = gradients.get(
                name
            )  # torch's optimisers pass over a parameter without gradient
        for group, rate in zip(optimiser.param_groups, rates, strict=True):
            group["lr"] = rate * problem.schedule(step)
        optimiser.step()
        state.step += 1


def record(rows: dict[str, list[Any]], measures: Measures) -> None:
    """Add what was measured to the rows so far."""
    for name, value in measures.items():
        rows.setdefault(name, []).append(np.asarray(value, float).tolist())


def save(problem: Problem, optimiser: torch.optim.Optimizer, state: State) -> dict[str, np.ndarray]:
    """All that is needed to go on from here."""
    saved = {"step": np.array([state.step])}
    for rows, kind in ((state.batch, "batch"), (state.curve, "curve")):
        saved |= {f"{kind}/{name}": np.array(values) for name, values in rows.items()}
    for index, snapshot in enumerate(state.snapshots):
        saved |= {f"snapshot/{index:03d}/{name}": array for name, array in snapshot.items()}
    for index, generator in enumerate(problem.generators):
        saved[f"generator/{index}"] = generator.get_state().numpy()
    for index, (name, parameter) in enumerate(problem.parameters.items()):
        saved[f"parameter/{name}"] = parameter.detach().cpu().numpy().copy()
        for key, value in optimiser.state_dict()["state"].get(index, {}).items():
            if value is not None:
                saved[f"optimiser/{index}/{key}"] = value.detach().cpu().numpy().copy()
    return saved


def restore(
    problem: Problem, optimiser: torch.optim.Optimizer, saved: Mapping[str, np.ndarray]
) -> State:
    """The state that was saved; parameters, generators and optimiser are set to what they were."""
    state = State(step=int(saved["step"][0]))
    held: dict[int, dict[str, Tensor]] = {}
    snapshots: dict[str, dict[str, np.ndarray]] = {}
    for name, array in saved.items():
        kind, _, rest = name.partition("/")
        if kind in ("batch", "curve"):
            getattr(state, kind)[rest] = array.tolist()
        elif kind == "snapshot":
            index, _, matrix = rest.partition("/")
            snapshots.setdefault(index, {})[matrix] = array
        elif kind == "generator":
            problem.generators[int(rest)].set_state(torch.from_numpy(array.copy()))
        elif kind == "parameter":
            problem.parameters[rest].copy_(torch.from_numpy(array.copy()))
        elif kind == "optimiser":
            index, _, key = rest.partition("/")
            held.setdefault(int(index), {})[key] = torch.from_numpy(array.copy())
    state.snapshots = [snapshots[index] for index in sorted(snapshots)]
    optimiser.load_state_dict({**optimiser.state_dict(), "state": held})
    return state

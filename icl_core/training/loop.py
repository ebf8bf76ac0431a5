"""The training loop: fresh batches, an optimiser from torch, curves, log-spaced snapshots, resumption bit for bit."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl_core.experiment import Diverged
from icl_core.training.several_seeds import padded

Measures = Mapping[str, Any]  # numbers, or one for each seed: [seeds]


@dataclass(frozen=True)
class Problem:
    """What the loop trains.

    parameters  name to tensor, changed in place
    gradient    of the step to the gradients by name (a name left out is frozen in this step) and the fresh batch's
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
    batch: dict[str, list[Any]] = field(default_factory=dict)  # a value a step, [seeds] where seeds train together
    curve: dict[str, list[Any]] = field(default_factory=dict)  # a value an evaluation
    snapshots: list[dict[str, np.ndarray]] = field(default_factory=list)

    def curves(self, at: Sequence[int] | None = None) -> dict[str, np.ndarray]:
        """`curve/step` and of every measure `curve/…`, [seeds, evaluations] or, of a single model, [evaluations].

        With `at`, all evaluations of the training, NaN for those that are still to come.
        """
        found = _arrays("curve", {name: rows for name, rows in self.curve.items() if name != "step"})
        if at is not None:
            found = {name: padded(array, len(at)) for name, array in found.items()}
        return {"curve/step": np.array(self.curve.get("step", []) if at is None else at, np.int64), **found}

    def batches(self) -> dict[str, np.ndarray]:
        """Of every measure of the fresh batches `batch/…`, [seeds, steps] or, of a single model, [steps]."""
        return _arrays("batch", self.batch)

    def kept(self, precision: type = np.float32) -> dict[str, np.ndarray]:
        """Of every parameter `snapshot/…` [snapshots, …], as precise as asked for, and the last one as `final/…`."""
        last = self.snapshots[-1]
        stacked = {name: np.stack([each[name] for each in self.snapshots]).astype(precision) for name in last}
        found = (("snapshot", stacked), ("final", last))
        return {f"{kind}/{name}": array for kind, arrays in found for name, array in arrays.items()}


def _arrays(kind: str, measures: Mapping[str, list[Any]]) -> dict[str, np.ndarray]:
    return {f"{kind}/{name}": np.array(rows, np.float32).T for name, rows in measures.items()}


def log_spaced(steps: int, count: int) -> list[int]:
    """At most `count` whole steps from 0 to `steps`, both included, spaced by factors."""
    inner = np.geomspace(1, max(steps, 1), count - 1).round().astype(int)
    return sorted({0, *inner.tolist(), steps})


def evaluations(steps: int, count: int = 60) -> list[int]:
    """The steps at which held-out measures and probes are taken: every `steps / count`, and early ones beside."""
    regular = np.linspace(0, steps, min(steps, count) + 1).round().astype(int)
    return sorted({*regular.tolist(), *(step for step in (1, 2, 5) if step < steps)})


def cosine(steps: int, warm_up: float = 0.0) -> Callable[[int], float]:
    """A schedule that falls to zero as a cosine; `warm_up` is the share of the steps over which it rises first."""

    def factor(step: int) -> float:
        risen = min(1.0, (step + 1) / (warm_up * steps)) if warm_up else 1.0
        return risen * (1 + math.cos(math.pi * step / steps)) / 2

    return factor


def train(
    problem: Problem,
    steps: int,
    snapshot_steps: list[int],
    evaluation_steps: list[int],
    resumed: Mapping[str, np.ndarray] | None,
    report: Callable[[State, Callable[[], dict[str, np.ndarray]]], None],
) -> State:
    """Train for `steps` updates from the start or from `resumed`, a result of the callable given to `report`.

    `report(state, save)` is called before every step. Raises `Diverged` at the first loss that is not finite.
    """
    optimiser = problem.optimiser(list(problem.parameters.values()))
    state = _restore(problem, optimiser, resumed) if resumed else State()
    snapshot_at, evaluate_at = set(snapshot_steps), set(evaluation_steps)
    rates = [group["lr"] for group in optimiser.param_groups]
    while True:
        step = state.step
        # A checkpoint is taken before anything of the step is recorded, so that nothing is recorded twice.
        report(state, lambda: _save(problem, optimiser, state))
        if step in evaluate_at:
            _record(state.curve, {"step": step, **problem.evaluate(step)})
        if step in snapshot_at:
            # to numpy by copy: the parameters change in place
            state.snapshots.append({n: p.detach().cpu().numpy().copy() for n, p in problem.parameters.items()})
        if step == steps:
            return state
        gradients, measures = problem.gradient(step)
        _record(state.batch, measures)
        _check(step, measures[problem.loss], gradients, problem.ceiling)
        for name, parameter in problem.parameters.items():
            parameter.grad = gradients.get(name)  # torch's optimisers pass over a parameter without gradient
        for group, rate in zip(optimiser.param_groups, rates, strict=True):
            group["lr"] = rate * problem.schedule(step)
        optimiser.step()
        state.step += 1


def _record(rows: dict[str, list[Any]], measures: Measures) -> None:
    for name, value in measures.items():
        rows.setdefault(name, []).append(np.asarray(value, float).tolist())


def _check(step: int, loss: Any, gradients: Mapping[str, Tensor], ceiling: float) -> None:
    largest = float(np.max(loss))
    finite = all(bool(torch.isfinite(gradient.sum())) for gradient in gradients.values())
    if not finite or largest == float("inf"):
        raise Diverged(f"the training diverged at step {step}: the loss or its gradient is no longer finite")
    if largest > ceiling:
        raise Diverged(f"the training diverged at step {step}: the loss is {largest:.3g}, above {ceiling:.3g}")


def _save(problem: Problem, optimiser: torch.optim.Optimizer, state: State) -> dict[str, np.ndarray]:
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


def _restore(problem: Problem, optimiser: torch.optim.Optimizer, saved: Mapping[str, np.ndarray]) -> State:
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

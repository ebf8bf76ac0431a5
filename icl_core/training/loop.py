"""The training loop: fresh batches, an optimiser of torch, curves, snapshots, exact resumption."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Diverged
from icl_core.training.several_seeds import padded

Measures = Mapping[str, Any]  # by name a number; [seeds] where several seeds train together
# a parameter, Adam's mean and its mean square, by the parameter's name: to be changed in place
InPlace = dict[str, tuple[np.ndarray, ...]]
MOMENTS = ("exp_avg", "exp_avg_sq")  # Adam's, as torch names them
SNAPSHOTS = 24  # the most that a run stores: ten seconds of animation


@dataclass(frozen=True)
class Problem:
    """What the loop trains.

    parameters  tensors by name, changed in place
    gradient    of the step to the gradients by name (a parameter left out is frozen in this step),
                and the measures of the fresh batch, taken before the step
    evaluate    of the step to held-out measures and probes
    optimiser   a torch.optim class with its settings, called on the list of parameters
    generators  all sources of randomness, which a checkpoint saves
    loss        the measure that is shown as progress and watched for divergence
    schedule    of the step to the factor on the optimiser's learning rate
    ceiling     a loss above it counts as diverged
    segment     makes several steps in one call of compiled code, those that `gradient` and an Adam
                of torch make; None where it is not used. It takes the first step, the most that it
                may make, and what it changes. It returns the losses [steps, seeds] of those that it
                has made, and the gradients of the last; it stops at one that diverges
    """

    parameters: dict[str, Tensor]
    gradient: Callable[[int], tuple[Mapping[str, Tensor], Measures]]
    evaluate: Callable[[int], Measures]
    optimiser: Callable[[list[Tensor]], torch.optim.Optimizer]
    generators: tuple[torch.Generator, ...]
    loss: str = "in_context_loss"
    schedule: Callable[[int], float] = lambda step: 1.0
    ceiling: float = float("inf")
    segment: Callable[[int, int, InPlace], tuple[np.ndarray, Mapping[str, Tensor]]] | None = None


@dataclass
class State:
    """What has been recorded of a training; with parameters, optimiser and generators, all that it
    takes to go on.

    step       the number of updates made
    batch      of each measure of the fresh batches a value a step
    curve      `step`, and of each held-out measure a value an evaluation
    snapshots  the parameters by name, one dictionary an evaluation; empty if none are kept
    parameters the tensors in training, which change in place; set by `train`

    A value is a number, or a list [seeds] where several seeds train together.
    """

    step: int = 0
    batch: dict[str, list[Any]] = field(default_factory=dict)
    curve: dict[str, list[Any]] = field(default_factory=dict)
    snapshots: list[dict[str, np.ndarray]] = field(default_factory=list)
    parameters: Mapping[str, Tensor] = field(default_factory=dict)

    def now(self) -> dict[str, np.ndarray]:
        """Return the model as it is now: `snapshot/step` [1], and a copy of every parameter as
        `final/<name>`."""
        tensors = {
            f"final/{name}": parameter.detach().cpu().numpy().copy()
            for name, parameter in self.parameters.items()
        }
        return {"snapshot/step": np.array([self.step], np.int64), **tensors}

    def curves(self, at: Sequence[int] | None = None) -> dict[str, np.ndarray]:
        """Return `curve/step` [evaluations], and each held-out measure as `curve/<measure>`,
        [seeds, evaluations] or, of a single model, [evaluations].

        If `at` lists the steps of all evaluations of the training, those still to come are NaN.
        """
        measures = {name: rows for name, rows in self.curve.items() if name != "step"}
        arrays = _arrays("curve", measures)
        if at is None:
            steps = self.curve.get("step", [])
        else:
            steps = at
            arrays = {name: padded(array, len(at)) for name, array in arrays.items()}
        return {"curve/step": np.array(steps, np.int64), **arrays}

    def batches(self) -> dict[str, np.ndarray]:
        """Return each measure of the fresh batches as `batch/<measure>`, [seeds, steps] or, of a
        single model, [steps]."""
        return _arrays("batch", self.batch)

    def snapshot_arrays(
        self, at: Sequence[int], precision: type = np.float32
    ) -> dict[str, np.ndarray]:
        """Return the snapshots of the evaluations whose indices are `at`.

        `snapshot/step` [snapshots]; of every parameter `snapshot/<name>` [snapshots, …] of the
        given precision, and its last value, unrounded, as `final/<name>`.
        """
        last = self.snapshots[-1]
        chosen = [self.snapshots[index] for index in at]
        steps = np.array([self.curve["step"][index] for index in at], np.int64)
        stacked = {
            f"snapshot/{name}": np.stack([snapshot[name] for snapshot in chosen]).astype(precision)
            for name in last
        }
        final = {f"final/{name}": array for name, array in last.items()}
        return {"snapshot/step": steps, **stacked, **final}

    def moving(self, *measures: str) -> list[np.ndarray]:
        """Return the curves [evaluations] of the measures, means over seeds, for `spread`."""
        evaluations = len(self.curve["step"])
        return [
            # (evaluations, seeds) or (evaluations,) to (evaluations,)
            np.array(self.curve[name], float).reshape(evaluations, -1).mean(1)
            for name in measures
        ]


def _arrays(kind: str, measures: Mapping[str, list[Any]]) -> dict[str, np.ndarray]:
    # (points, seeds) to (seeds, points); (points,) stays
    return {f"{kind}/{name}": np.array(rows, np.float32).T for name, rows in measures.items()}


def evaluations(steps: int, every: int, dense: int = 60) -> list[int]:
    """Return the steps at which held-out measures, probes and snapshots are taken.

    The first `dense` evaluations are `every` steps apart; the distance doubles whenever the length
    of the training does. Steps 0, 1, 2, 5 and the last one are always among them.

    Except for the last, the evaluations of a training are also evaluations of any longer one, so
    that it can be continued.
    """
    chosen = {0, 1, 2, 5}
    apart = every
    first = 0
    while first < steps:
        chosen |= set(range(first, apart * dense + 1, apart))
        first = max(chosen)
        apart *= 2
    return sorted({step for step in chosen if step < steps} | {steps})


def spread(curves: Sequence[np.ndarray], count: int = SNAPSHOTS) -> list[int]:
    """Return the indices of at most `count` evaluations, equally far apart along curves of a
    mechanism: many where it forms, few where nothing happens. The first and last are among them.

    `curves` are [evaluations] each. All count alike, and so does time. They are smoothed over three
    evaluations, so that noise does not count as change.
    """
    total = len(curves[0])
    if total <= count:
        return list(range(total))
    distance = np.zeros(total)  # along all curves from the first evaluation to each
    for curve in (np.linspace(0, 1, total), *curves):
        values = np.nan_to_num(np.asarray(curve, float))
        smooth = np.convolve(np.pad(values, 1, mode="edge"), np.ones(3) / 3, "valid")
        change = np.abs(np.diff(smooth, prepend=smooth[0]))
        distance += np.cumsum(change) / max(change.sum(), 1e-12)
    chosen = [0]
    for position, target in enumerate(np.linspace(0, distance[-1], count)[1:-1], start=1):
        nearest = int(np.abs(distance - target).argmin())
        last_possible = total - count + position  # leaves enough evaluations for those that follow
        chosen.append(min(max(nearest, chosen[-1] + 1), last_possible))
    return [*chosen, total - 1]


def cosine(steps: int, warm_up: float = 0.0) -> Callable[[int], float]:
    """Return a schedule that falls from 1 to 0 along half a cosine, after a linear warm-up over the
    share `warm_up` of the steps."""

    def factor(step: int) -> float:
        warmed = min(1.0, (step + 1) / (warm_up * steps)) if warm_up else 1.0
        return warmed * (1 + math.cos(math.pi * step / steps)) / 2

    return factor


def train(
    problem: Problem,
    steps: int,
    evaluation_steps: list[int],
    resumed: Mapping[str, np.ndarray] | None,
    report: Callable[[State, Callable[[], dict[str, np.ndarray]]], None],
    keep: bool = True,
) -> State:
    """Train for `steps` updates in all, from the start or from a checkpoint, and return the state.

    evaluation_steps  the steps before which the problem is evaluated
    resumed           a checkpoint, made by the `save` that `report` is given; empty to start anew
    report            called as `report(state, save)` before every step, or before every segment
    keep              whether every evaluation takes a snapshot of the parameters

    Raises `Diverged` at the first loss or gradient that is not finite, or loss above the ceiling,
    and whatever `report` raises.
    """
    optimiser = problem.optimiser(list(problem.parameters.values()))
    state = restore(problem, optimiser, resumed) if resumed else State()
    state.parameters = problem.parameters
    if problem.segment is not None:
        begin_moments(optimiser)
    evaluate_at = set(evaluation_steps)
    learning_rates = [group["lr"] for group in optimiser.param_groups]
    while True:
        step = state.step
        # A checkpoint is taken before anything of the step is recorded, so that nothing is recorded
        # twice.
        report(state, lambda: save(problem, optimiser, state))
        if step in evaluate_at:
            record(state.curve, {"step": step, **problem.evaluate(step)})
            if keep:  # copies, as the parameters change in place
                state.snapshots.append(
                    {n: p.detach().cpu().numpy().copy() for n, p in problem.parameters.items()}
                )
        if step == steps:
            return state
        if problem.segment is not None:
            until = min(each for each in evaluate_at | {steps} if each > step)
            _segment(problem, optimiser, state, until)
            continue
        gradients, measures = problem.gradient(step)
        record(state.batch, measures)
        check_divergence(step, measures[problem.loss], gradients, problem.ceiling)
        for name, parameter in problem.parameters.items():
            # torch's optimisers skip a parameter whose gradient is None
            parameter.grad = gradients.get(name)
        for group, learning_rate in zip(optimiser.param_groups, learning_rates, strict=True):
            group["lr"] = learning_rate * problem.schedule(step)
        optimiser.step()
        state.step += 1


def _segment(problem: Problem, optimiser: torch.optim.Optimizer, state: State, until: int) -> None:
    """Make steps before the step `until` by the problem's segment, as many as it makes at once."""
    assert problem.segment is not None
    moments = [optimiser.state[parameter] for parameter in problem.parameters.values()]
    in_place = {
        name: (parameter.numpy(), *(own[kind].numpy() for kind in MOMENTS))
        for (name, parameter), own in zip(problem.parameters.items(), moments, strict=True)
    }
    losses, gradients = problem.segment(state.step, until - state.step, in_place)
    for loss in losses:
        record(state.batch, {problem.loss: loss})
    check_divergence(state.step + len(losses) - 1, losses[-1], gradients, problem.ceiling)
    state.step += len(losses)
    for own in moments:
        own["step"].fill_(float(state.step))


def begin_moments(optimiser: torch.optim.Optimizer) -> None:
    """Give an Adam the state that torch gives it at its first step, where it has none yet."""
    for group in optimiser.param_groups:
        for parameter in group["params"]:
            zeros = {kind: torch.zeros_like(parameter) for kind in MOMENTS}
            optimiser.state.setdefault(parameter, {"step": torch.tensor(0.0), **zeros})


def record(rows: dict[str, list[Any]], measures: Measures) -> None:
    """Append each measure's value to its list in `rows`."""
    for name, value in measures.items():
        rows.setdefault(name, []).append(np.asarray(value, float).tolist())


def save(problem: Problem, optimiser: torch.optim.Optimizer, state: State) -> dict[str, np.ndarray]:
    """Return a checkpoint: arrays by name, from which `restore` makes the same state."""
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
    """Return the state of a checkpoint, and set parameters, generators and optimiser to it."""
    state = State(step=int(saved["step"][0]))
    optimiser_state: dict[int, dict[str, Tensor]] = {}
    snapshots: dict[str, dict[str, np.ndarray]] = {}
    for name, array in saved.items():
        kind, _, rest = name.partition("/")
        if kind in ("batch", "curve"):
            getattr(state, kind)[rest] = array.tolist()
        elif kind == "snapshot":
            index, _, parameter = rest.partition("/")
            snapshots.setdefault(index, {})[parameter] = array
        elif kind == "generator":
            problem.generators[int(rest)].set_state(torch.from_numpy(array.copy()))
        elif kind == "parameter":
            problem.parameters[rest].copy_(torch.from_numpy(array.copy()))
        elif kind == "optimiser":
            index, _, key = rest.partition("/")
            optimiser_state.setdefault(int(index), {})[key] = torch.from_numpy(array.copy())
    state.snapshots = [snapshots[index] for index in sorted(snapshots)]
    optimiser.load_state_dict({**optimiser.state_dict(), "state": optimiser_state})
    return state


def check_divergence(step: int, loss: Any, gradients: Mapping[str, Tensor], ceiling: float) -> None:
    """Raise `Diverged` if the loss or its gradient is not finite, or the loss is above the ceiling.

    `loss` is a number or an array [seeds], of which the largest counts.
    """
    largest = float(np.max(loss))
    finite = all(bool(torch.isfinite(gradient.sum())) for gradient in gradients.values())
    if not finite or largest == float("inf"):
        why = "the loss or its gradient is no longer finite"
    elif largest > ceiling:
        why = f"the loss is {largest:.3g}, above {ceiling:.3g}"
    else:
        return
    if step > 0:
        smaller = "a smaller learning rate"
    else:
        smaller = "fewer layers or smaller numbers, as this is before any step"
    raise Diverged(f"it diverged at step {step}: {why}; try {smaller}")

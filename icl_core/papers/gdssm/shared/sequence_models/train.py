"""Train every model of the comparison alike: fresh tasks, Adam, gradients clipped at 1 seed by
seed, a warm-up over a twentieth of the steps and a cosine to zero; the parameters of a state space
at a third of the rate, as the authors of S5 do. First all learning rates are tried in one pass,
from the same weights; the best one then trains all seeds. A training that diverges ends with an
infinite loss.

Training steps may be one program each (`ICL_COMPILE=1`), where a step is bound by the many small
operations it is made of or by the memory between them. It costs a C++ compiler and about a minute a
model; sums are rounded otherwise."""

import math
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.contract import statistics
from icl_core.contract.experiment import Diverged, Tensors
from icl_core.contract.knobs import BadSetting
from icl_core.machine import cores, device
from icl_core.papers.gdssm.shared import construction
from icl_core.papers.gdssm.shared.sequence_models.all_models import Learner
from icl_core.papers.gdssm.shared.sequence_models.settings import (
    EVALUATED,
    UNDECIDED,
    Config,
    Setting,
)
from icl_core.papers.gdssm.shared.task import Tasks, loss, sample
from icl_core.papers.gdssm.shared.weights import Parameters
from icl_core.training import loop, several_seeds
from icl_core.training.phases import Report

# seed and number of held-out tasks
TUNED_ON = (101, 2**11)
WATCHED = (102, 2**9)
TEST_SET = (103, 2**13)
EVALUATIONS = 30
WARM_UP = 0.05
SLOWER = 1 / 3
# a loss beyond it has diverged; linear transformers come back from 1e4, as gradients are clipped
CEILING = 1e8
# the losses of predicting zero, of the best step of gradient descent, of the best two
Levels = tuple[float, float, float]


def tasks(
    config: Setting, count: int, generator: torch.Generator, active: int | None = None
) -> Tasks:
    """Draw fresh tasks of the setting, on the device; of x all features but the first `active` are
    zero."""
    n_o = 1 if config.model == "1-D" else config.f
    fresh = sample(config.f, config.N, count, generator, n_o, active=active)
    return fresh.to(device.current_device())


def held_out(config: Setting, which: tuple[int, int]) -> Tasks:
    """Return tasks that no model is trained on."""
    return tasks(config, which[1], torch.Generator().manual_seed(2**31 + which[0]))


def levels(config: Setting, which: tuple[int, int]) -> Levels:
    """Return the levels on some of the held-out tasks, which are too few to lie at the
    expectation."""
    test_tasks = held_out(config, which)
    one, two = (construction.best_mixture(test_tasks, steps)[1] for steps in (1, 2))
    return float(test_tasks.y[-1].square().mean()) / 2, one, two


def named_levels(config: Setting, name: str, which: tuple[int, int]) -> dict[str, np.ndarray]:
    """Return the levels as a run holds them, [1] each: `name`/zero, /one and /two."""
    pairs = zip(("zero", "one", "two"), levels(config, which), strict=True)
    return {f"{name}/{level_name}": np.array([level]) for level_name, level in pairs}


def compiling_wanted() -> bool:
    """Return whether `ICL_COMPILE` asks for it. Raise `BadSetting` if it is neither 0 nor 1."""
    value = os.environ.get("ICL_COMPILE") or "0"
    if value not in ("0", "1"):
        raise BadSetting(f"ICL_COMPILE must be 0 or 1, got {value!r:.60}")
    return value == "1"


def compile_function(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the function as one program for each shape it meets, where that is wanted. What was
    compiled before is dropped: a training needs one model at a time, and torch refuses more than a
    few programs of one function. The result raises `BadSetting` where nothing can be compiled."""
    if not compiling_wanted():
        return function
    from torch._dynamo.exc import BackendCompilerFailed  # whose import takes seconds

    torch.compiler.reset()
    program = torch.compile(function, dynamic=False)

    def run(*arguments: Any) -> Tensor:
        """Run the program, which is compiled when it first meets arguments of a shape."""
        try:
            return program(*arguments)
        except BackendCompilerFailed as problem:
            why = str(problem).partition("\n")[0]
            raise BadSetting(
                "ICL_COMPILE must be 0 where no step can be compiled, as without a C++ compiler "
                f"such as g++; got 1, and torch says: {why:.200}"
            ) from problem

    return run


@torch.no_grad()
def evaluate(learner: Learner, weights: Parameters, test_tasks: Tasks) -> np.ndarray:
    """Return the losses [seeds], infinite where the weights went astray."""
    parts = (
        test_tasks.part(start, start + EVALUATED) for start in range(0, len(test_tasks), EVALUATED)
    )
    predicted = cores.in_order(partial(learner.predict, weights), parts)
    losses = loss(torch.cat(list(predicted), -1), test_tasks.y[-1]).cpu().numpy()
    return np.where(np.isfinite(losses), losses, np.float32(np.inf))


def gradient(
    learner: Learner, weights: Parameters, batch: Tasks, dense: bool = False
) -> tuple[Parameters, dict[str, np.ndarray]]:
    """Return the gradient of every seed's loss by its own weights, no longer than 1, and the losses
    [seeds]; `dense`: of the mean over all queries of a prompt."""
    leaves = several_seeds.leaves(weights)
    losses = _losses(learner, dense)(leaves, batch)
    clipped = several_seeds.clipped(several_seeds.gradients(losses, leaves), 1.0)
    return clipped, {"loss": losses.detach().cpu().numpy()}


@lru_cache(maxsize=1)
def _losses(learner: Learner, dense: bool) -> Callable[[Parameters, Tasks], Float[Tensor, "seeds"]]:
    """Return a function of weights and batch: every seed's loss on a batch, by its own weights."""
    if dense:
        return compile_function(
            lambda weights, batch: loss(learner.predict_all(weights, batch), batch.y[1:]).mean(-1)
        )
    return compile_function(
        lambda weights, batch: loss(learner.predict(weights, batch), batch.y[-1])
    )


def tune(
    config: Config, learner: Learner, resumed: Tensors, report: Report
) -> dict[str, np.ndarray]:
    """Return `loss` [learning rates] after a short training of the first seed at each of
    `config.rates`, infinite where it diverged."""
    weights = learner.initial([config.seed] * len(config.rates))
    task = tuning_problem(config, learner, weights)
    loop.train(task, config.tuning, [], resumed, report, keep=False)
    return {"loss": evaluate(learner, weights, held_out(config, TUNED_ON))}


def tuning_problem(config: Config, learner: Learner, weights: Parameters) -> loop.Problem:
    """Return what the loop tunes: a learning rate has groups of the optimiser, its parameters a row
    of `weights`."""

    def adam(rows: list[Tensor]) -> torch.optim.Adam:
        many = len(weights)
        every_group = []
        for i, rate in enumerate(config.rates):
            part = dict(zip(weights, rows[i * many :], strict=False))  # those of one rate
            every_group += groups(learner, part, rate)
        return torch.optim.Adam(every_group, fused=True)

    rows = _rows(weights, config.rates)
    gradients = partial(_of_rows, config, learner, weights)
    return _fresh(config, config.tuning, rows, gradients, optimiser=adam, evaluate=lambda step: {})


def groups(learner: Learner, parameters: Parameters, rate: float) -> list[dict[str, Any]]:
    """Return the groups of an optimiser: the state space's parameters at a smaller rate than all
    others."""
    slow = [tensor for name, tensor in parameters.items() if name in learner.slow]
    others = [tensor for name, tensor in parameters.items() if name not in learner.slow]
    slow_group = [{"params": slow, "lr": SLOWER * rate}] if slow else []
    return [{"params": others, "lr": rate}, *slow_group]


def _fresh(
    config: Setting, steps: int, trained: Parameters, slope: Callable[[Tasks], Any], **more: Any
) -> loop.Problem:
    """Return what the loop trains, on fresh tasks that are equal for every model and learning
    rate."""
    generator = torch.Generator().manual_seed(20_000 + config.seed)

    def fresh(step: int) -> Tasks:
        active = config.active(step, steps) if config.curriculum else None
        return tasks(config, config.batch, generator, active)

    return loop.Problem(
        trained,
        lambda step: slope(fresh(step)),
        generators=(generator,),
        loss="loss",
        schedule=loop.cosine(steps, WARM_UP),
        **more,
    )


def _rows(tensors: Parameters, rates: Sequence[float]) -> Parameters:
    """Return views of the tensors, one learning rate after the other."""
    views = {}
    for i, rate in enumerate(rates):
        views |= {f"{name} at {rate:g}": tensor[i] for name, tensor in tensors.items()}
    return views


def _of_rows(
    config: Config, learner: Learner, weights: Parameters, batch: Tasks
) -> tuple[Parameters, dict[str, float]]:
    """Return the gradients of all learning rates and the lowest loss. One that diverges must not
    end the others: its weights become NaN, which they stay, and its gradient zero."""
    gradients, measures = gradient(learner, weights, batch, config.dense)
    small = measures["loss"] <= CEILING  # neither inf nor NaN is
    finite = torch.from_numpy(small).to(batch.x.device)
    for tensor in gradients.values():
        finite &= tensor.reshape(len(tensor), -1).isfinite().all(1)
    if not finite.all():
        for name, tensor in gradients.items():
            weights[name][~finite] = torch.nan
            tensor[~finite] = 0.0
    losses = measures["loss"][finite.cpu().numpy()]
    least = float(losses.min()) if len(losses) else float("nan")
    return _rows(gradients, config.rates), {"loss": least}


def chosen(config: Config, tuned: np.ndarray) -> tuple[float, bool]:
    """Return the learning rate that trains all seeds, and whether the tuning has shown it to be the
    best, of equals the smallest. While all of them still predict zero, the best is chance: then it
    is `UNDECIDED`. NaN if all diverged."""
    if not np.isfinite(tuned).any():
        return math.nan, False
    best = int(tuned.argmin())
    stuck = statistics.on_plateau(tuned[[best]], levels(config, TUNED_ON)[0])
    return (UNDECIDED, False) if stuck else (config.rates[best], True)


def train_tuned(
    config: Config, learner: Learner, tuning: Tensors, resumed: Tensors, report: Report
) -> dict[str, np.ndarray]:
    """Train all seeds at the learning rate that was `chosen`. Return what `at_rate` returns,
    `tuned` [learning rates], `rate` and whether it was `decided`. Where every learning rate
    diverged nothing is trained: the rate is NaN, and there is no curve."""
    tuned = tuning["loss"].astype(float)
    rate, decided = chosen(config, tuned)
    tensors = {"evaluated": np.full(config.seeds, np.inf, np.float32)}
    if not math.isnan(rate):
        tensors = at_rate(config, learner, rate, resumed, report)
    return {
        **tensors,
        "tuned": tuned,
        "rate": np.array(rate),
        "decided": np.array(int(decided), np.int8),
    }


def at_rate(
    config: Setting, learner: Learner, rate: float, resumed: Tensors, report: Report
) -> dict[str, np.ndarray]:
    """Train all seeds, then evaluate. Return what `curves` returns and `evaluated` [seeds];
    `final/…`, the first seed's weights, of a model that `is_kept`. Where one seed diverges all
    losses are infinite, and no weights are kept."""
    last_state = loop.State()
    tensors = {"evaluated": np.full(config.seeds, np.inf, np.float32)}

    def keep_state(state: loop.State, save: Callable[[], dict[str, np.ndarray]]) -> None:
        nonlocal last_state
        last_state = state
        report(state, save)

    weights = learner.initial(list(range(config.seed, config.seed + config.seeds)))
    with suppress(Diverged):
        task = problem(config, learner, weights, rate)
        loop.train(task, config.steps, _evaluations(config), resumed, keep_state, keep=False)
        tensors["evaluated"] = evaluate(learner, weights, held_out(config, TEST_SET))
        final_weights = weights if is_kept(config, learner.model.id) else {}
        tensors |= {
            f"final/{name}": tensor[0].cpu().numpy() for name, tensor in final_weights.items()
        }
    return {**curves(learner.model.id, last_state), **tensors}


def is_kept(config: Setting, id: str) -> bool:
    """Return whether a model's weights are kept: of the one that is shown beside its
    construction."""
    return config.plain and config.model == "1-D" and id == "linear-1"


def _evaluations(config: Setting) -> list[int]:
    """Return steps that lie evenly over the training, which the cosine makes one of so many steps,
    and a few early ones."""
    count = min(EVALUATIONS, max(2, config.steps // 20))
    evenly = np.linspace(0, config.steps, count + 1).round().astype(int)
    early = (step for step in (1, 2, 5) if step < config.steps)
    return sorted({*evenly.tolist(), *early})


def problem(
    config: Setting, learner: Learner, weights: Parameters, learning_rate: float
) -> loop.Problem:
    """Return what the loop trains at the end; `weights` change in place."""
    watched = held_out(config, WATCHED)
    gradients = partial(gradient, learner, weights, dense=config.dense)

    def adam(parameters: list[Tensor]) -> torch.optim.Adam:
        named = dict(zip(weights, parameters, strict=True))
        return torch.optim.Adam(groups(learner, named, learning_rate), fused=True)

    def watch(step: int) -> dict[str, np.ndarray]:
        return {"loss": evaluate(learner, weights, watched)}

    return _fresh(
        config, config.steps, weights, gradients, optimiser=adam, evaluate=watch, ceiling=CEILING
    )


def curves(name: str, state: loop.State) -> dict[str, np.ndarray]:
    """Return `step`, and under the model's name the losses [seeds, evaluations]; nothing before the
    first evaluation."""
    recorded = state.curves()
    return {"step": recorded["curve/step"], name: recorded["curve/loss"]} if state.curve else {}

"""Train every model at every rate in both coordinates and keep their losses; and the exact floors
that training is timed against."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl_core import in_context_regression as regression
from icl_core.contract.experiment import Diverged, Progress, Tensors, names
from icl_core.in_context_regression.polynomial import Moments
from icl_core.papers.memformers.shared import test_set, variants
from icl_core.papers.memformers.shared.settings import Model
from icl_core.papers.memformers.shared.task import roots
from icl_core.papers.memformers.shared.train import Batches, curves, problem, trained
from icl_core.papers.memformers.speed.settings import (
    BOTH,
    MODELS,
    Config,
    Timed,
    model_of,
    rates_of,
)
from icl_core.training import loop, phases
from icl_core.training.phases import Made, Phase, Report


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train `names/models` at every one of `rate/values` [rates] in each of `names/coordinates`,
    all seeds of one together. `curve/<coordinates>/<model>/<index of the rate>` [seeds,
    evaluations] beside `curve/step`: the loss on fresh prompts, NaN if the training diverged;
    `baseline/floor` and `baseline/floor_shared` [1] on the same ones."""
    results = phases.run(plan(config), progress, partial(_shown, config))
    return {**_shown(config, results), **loss_floors(config)}


def plan(config: Config) -> list[Phase]:
    """Return all trainings; those of one rate after those of another, so that models can be
    compared early."""
    phases_of_run = []
    for (index, rate), coordinates, model in product(enumerate(rates_of(config)), BOTH, MODELS):
        name = f"{coordinates} {model.id} {index}"
        trained = model_of(config, model, coordinates, rate)
        phases_of_run.append(_phase(name, trained, model, rate))
    return phases_of_run


def _phase(name: str, config: Model, model: Timed, rate: float) -> Phase:
    label = f"{model.name}, {config.coordinates} coordinates, rate {rate:g}"
    return Phase(
        name, config.steps, partial(_train, config, model), partial(curves, config), label=label
    )


def _train(config: Model, model: Timed, resumed: Tensors, report: Report) -> dict[str, np.ndarray]:
    """Return one training's `curve/…`; that of a training that diverges is NaN: it arrives
    nowhere."""
    # The same A in every model.
    generator = torch.Generator().manual_seed(10_000 + 100 * config.seed + config.layers)
    parameters = variants.initial(config, generator)
    root = roots(config)
    batches = Batches(config)
    blocks = test_set.held(config, test_set.WATCHED)

    def watch(step: int) -> loop.Measures:
        _, controlled = test_set.controlled_losses(parameters, config, root, blocks)
        return {"loss": controlled.double().mean(-1).cpu().numpy()}

    of = without(model.frozen, problem(config, parameters, root, batches, watch))
    try:
        return curves(config, trained(model.name, config, of, resumed, report))
    except Diverged:
        return curves(config, loop.State(curve={"loss": [[np.nan] * config.seeds]}))


def without(frozen: tuple[str, ...], of: loop.Problem) -> loop.Problem:
    """Return the problem with some parameters left as they are."""

    def gradient(step: int) -> tuple[Mapping[str, Any], loop.Measures]:
        gradients, measures = of.gradient(step)
        return {name: each for name, each in gradients.items() if name not in frozen}, measures

    return replace(of, gradient=gradient)


def _shown(config: Config, by_phase: Made) -> dict[str, np.ndarray]:
    """Return the losses of the trainings so far, and what they are of."""
    tensors = {
        "names/models": names([each.id for each in MODELS]),
        "names/coordinates": names(BOTH),
        "rate/values": np.array(rates_of(config)),
    }
    for name, each in by_phase.items():
        if each:
            tensors |= {
                "curve/step": each["curve/step"],
                f"curve/{name.replace(' ', '/')}": each["curve/loss"],
            }
    return tensors


STARTS = 8  # of the search for the best shared Γ
FLOOR_SEED = 2**31 + 41


def loss_floors(config: Any) -> dict[str, np.ndarray]:
    """Return `baseline/floor`, the least expected loss of any polynomial of degree L in Σ⁻¹ S, and
    `baseline/floor_shared`, of those that a model with one Γ_j for all layers can be, [1] each."""
    best = regression.exact_floors(config.d, config.n, [config.layers])[0].loss
    exact = regression.exact_moments(config.d, config.n, config.layers)
    shared = shared_floor(exact, config.layers)
    return {
        "baseline/floor": np.array([best], np.float32),
        "baseline/floor_shared": np.array([shared], np.float32),
    }


def shared_floor(moments: Moments, layers: int) -> float:
    """The least loss of w_{l+1} = w_l − Σ_{j≤l} c_j Σ⁻¹ ∇R(w_j): of all A_l that are multiples of
    Σ⁻¹ and one Γ_j for all layers. The best of several searches: there is no closed form."""
    generator = torch.Generator().manual_seed(FLOOR_SEED)
    starts = torch.randn(STARTS, layers, generator=generator, dtype=torch.float64) * 0.5 + 0.5
    return min(_searched(start, moments) for start in starts)


def _searched(start: Tensor, moments: Moments) -> float:
    steps = start.clone().requires_grad_()
    optimiser = torch.optim.LBFGS([steps], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimiser.zero_grad()
        value = _loss_of_steps(steps, moments)
        value.log().backward()
        return value.detach().log()

    optimiser.step(loss)
    return float(_loss_of_steps(steps.detach(), moments))


def _loss_of_steps(steps: Tensor, moments: Moments) -> Tensor:
    """The expected loss of p_L, p_{l+1}(t) = p_l(t) − t Σ_{j≤l} c_j p_j(t), in the moments'
    Chebyshev basis."""
    times = _times_t(len(moments.G), moments.high)
    done = [torch.eye(len(moments.G), dtype=torch.float64)[0]]  # p_0 = 1
    register = torch.zeros_like(done[0])
    for step in steps:
        register = register + step * done[-1]
        done.append(done[-1] - times @ register)
    return done[-1] @ moments.G @ done[-1]


def _times_t(size: int, high: float) -> Tensor:
    """The matrix that multiplies a polynomial in Chebyshev polynomials of x = 2 t / high − 1 by t,
    cut at its degree: t = high (1 + x) / 2 and x T_k = (T_{k+1} + T_{|k−1|}) / 2."""
    x = torch.zeros(size, size, dtype=torch.float64)
    for k in range(size):
        for to in (k + 1, abs(k - 1)):
            if to < size:
                x[to, k] += 0.5
    return high / 2 * (torch.eye(size, dtype=torch.float64) + x)

"""Trains one model of one depth, all seeds in one pass: a part of every run of this paper."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Diverged, Tensors
from icl_core.learners import conjugate_gradient, inverse_factor
from icl_core.papers.memformers.shared import authors_test, model, test_set, variants
from icl_core.papers.memformers.shared.batches import Batches
from icl_core.papers.memformers.shared.task import FEWEST, Batch, covariances, roots
from icl_core.papers.memformers.shared.variants import VARIANTS, Parameters
from icl_core.training import loop, phases, several_seeds
from icl_core.training.phases import Made, Phase, Report

EVALUATIONS = 10, 50  # every so many steps at first, and so many of these
# steps after which the learning rate is halved, where it is (authors' code of Figures 18 to 21)
HALVED = 2000
EVALUATED = ("loss", "error", "median", "batches", "train")
AUTHORS = "authors"  # of the authors' own prompts: what is measured on their test batch


SCHEDULES: dict[str, Callable[[int], Callable[[int], float]]] = {
    "cosine": loop.cosine,
    "constant": lambda steps: lambda step: 1.0,
    "halved": lambda steps: lambda step: 0.5 ** (step // HALVED),
}


def training_phase(name: str, config: Any, label: str = "") -> Phase:
    """One depth's training, as a part of a run, called `label` for people: `curve/…`, `snapshot/…`,
    `final/…` and `evaluated/…` [seeds]."""
    return Phase(
        name, config.steps, partial(_train, config, name), partial(curves, config), label=label
    )


def every_depth(models: Mapping[str, Any], labels: Mapping[str, str]) -> list[Phase]:
    """Return for each of `models`, by name, a training of every depth, "<name> <depth>"; the
    deepest first: its curves are the ones to watch. `labels` are their names for people."""
    plan: list[Phase] = []
    for phase_name, config in by_phase(models).items():
        layers = f"{config.layers} layers" if config.layers > 1 else "1 layer"
        label = f"{labels[phase_name.rpartition(' ')[0]]}, {layers}"
        plan.append(training_phase(phase_name, config, label))
    return plan


def by_phase(models: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config of each training of `every_depth`, by the name of its phase."""
    depths = range(max(model.layers for model in models.values()), 0, -1)
    return {
        f"{name} {depth}": replace(model, layers=depth)
        for depth in depths
        for name, model in models.items()
    }


def by_depth(tensors: Made, name: str, layers: int, measure: str) -> np.ndarray:
    """What the test set says of a model's depths, [seeds, K]."""
    return np.stack(
        [tensors[f"{name} {depth}"][f"evaluated/{measure}"] for depth in range(1, layers + 1)], 1
    )


def goes_on(config: Any) -> bool:
    """Whether a training is the beginning of a longer one: neither its rate nor its prompts depend
    on the length."""
    pooled = config.batches == "fresh" and config.batch * config.seeds * config.steps < FEWEST
    return config.schedule != "cosine" and not pooled


def curves(config: Any, state: loop.State) -> dict[str, np.ndarray]:
    """The curves of a training, NaN where it has not arrived yet."""
    return state.curves(evaluations(config))


@dataclass(frozen=True, eq=False)
class Begun:
    """A training before its first step."""

    config: Any
    parameters: Parameters
    root: Tensor
    batches: Batches
    problem: loop.Problem


def _train(config: Any, name: str, *given: Any) -> dict[str, np.ndarray]:
    """`given` ends in what is resumed and the report; an earlier phase before them has made the
    first `final/…`."""
    *first, resumed, report = given
    begun = begin(config, phases.final(first[0]) if first else {})
    return end(begun, trained(name.rpartition(" ")[0], config, begun.problem, resumed, report))


def begin(config: Any, first: Tensors | None = None) -> Begun:
    """A training of a config, from its own first values or from the `first` that are given."""
    generator = torch.Generator().manual_seed(10_000 + 100 * config.seed + config.layers)
    parameters, root = variants.initial(config, generator), roots(config)
    for name, array in (first or {}).items():
        parameters[name].copy_(torch.from_numpy(np.array(array)))
    batches, held = Batches(config), test_set.held(config, test_set.WATCHED)
    of = problem(
        config, parameters, root, batches, lambda step: _watched(config, parameters, root, held)
    )
    return Begun(config, parameters, root, batches, of)


def end(begun: Begun, state: loop.State) -> dict[str, np.ndarray]:
    """What a training has made: see `training_phase`."""
    config, parameters, root = begun.config, begun.parameters, begun.root
    evaluated = _evaluated(config, parameters, root)
    evaluated["train"] = _training_loss(config, parameters, root, begun.batches, state)
    evaluations = {
        f"evaluated/{key}": np.asarray(value.cpu(), np.float32) for key, value in evaluated.items()
    }
    return {
        **curves(config, state),
        **evaluations,
        **state.snapshot_arrays(_shown(state), np.float16),
    }


def _shown(state: loop.State) -> list[int]:
    """The evaluations whose snapshots are kept: along the logarithm of the loss and each layer's
    distance to Σ⁻¹."""
    distances = state.moving(*(name for name in state.curve if name.startswith("distance_")))
    return loop.spread([np.log(state.moving("loss")[0]), *distances])


def _evaluated(config: Any, parameters: Parameters, root: Tensor) -> dict[str, Tensor]:
    """Return of the test set, [seeds]: the mean loss, the standard error of its logarithm and the
    median; and the mean losses of batches of 1000, [seeds, 65]."""
    held = test_set.held(config, test_set.PROMPTS)
    losses, controlled = test_set.controlled_losses(parameters, config, root, held)
    mean, error = test_set.mean_and_log_error(controlled)
    batches = test_set.batches(parameters, config, root)
    measures = {
        "loss": mean,
        "error": error,
        "median": losses.median(-1).values,
        "batches": batches,
    }
    if config.batches == "authors":
        measures[AUTHORS] = authors_test.losses(parameters, config, root)
    return measures


def measures(config: Any) -> tuple[str, ...]:
    """What is evaluated of a training, by name."""
    return (*EVALUATED, AUTHORS) if config.batches == "authors" else EVALUATED


def problem(
    config: Any,
    parameters: Parameters,
    root: Tensor,
    batches: Any,
    watch: Callable[[int], loop.Measures],
) -> loop.Problem:
    """What the loop trains: every seed's loss on `batches`, which have a `generator` and the batch
    `at` a step."""

    def step(index: int):
        loss, gradient = model.loss_and_gradient(
            parameters, config, root, batches.at(index), config.objective
        )
        return limited(gradient, config), {"loss": loss.cpu().numpy()}

    high_degree = VARIANTS[config.variant].moves_covariates and config.clip > 0
    return loop.Problem(
        parameters,
        step,
        watch,
        lambda tensors: torch.optim.Adam(
            tensors, lr=config.learning_rate, betas=(config.beta_1, config.beta_2)
        ),
        (batches.generator,),
        loss="loss",
        schedule=SCHEDULES[config.schedule](config.steps),
        # Predicting zero loses d. Of the logarithm every step is bounded, and rare prompts may be
        # this bad; so they may where covariates move, a polynomial of high degree, and are clipped.
        ceiling=1e30 if config.objective == "log" or high_degree else 1e6 * config.d,
    )


def limited(gradient: Parameters, config: Any) -> Parameters:
    """The gradient, clipped where the config asks for it."""
    return (
        clipped(gradient, config.clip, config.preconditioner == "full") if config.clip else gradient
    )


def clipped(gradient: Parameters, limit: float, matrices: bool) -> Parameters:
    """The gradient with each of the `matrices` A_l and B_l no longer than `limit`, head by head
    (Section 2's clipping, as the authors' code does it); every other parameter of a seed as a
    whole."""
    clipped_alone = {
        name: value for name, value in gradient.items() if matrices and name in ("A", "B")
    }
    squares = {
        name: value.square().sum((-2, -1), keepdim=True) for name, value in clipped_alone.items()
    }
    cut = {
        name: value * (limit / squares[name].sqrt().clamp(min=limit))
        for name, value in clipped_alone.items()
    }
    return {
        name: cut[name] if name in cut else several_seeds.clipped({name: value}, limit)[name]
        for name, value in gradient.items()
    }


def trained(
    name: str, config: Any, problem: loop.Problem, resumed: Tensors, report: Report
) -> loop.State:
    """Trains to the end. `Diverged` says which model it was, of what `name` and how many layers."""
    try:
        return loop.train(problem, config.steps, evaluations(config), resumed, report)
    except Diverged as found:
        raise name_diverged(found, name, config) from None


def name_diverged(found: Diverged, name: str, config: Any) -> Diverged:
    """The same, with the model that it was."""
    return Diverged(f"{name}, {config.layers} layers: {found}")


def evaluations(config: Any) -> list[int]:
    """The steps at which a training is evaluated."""
    return loop.evaluations(config.steps, *EVALUATIONS)


def _watched(
    config: Any, parameters: Parameters, root: Tensor, held: test_set.Blocks
) -> dict[str, np.ndarray]:
    """The loss on fresh prompts and each layer's distance from a multiple of Σ⁻¹, at an
    evaluation."""
    _, controlled = test_set.controlled_losses(parameters, config, root, held)
    measures = {"loss": controlled.double().mean(-1).cpu().numpy()}
    if "A" in parameters and config.preconditioner == "full":
        by_layer = (
            variants.distances(variants.preconditioners(parameters, config, root)).cpu().numpy()
        )
        measures |= {f"distance_{layer}": by_layer[:, layer] for layer in range(config.layers)}
    return measures


def _training_loss(
    config: Any, parameters: Parameters, root: Tensor, batches: Batches, state: loop.State
) -> Tensor:
    """What the model loses on the prompts it was trained on, [seeds]; of fresh ones, on those of
    the last tenth."""
    if config.batches == "fresh":
        rows = np.array(state.batch["loss"][-max(1, config.steps // 10) :])  # [steps, seeds]
        return torch.from_numpy(rows.mean(0))
    return model.loss_and_gradient(parameters, config, root, batches.at(config.steps - 1), "mean")[
        0
    ]


def on_own_batch(config: Any) -> dict[str, np.ndarray]:
    """Return `baseline/cg_train` [seeds, K]: conjugate gradient on the very prompts and queries of
    the last batch."""
    batch = Batches(config).at(config.steps - 1)
    return {"baseline/cg_train": conjugate_gradient_on(config, batch)}


def conjugate_gradient_on(config: Any, batch: Batch) -> np.ndarray:
    """Return what conjugate gradient loses on a batch in the mean, after one to `layers` steps:
    [seeds, K]."""
    rows = []
    for seed, covariance in enumerate(covariances(config)):
        root, inverse = covariance.root.to(batch.S), covariance.inverse_root.to(batch.S)
        X = torch.einsum(
            "ij,jkp,kl->ilp", root, batch.S[seed], root
        )  # these prompts, not others of their kind
        target = inverse @ batch.target[seed, :, 0]
        fitted = target
        if batch.noise is not None:  # the least-squares solution is off w* by S⁻¹ U ε / n
            factor = inverse_factor(X).to(X)
            noise = root @ batch.noise[seed, :, 0]
            fitted = target + torch.einsum("ijp,kjp,kp->ip", factor, factor, noise)
        done = conjugate_gradient(X, fitted, config.layers)
        missed = root @ (done.iterates - target)  # [K + 1, d, prompts], whitened
        query = batch.query[seed] if batch.query is not None else None
        loss = missed.square().sum(1) if query is None else (missed * query).sum(1).square()
        rows.append(loss[1:].mean(-1).cpu().numpy())
    return np.stack(rows).astype(np.float32)


def frozen(config: Any) -> dict[str, np.ndarray]:
    """What no training changes: `frozen/rotation` [seeds, d, d], `frozen/eigenvalues` [d] of Σ."""
    of_seeds = covariances(config)
    rotations = torch.stack([covariance.rotation for covariance in of_seeds]).float()
    return {
        "frozen/rotation": rotations.numpy(),
        "frozen/eigenvalues": of_seeds[0].eigenvalues.float().numpy(),
    }

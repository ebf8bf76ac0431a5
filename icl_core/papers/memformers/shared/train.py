"""Train one model of one depth, all seeds in one pass, on its prompts, step by step: a part of
every run of this paper."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Diverged, Tensors
from icl_core.in_context_regression import conjugate_gradient, inverse_factor
from icl_core.papers.memformers.shared import authors_prompts, model, test_set, variants
from icl_core.papers.memformers.shared.task import (
    FEWEST,
    Batch,
    Pool,
    covariances,
    fixed_batch,
    gaussian,
    label_noise,
    roots,
    turned_batch,
)
from icl_core.papers.memformers.shared.variants import VARIANTS, Parameters
from icl_core.training import loop, phases, several_seeds
from icl_core.training.phases import Made, Phase, Report

EVALUATIONS = 10, 50  # every so many steps at first, and so many of these
# steps after which the learning rate is halved, where it is (authors' code of Figures 18 to 21)
HALVED = 2000
EVALUATED = ("loss", "error", "median", "batches", "train")
AUTHORS = "authors"  # of the authors' own prompts: what is measured on their test batch
RESAMPLED = 100  # steps that a batch is kept for in the paper's text


SCHEDULES: dict[str, Callable[[int], Callable[[int], float]]] = {
    "cosine": loop.cosine,
    "constant": lambda steps: lambda step: 1.0,
    "halved": lambda steps: lambda step: 0.5 ** (step // HALVED),
}


def training_phase(name: str, config: Any, label: str = "", in_segments: bool = False) -> Phase:
    """Return one depth's training, as a part of a run, called `label` for people, in compiled
    segments if it is to be. Its results are `curve/…`, `snapshot/…`, `final/…` and `evaluated/…`
    [seeds]."""
    train = partial(_train, config, name, in_segments)
    return Phase(name, config.steps, train, partial(curves, config), label=label)


def has_segments(config: Any) -> bool:
    """Return whether `fast_segment` makes the steps of a training."""
    has_form = config.variant in ("linear", "lfom") and config.preconditioner == "full"
    return has_form and config.batches == "fresh" and config.noise == 0


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
    deepest = max(config.layers for config in models.values())
    configs: dict[str, Any] = {}
    for depth in range(deepest, 0, -1):
        for name, config in models.items():
            configs[f"{name} {depth}"] = replace(config, layers=depth)
    return configs


def by_depth(tensors: Made, name: str, layers: int, measure: str) -> np.ndarray:
    """Return a measure on the test set of a model of every depth, [seeds, K]."""
    return np.stack(
        [tensors[f"{name} {depth}"][f"evaluated/{measure}"] for depth in range(1, layers + 1)], 1
    )


def goes_on(config: Any) -> bool:
    """Return whether a training is the beginning of a longer one: neither its learning rate nor its
    prompts depend on the length."""
    pooled = config.batches == "fresh" and config.batch * config.seeds * config.steps < FEWEST
    return config.schedule != "cosine" and not pooled


def curves(config: Any, state: loop.State) -> dict[str, np.ndarray]:
    """Return the curves of a training, NaN where it has not arrived yet."""
    return state.curves(evaluations(config))


class Batches:
    """Gives each step its prompts: fresh ones, or the same for 100 steps or for all."""

    def __init__(self, config: Any) -> None:
        self.config = config
        # of the seed alone: every depth and what is trained beside it meet the same prompts
        self.generator = torch.Generator().manual_seed(30_000 + config.seed)
        self.examples = VARIANTS[config.variant].needs_examples
        self.pool: Pool | None = None
        if config.batches == "fresh":
            has_examples = self.examples or config.noise > 0
            self.pool = Pool(config, self.generator, has_examples)
        self.kept: Batch | None = None
        self.period = -1  # of the batch that is kept

    def at(self, step: int) -> Batch:
        """Return the batch of a step. Steps come in order; a training that is resumed may begin at
        any."""
        if self.pool is not None:
            config = self.config
            S, U = self.pool.take(config.seeds, config.batch, self.generator)
            target = gaussian((len(S), config.d, 1, config.batch), self.generator)
            if U is None or not config.noise:
                return Batch(S, target, U)
            noise = label_noise(U, config.noise, self.generator)
            return Batch(S, target, U if self.examples else None, noise=noise)
        period = step // RESAMPLED if self.config.batches == "resampled" else 0
        if self.kept is None and self.config.batches == "authors":
            self.kept = authors_batch(self.config, self.examples)
            self.period = period
        if self.kept is None or self.period != period:
            # a generator of its own for each period: a run that is resumed meets the same batch
            own = torch.Generator().manual_seed(1_000_000 + 10_000 * self.config.seed + period)
            self.kept = fixed_batch(self.config, own, self.examples)
            self.period = period
        return self.kept


def authors_batch(config: Any, examples: bool) -> Batch:
    """Return the authors' own training batch as every seed meets it. A method that is learned
    directly leaves out each prompt's last example, as their classical methods do."""
    left_out = 0 if VARIANTS[config.variant].preconditioned else authors_prompts.LEFT_OUT
    normals = authors_prompts.training_batch(config.d, config.n + left_out, config.batch)
    return turned_batch(config, normals.first(config.n), examples)


@dataclass(frozen=True, eq=False)
class Begun:
    """A training before its first step."""

    config: Any
    parameters: Parameters
    root: Tensor
    batches: Batches
    problem: loop.Problem


def _train(config: Any, name: str, in_segments: bool, *given: Any) -> dict[str, np.ndarray]:
    """Train a model as a phase of a run. `given` ends in what is resumed and the report; before
    them comes the result of an earlier phase, if there is one, whose `final/…` it begins with."""
    *first, resumed, report = given
    begun = begin(config, phases.final(first[0]) if first else {})
    whole = with_segments(begun) if in_segments else begun.problem
    return end(begun, trained(name.rpartition(" ")[0], config, whole, resumed, report))


def with_segments(begun: Begun) -> loop.Problem:
    """Return the problem of a training that goes in compiled segments. Imports numba."""
    from icl_core.papers.memformers.shared.fast_segment import Segment

    assert begun.batches.pool is not None  # see `has_segments`
    segment = Segment(begun.config, begun.root, begun.batches.pool, begun.problem)
    return replace(begun.problem, segment=segment)


def begin(config: Any, first: Tensors | None = None) -> Begun:
    """Return a training of a config, from its own first values or from the `first` that are
    given."""
    generator = torch.Generator().manual_seed(10_000 + 100 * config.seed + config.layers)
    parameters = variants.initial(config, generator)
    root = roots(config)
    for name, array in (first or {}).items():
        parameters[name].copy_(torch.from_numpy(np.array(array)))
    batches = Batches(config)
    blocks = test_set.held(config, test_set.WATCHED)

    def watch(step: int) -> loop.Measures:
        return _watched(config, parameters, root, blocks)

    whole = problem(config, parameters, root, batches, watch)
    return Begun(config, parameters, root, batches, whole)


def end(begun: Begun, state: loop.State) -> dict[str, np.ndarray]:
    """Return the results of a training that has ended: see `training_phase`."""
    config = begun.config
    evaluated = _evaluated(config, begun.parameters, begun.root)
    evaluated["train"] = _training_loss(begun, state)
    evaluations = {
        f"evaluated/{key}": np.asarray(value.cpu(), np.float32) for key, value in evaluated.items()
    }
    return {
        **curves(config, state),
        **evaluations,
        **state.snapshot_arrays(_shown(state), np.float16),
    }


def _shown(state: loop.State) -> list[int]:
    """Return the evaluations whose snapshots are kept: along the logarithm of the loss and each
    layer's distance to Σ⁻¹."""
    distances = state.moving(*(name for name in state.curve if name.startswith("distance_")))
    return loop.spread([np.log(state.moving("loss")[0]), *distances])


def _evaluated(config: Any, parameters: Parameters, root: Tensor) -> dict[str, Tensor]:
    """Return of the test set, [seeds]: the mean loss, the standard error of its logarithm and the
    median; and the mean losses of batches of 1000, [seeds, 65]."""
    blocks = test_set.held(config, test_set.PROMPTS)
    losses, controlled = test_set.controlled_losses(parameters, config, root, blocks)
    mean, error = test_set.mean_and_log_error(controlled)
    measures = {
        "loss": mean,
        "error": error,
        "median": losses.median(-1).values,
        "batches": test_set.batches(parameters, config, root),
    }
    if config.batches == "authors":
        measures[AUTHORS] = test_set.losses_of_authors(parameters, config, root)
    return measures


def measures(config: Any) -> tuple[str, ...]:
    """Return the names of what is evaluated of a training."""
    return (*EVALUATED, AUTHORS) if config.batches == "authors" else EVALUATED


def problem(
    config: Any,
    parameters: Parameters,
    root: Tensor,
    batches: Any,
    watch: Callable[[int], loop.Measures],
) -> loop.Problem:
    """Return what the loop trains: every seed's loss on `batches`, which have a `generator` and the
    batch `at` a step."""

    def step(index: int):
        batch = batches.at(index)
        loss, gradient = model.loss_and_gradient(parameters, config, root, batch, config.objective)
        return limited(gradient, config), {"loss": loss.cpu().numpy()}

    def optimiser(tensors: list[Tensor]) -> torch.optim.Optimizer:
        betas = (config.beta_1, config.beta_2)
        return torch.optim.Adam(tensors, lr=config.learning_rate, betas=betas)

    high_degree = VARIANTS[config.variant].moves_covariates and config.clip > 0
    return loop.Problem(
        parameters,
        step,
        watch,
        optimiser,
        (batches.generator,),
        loss="loss",
        schedule=SCHEDULES[config.schedule](config.steps),
        # Predicting zero loses d. Of the logarithm every step is bounded, and rare prompts may be
        # this bad; so they may where covariates move, a polynomial of high degree, and are clipped.
        ceiling=1e30 if config.objective == "log" or high_degree else 1e6 * config.d,
    )


def limited(gradient: Parameters, config: Any) -> Parameters:
    """Return the gradient, clipped where the config asks for it."""
    if not config.clip:
        return gradient
    return clipped(gradient, config.clip, config.preconditioner == "full")


def clipped(gradient: Parameters, limit: float, matrices: bool) -> Parameters:
    """Return the gradient with each of the `matrices` A_l and B_l no longer than `limit`, head by
    head (Section 2's clipping, as the authors' code does it); every other parameter of a seed as a
    whole."""
    parts: Parameters = {}
    for name, value in gradient.items():
        if matrices and name in ("A", "B"):
            length = value.square().sum((-2, -1), keepdim=True).sqrt()  # [seeds, …, 1, 1]
            parts[name] = value * (limit / length.clamp(min=limit))
        else:
            parts |= several_seeds.clipped({name: value}, limit)
    return parts


def trained(
    name: str, config: Any, problem: loop.Problem, resumed: Tensors, report: Report
) -> loop.State:
    """Train to the end and return the last state. Raises `Diverged`, which names the model by
    `name` and its layers, and `Cancelled`."""
    try:
        return loop.train(problem, config.steps, evaluations(config), resumed, report)
    except Diverged as error:
        raise name_diverged(error, name, config) from None


def name_diverged(error: Diverged, name: str, config: Any) -> Diverged:
    """Return the same error with the model that diverged."""
    return Diverged(f"{name}, {config.layers} layers: {error}")


def evaluations(config: Any) -> list[int]:
    """Return the steps at which a training is evaluated."""
    return loop.evaluations(config.steps, *EVALUATIONS)


def _watched(
    config: Any, parameters: Parameters, root: Tensor, blocks: test_set.Blocks
) -> dict[str, np.ndarray]:
    """Return the loss on fresh prompts and each layer's distance from a multiple of Σ⁻¹, [seeds]
    each, at an evaluation."""
    _, controlled = test_set.controlled_losses(parameters, config, root, blocks)
    measures = {"loss": controlled.double().mean(-1).cpu().numpy()}
    if "A" in parameters and config.preconditioner == "full":
        matrices = variants.preconditioners(parameters, config, root)
        by_layer = variants.distances(matrices).cpu().numpy()  # [seeds, L]
        measures |= {f"distance_{layer}": by_layer[:, layer] for layer in range(config.layers)}
    return measures


def _training_loss(begun: Begun, state: loop.State) -> Tensor:
    """Return what the model loses on the prompts it was trained on, [seeds]; of fresh ones, on
    those of the last tenth."""
    config = begun.config
    if config.batches == "fresh":
        rows = np.array(state.batch["loss"][-max(1, config.steps // 10) :])  # [steps, seeds]
        return torch.from_numpy(rows.mean(0))
    batch = begun.batches.at(config.steps - 1)
    loss, _ = model.loss_and_gradient(begun.parameters, config, begun.root, batch, "mean")
    return loss


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
        root = covariance.root.to(batch.S)
        # these prompts, not others of their kind, in the original coordinates: [d, d, prompts]
        S = torch.einsum("ij,jkp,kl->ilp", root, batch.S[seed], root)
        target = covariance.inverse_root.to(batch.S) @ batch.target[seed, :, 0]
        fitted = target
        if batch.noise is not None:  # the least-squares solution is off w* by S⁻¹ U ε / n
            factor = inverse_factor(S).to(S)
            noise = root @ batch.noise[seed, :, 0]
            fitted = target + torch.einsum("ijp,kjp,kp->ip", factor, factor, noise)
        iterates = conjugate_gradient(S, fitted, config.layers).iterates
        errors = root @ (iterates - target)  # [K + 1, d, prompts], whitened
        query = batch.query[seed] if batch.query is not None else None
        loss = errors.square().sum(1) if query is None else (errors * query).sum(1).square()
        rows.append(loss[1:].mean(-1).cpu().numpy())
    return np.stack(rows).astype(np.float32)


def frozen(config: Any) -> dict[str, np.ndarray]:
    """Return what no training changes: `frozen/rotation` [seeds, d, d] and `frozen/eigenvalues` [d]
    of Σ."""
    of_seeds = covariances(config)
    rotations = torch.stack([covariance.rotation for covariance in of_seeds]).float()
    return {
        "frozen/rotation": rotations.numpy(),
        "frozen/eigenvalues": of_seeds[0].eigenvalues.float().numpy(),
    }

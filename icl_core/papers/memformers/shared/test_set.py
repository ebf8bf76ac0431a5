"""The test sets: fresh prompts, the same for every model of a task, on which query and w* are
integrated out; and the authors' own.

The authors test trained models on one batch, the classical methods on five, and these also on the
batch that models are trained on. They leave out each prompt's last example for the classical
methods.
"""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl_core import in_context_regression as regression
from icl_core.in_context_regression import (
    covariates,
    evaluate,
    exact_floors,
    expected_loss,
    gram,
    noise_loss,
)
from icl_core.machine import device
from icl_core.papers.memformers.shared import authors_prompts, model
from icl_core.papers.memformers.shared.authors_prompts import LEFT_OUT, Normals
from icl_core.papers.memformers.shared.task import (
    Batch,
    eigenvalues_of,
    gaussian,
    integrated,
    label_noise,
    rotations,
    turned,
    turned_batch,
)
from icl_core.papers.memformers.shared.variants import VARIANTS, Parameters

WATCHED = 2**13  # prompts at each evaluation during training
# prompts at the end: at four layers the mean over 1000 is off by 0.65 in the logarithm
PROMPTS = 2**16
SEED = 17
REMEMBERED = 2**24  # numbers of prompts that are kept for the next run, 64 MiB
BLOCK = 2**12  # prompts drawn at once; fixed, since it decides which prompts come
# U [d, n, block] where a model needs it, S [d, d, block]
Blocks = Sequence[tuple[Tensor | None, Tensor]]


def held_out(d: int, n: int, prompts: int, seed: int = SEED) -> Iterable[tuple[Tensor, Tensor]]:
    """Return U [d, n, block] and S [d, d, block] of prompts that no training saw, block by block,
    on the device."""
    is_small = prompts * d * (n + d) <= REMEMBERED
    return _remembered(d, n, prompts, seed) if is_small else _drawn(d, n, prompts, seed)


# those of the evaluations, of the end and of the fit of a floor: all models of a task meet them
@lru_cache(maxsize=3)
def _remembered(d: int, n: int, prompts: int, seed: int) -> tuple[tuple[Tensor, Tensor], ...]:
    return tuple(_drawn(d, n, prompts, seed))


def _drawn(d: int, n: int, prompts: int, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(2**31 + seed)
    for _ in range(0, prompts, BLOCK):
        U = covariates(d, n, BLOCK, generator, torch.float32).to(device.current_device())
        yield U, gram(U)


def held(config: Any, prompts: int) -> Blocks:
    """Return the blocks that a model of this config is evaluated on, in memory: for many
    evaluations."""
    examples = VARIANTS[config.variant].needs_examples
    return [(U if examples else None, S) for U, S in held_out(config.d, config.n, prompts)]


def losses(parameters: Parameters, config: Any, root: Tensor, blocks: Blocks) -> Tensor:
    """Return the expected loss on each prompt, [seeds, prompts]: tr(Σ C Σ⁻¹ Cᵀ), where the error is
    C w*."""
    parts: list[Tensor] = []
    needs_examples = VARIANTS[config.variant].needs_examples
    cells = config.d**2 * config.seeds * (4 * config.n if needs_examples else config.layers)
    size = max(128, min(BLOCK, 2**23 // cells))
    for U, S in blocks:
        for start in range(0, BLOCK, size):
            part = slice(start, start + size)
            examples = None if U is None else U[..., part]
            batch = integrated(S[..., part], examples, config.noise_share)
            parts.append(model.errors(parameters, config, root, batch).square().sum((1, 2)))
    return torch.cat(parts, -1)


def controlled_losses(
    parameters: Parameters, config: Any, root: Tensor, blocks: Blocks
) -> tuple[Tensor, Tensor]:
    """Return `losses` [seeds, prompts] as they are, and with the floor as a control variate.

    The second has the same expectation, and its mean is less at the mercy of rare prompts: on every
    prompt what the floor's method loses is replaced by its exact expectation. A model that no floor
    of A proportional to Σ⁻¹ bounds keeps its losses.
    """
    plain = losses(parameters, config, root, blocks)
    if not (VARIANTS[config.variant].has_floor and config.preconditioner == "full"):
        return plain, plain
    prompts = plain.shape[-1]
    sampled, expected = floor_losses(config.d, config.n, config.layers, prompts, config.noise)
    return plain, plain + (expected - sampled)


@lru_cache(maxsize=32)  # every model, seed and evaluation of a task and depth asks for the same
def floor_losses(
    d: int, n: int, layers: int, prompts: int, noise: float = 0.0
) -> tuple[Tensor, float]:
    """Return what the best fixed steps lose on each of the first `prompts` of the test set,
    [prompts], and their exact expected loss; labels have noise of that standard deviation."""
    best = exact_floors(d, n, [layers], Fraction(noise) ** 2)[0]
    blocks: list[Tensor] = []
    for _, S in held_out(d, n, prompts):
        blocks.append(losses_of(evaluate(best, S), S, None, noise**2 / n))
    return torch.cat(blocks), best.loss


def losses_of(C: Tensor, S: Tensor, eigenvalues: Tensor | None, share: float) -> Tensor:
    """Return the expected loss on every prompt S of a method that leaves the error map C, with
    noise in the labels of variance n `share`: [..., prompts] float64 where there is noise."""
    loss = expected_loss(C, eigenvalues)
    return loss + noise_loss(C, S, eigenvalues, share) if share else loss


def batches(parameters: Parameters, config: Any, root: Tensor) -> Tensor:
    """Return the mean loss on each of 65 batches of 1000 prompts with their own w* and query,
    [seeds, 65]: what the authors could have measured on theirs. As in their code one set of prompts
    is turned with every seed's rotation, so seeds, depths and models can be compared batch by
    batch."""
    generator = torch.Generator().manual_seed(2**31 + 31)
    examples = VARIANTS[config.variant].needs_examples
    turn = rotations(config)
    parts: list[Tensor] = []
    for U, _ in held_out(config.d, config.n, PROMPTS):
        target, query = (gaussian((config.d, BLOCK), generator) for _ in range(2))
        U = turned(turn, U)  # [seeds, d, n, block]
        S = torch.stack([gram(of_seed) for of_seed in U])
        noise = label_noise(U, config.noise, generator) if config.noise else None
        batch = Batch(S, turned(turn, target[:, None]), U if examples else None, noise=noise)
        error = model.errors(parameters, config, root, batch)[:, :, 0]  # [seeds, d, block]
        parts.append((error * turned(turn, query)).sum(1).square())
    losses = torch.cat(parts, -1)  # [seeds, prompts]
    return losses[:, : PROMPTS // 1000 * 1000].unflatten(1, (-1, 1000)).double().mean(-1)


def mean_and_log_error(losses: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean over prompts of losses [..., prompts], and the standard error of its
    logarithm."""
    exact = losses.double()
    mean = exact.mean(-1)
    return mean, exact.std(-1) / mean / losses.shape[-1] ** 0.5


# learning rates on the gradient summed over the examples, and β
AUTHORS_NESTEROV = 0.03
AUTHORS_MOMENTUM = 0.005
AUTHORS_BETA = 0.9


def losses_of_authors(parameters: Parameters, config: Any, root: Tensor) -> Tensor:
    """Return a model's mean loss on the authors' test batch, [seeds]."""
    variant = VARIANTS[config.variant]
    shape = (config.d, config.n, config.batch)
    if variant.tested_on_next_draw:
        normals = authors_prompts.next_batch(*shape, config.layers)
    else:
        normals = authors_prompts.test_batch(*shape)
    batch = turned_batch(config, normals, variant.needs_examples)
    loss, _ = model.loss_and_gradient(parameters, config, root, batch, "mean")
    return loss


def classical_of_authors(config: Any) -> dict[str, np.ndarray]:
    """Return `authors/cg`, `authors/nesterov` and `authors/momentum` [5, K], mean losses on each of
    the five test batches after one to `layers` steps, and `authors/cg_train` [K], conjugate
    gradient's on the training batch.

    None of them depends on how a prompt is turned: all are in the eigenbasis of Σ.
    """
    shape = (config.d, config.n, config.batch)
    batches = [
        authors_prompts.classical_batch(config.d, config.n, seed, config.batch)
        for seed in authors_prompts.CONJUGATE
    ]
    examples = config.n - LEFT_OUT
    by_batch = [classical_on_batch(normals, config, examples) for normals in batches]
    lines = {
        f"authors/{method}": np.stack([losses[method] for losses in by_batch])
        for method in by_batch[0]
    }
    own = classical_on_batch(authors_prompts.training_batch(*shape), config, examples)
    return {**lines, "authors/cg_train": own["cg"]}


def classical_on_batch(normals: Normals, config: Any, examples: int) -> dict[str, np.ndarray]:
    """Return what each classical method that sees that many examples loses on a batch, [K]."""
    root = eigenvalues_of(config).sqrt()[:, None]  # [d, 1]
    X = root[:, :, None] * normals.first(examples).U.double()  # [d, examples, prompts]
    S = regression.gram(X)
    target = normals.target.double() / root
    query = normals.query.double() * root
    paths = {
        "cg": regression.conjugate_gradient(S, target, config.layers).iterates,
        "nesterov": regression.nesterov(
            S, target, config.layers, examples * AUTHORS_NESTEROV, AUTHORS_BETA
        ),
        "momentum": regression.momentum(
            S, target, config.layers, examples * AUTHORS_MOMENTUM, AUTHORS_BETA
        ),
    }
    return {name: _mean_losses(iterates - target, query) for name, iterates in paths.items()}


def _mean_losses(errors: Tensor, query: Tensor) -> np.ndarray:
    """Return the mean squared error on the queries [d, prompts] after each step, [K], of errors
    [K + 1, d, prompts]."""
    residuals = torch.einsum("kdp,dp->kp", errors[1:], query)
    return residuals.square().mean(1).numpy().astype(np.float32)

"""Trains the full transformer once on the bigram task, with gradients by autograd, in chunks of
sequences that fit the cache."""

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from icl_core.machine import cores, device
from icl_core.papers.birth.shared.accuracy import hits
from icl_core.papers.birth.shared.full.model import Weights, forward, initialise
from icl_core.papers.birth.shared.full.settings import Config
from icl_core.papers.birth.shared.task import Batch
from icl_core.papers.birth.shared.train import RECORDED, batches, optimiser
from icl_core.training import loop

TOKENS = 2048  # of a chunk


def loss_and_gradient(
    weights: Weights,
    batch: Batch,
    heads: int,
    positions: str,
    train: Collection[str],
    chunk: int | None = None,
    bfloat16: bool = False,
) -> tuple[dict[str, Tensor], dict[str, float]]:
    """Return the gradient of the mean cross entropy over the counted positions by the weights
    `train`, and the batch's measures.

    positions  "in_context" or "all"
    chunk      sequences a chunk; None: what fits the cache
    bfloat16   whether matrix products are rounded to it; the weights, the stream and the loss are
               not

    The second result holds loss, in_context_loss, global_loss in nats, and in_context_accuracy.
    """
    counted = batch.in_context if positions == "in_context" else torch.ones_like(batch.in_context)
    count = max(1, int(counted.sum()))

    def work(rows: Tensor) -> tuple[dict[str, Tensor], Tensor, Tensor]:
        """Return the slopes of some sequences' share of the mean, and their losses and hits."""
        leaves = {name: weights[name].detach().requires_grad_() for name in train}
        inputs = batch.inputs[rows]
        targets = batch.targets[rows]
        with torch.autocast(inputs.device.type, torch.bfloat16, enabled=bfloat16):
            logits = forward({**weights, **leaves}, inputs, heads).logits.to(weights["W_U"].dtype)
        # (chunk · T, N) and (chunk · T,) to (chunk, T)
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
        loss = loss.view_as(targets)
        mean = (loss * counted[rows]).sum() / count
        derivatives = torch.autograd.grad(mean, list(leaves.values()), allow_unused=True)
        slopes: dict[str, Tensor] = {}
        for name, slope in zip(leaves, derivatives, strict=True):
            # None: the loss does not depend on it
            slopes[name] = torch.zeros_like(leaves[name]) if slope is None else slope
        return slopes, loss.detach(), hits(logits.detach(), targets)

    total: dict[str, Tensor] = {}
    losses = []
    right = []
    for slopes, loss, hit in cores.in_order(
        work, torch.arange(len(counted)).split(chunk or chunk_of(batch))
    ):
        for name, slope in slopes.items():
            total[name] = total[name].add_(slope) if name in total else slope
        losses.append(loss)
        right.append(hit)
    return total, _measures(torch.cat(losses), torch.cat(right), batch, counted)


def chunk_of(batch: Batch) -> int:
    """Return how many sequences fit the cache of a CPU together; on a GPU, a quarter of the paper's
    batch."""
    tokens = TOKENS if batch.tokens.device.type == "cpu" else 2**15
    return max(1, tokens // batch.inputs.shape[1])


def _measures(
    loss: Float[Tensor, "batch T"],
    right: Float[Tensor, "batch T"],
    batch: Batch,
    counted: Bool[Tensor, "batch T"],
) -> dict[str, float]:
    """Return means over the batch, see `loss_and_gradient`."""

    def mean(values: Tensor, where: Tensor) -> float:
        return float(values[where].double().mean())  # NaN if there is none

    return {
        "loss": mean(loss, counted),
        "in_context_loss": mean(loss, batch.in_context),
        "global_loss": mean(loss, batch.global_),
        "in_context_accuracy": mean(right, batch.in_context),
    }


EMBEDDINGS = frozenset(("W_E", "P", "W_U"))


def begun(config: Config) -> tuple[dict[str, Tensor], torch.Generator]:
    """Return the first weights of a config's seed, and the generator of its batches."""
    generator = torch.Generator().manual_seed(config.seed)
    initial = initialise(
        config.N,
        config.d,
        config.T,
        config.layers,
        generator,
        config.scale,
        config.mlp,
        config.layer_norm,
    )
    weights = {name: tensor.to(device.current_device()) for name, tensor in initial.items()}
    return weights, torch.Generator().manual_seed(10_000 + config.seed)


def problem(
    config: Config,
    weights: dict[str, Tensor],
    generator: torch.Generator,
    watch: Callable[[int], loop.Measures],
) -> loop.Problem:
    """Return the training of `weights`, in place, on fresh batches, each of which tells its
    gradients' norms; `watch` is what its evaluations measure."""
    draw = batches(config, generator)
    names = [name for name in weights if not (config.frozen and name in EMBEDDINGS)]
    slope_of = partial(
        loss_and_gradient,
        weights,
        heads=config.heads,
        positions=config.positions,
        train=names,
        bfloat16=config.bfloat16,
    )

    def step(index: int) -> Any:
        gradients, measures = slope_of(draw())
        norms = {f"gradient_{name}": float(slope.norm()) for name, slope in gradients.items()}
        return gradients, {**{name: measures[name] for name in RECORDED}, **norms}

    parameters = {name: weights[name] for name in names}
    return loop.Problem(parameters, step, watch, partial(optimiser, config), (generator,))

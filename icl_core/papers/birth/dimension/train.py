"""Trains W_O2 alone, at every width with all learning rates at once, and samples the one-step
memory.

While W_K1 and W_K2 are frozen, what W_O2 reads does not depend on it. So each batch goes through
both layers once, and every learning rate goes on from what layer 2 has attended to.
"""

from functools import partial

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad

from icl_core.contract.experiment import Progress, Tensors, names
from icl_core.machine import device
from icl_core.papers.birth.dimension import one_step
from icl_core.papers.birth.dimension.settings import FACTORS, NUMBERS, Config, training, widths_of
from icl_core.papers.birth.shared import settings as one
from icl_core.papers.birth.shared.chunks import counted_positions, query_blocks, split
from icl_core.papers.birth.shared.fast_forward import layer1, layer2, make_tables
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.task import Batch, make_task, sample
from icl_core.papers.birth.shared.train import begun, task_of
from icl_core.training import loop, phases
from icl_core.training.several_seeds import padded

EVERY, DENSE = 1, 30  # steps between evaluations at first, and how many of these
# the rows of a product are a multiple of this: every shape that comes is compiled and kept
ROWS = 1024
DRAWS = 20  # of embeddings, for each width and number of batches
FINE = np.geomspace(8, 1024, 29)  # widths at which theory is drawn


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """`curve/recall` [seeds, widths, rates, evaluations] beside `curve/step`; `task/widths`,
    `task/rates`, `task/numbers`; and of the one step

    `one_step/S` [numbers, N, N], the first seed's; `one_step/recall`, `one_step/noise` [seeds,
    numbers, widths], the mean over embeddings of R_1 and of the squared noise, with `_error`;
    `one_step/signal` [seeds, numbers], the mean right reading; `theory/noise` [seeds, numbers,
    widths], exact; `theory/recall` [seeds, numbers, fine] beside `theory/fine`.
    """
    plan = [
        phases.Phase(
            _name(*which),
            config.steps,
            partial(_train, training(config, *which)),
            loop.State.curves,
            label=f"d = {which[0]}, seed {which[1] + 1}",
        )
        for which in _trainings(config)
    ]
    made = phases.run(plan, progress, partial(_curves, config))
    return {**_curves(config, made), **one_step_of(config)}


def _trainings(config: Config) -> list[tuple[int, int]]:
    """Width and seed of each, the first seed of all first."""
    return [(d, seed) for seed in range(config.seeds) for d in widths_of(config)]


def _name(d: int, seed: int) -> str:
    return f"{d} {seed}"


def rates_of(config: Config | one.Config) -> list[float]:
    """The learning rates that are tried, the smallest first."""
    return [factor * config.learning_rate for factor in FACTORS]


def attended(
    weights: Weights, batch: Batch
) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n N"], Int[Tensor, "n"]]:
    """At the in-context positions: what W_O2 reads, the logits without it, and what follows."""
    tables, parts = make_tables(weights.with_(W_O2=torch.zeros_like(weights.W_O2)), 2), []
    for part in split(batch, counted_positions(batch, "in_context"), None):
        h = layer1(tables, part.tokens)[0]
        for at in query_blocks(part):
            block = part.block(*at)
            *_, c, logits = layer2(tables, h[at[0]], block.queries)
            kept = block.valid.flatten()
            parts.append(
                (c.flatten(0, 1)[kept] @ weights.V2.T, logits[kept], block.targets.flatten()[kept])
            )
    x, logits, targets = (torch.cat(each) for each in zip(*parts, strict=True))
    return x, logits, targets


def loss_and_gradient(
    W_U: Float[Tensor, "N d"],
    matrices: Float[Tensor, "rates d d"],
    x: Float[Tensor, "n d"],
    logits: Float[Tensor, "n N"],
    targets: Int[Tensor, "n"],
) -> tuple[Float[Tensor, "rates"], Float[Tensor, "rates d d"]]:
    """The mean cross-entropy with each of several W_O2, and its gradient."""
    n, more = len(targets), (0, -len(targets) % ROWS)
    x, logits, targets = pad(x, (0, 0, *more)), pad(logits, (0, 0, *more)), pad(targets, more)
    log_p = (logits + x @ (W_U @ matrices).mT).log_softmax(-1)  # (rates, rows, N)
    told = targets.expand(len(matrices), -1)[..., None]
    losses = -log_p.gather(2, told)[:, :n].mean((1, 2))
    slopes = log_p.exp_().scatter_add_(2, told, -torch.ones_like(told, dtype=log_p.dtype)).div_(n)
    slopes[:, n:] = 0
    return losses, W_U.T @ (slopes.mT @ x)


def recalls(weights: Weights, matrices: Float[Tensor, "rates d d"]) -> Float[Tensor, "rates"]:
    """The share of characters that each W_O2 gets right, asked on its own (eq. 9)."""
    found = weights.W_U @ matrices @ (weights.W_E @ weights.V2.T).T  # (rates, outputs, inputs)
    right = found.argmax(1) == torch.arange(found.shape[-1], device=found.device)
    return right.double().mean(-1)


def _train(config: one.Config, resumed: Tensors, report: phases.Report) -> dict[str, np.ndarray]:
    weights, generator = begun(config)
    task, tried = task_of(config), rates_of(config)
    parameters = {f"W_O2 {index}": weights.W_O2.clone() for index in range(len(tried))}

    def step(index: int) -> tuple[dict[str, Tensor], loop.Measures]:
        batch = sample(task, config.batch, generator, device.current_device())
        losses, gradients = loss_and_gradient(
            weights.W_U, _stacked(parameters), *attended(weights, batch)
        )
        return dict(zip(parameters, gradients, strict=True)), {"loss": losses.tolist()}

    def watch(index: int) -> loop.Measures:
        return {"recall": recalls(weights, _stacked(parameters)).tolist()}

    problem = loop.Problem(parameters, step, watch, partial(_sgd, tried), (generator,), loss="loss")
    at = loop.evaluations(config.steps, EVERY, DENSE)
    return loop.train(problem, config.steps, at, resumed, report, keep=False).curves()


def _stacked(parameters: dict[str, Tensor]) -> Float[Tensor, "rates d d"]:
    return torch.stack(list(parameters.values()))


def _sgd(tried: list[float], parameters: list[Tensor]) -> torch.optim.Optimizer:
    """Appendix E's optimiser, with a learning rate for each parameter."""
    groups = [{"params": [each], "lr": rate} for each, rate in zip(parameters, tried, strict=True)]
    return torch.optim.SGD(groups, lr=1.0, momentum=0.9, weight_decay=1e-4)


def _curves(config: Config, made: phases.Made) -> dict[str, np.ndarray]:
    """The curves so far; what has not been reached is NaN."""
    at, widths = loop.evaluations(config.steps, EVERY, DENSE), widths_of(config)
    nothing = np.zeros((len(FACTORS), 0), np.float32)
    rows = [
        [padded(made.get(_name(d, seed), {}).get("curve/recall", nothing), len(at)) for d in widths]
        for seed in range(config.seeds)
    ]
    known = {
        "curve/step": np.array(at),
        "task/widths": np.array(widths),
        "task/numbers": np.array(NUMBERS),
    }
    return {
        "curve/recall": np.array(rows, np.float32),
        "task/rates": np.array(rates_of(config)),
        **known,
    }


def one_step_of(config: Config) -> dict[str, np.ndarray]:
    """The one-step memory of every seed's batches, simulated and as theory has it."""
    task, widths, scale = (
        make_task(config.N, config.K, config.one_step_T),
        widths_of(config),
        config.scale,
    )
    found: dict[str, list] = {}
    for seed in range(config.seeds):
        generator = torch.Generator().manual_seed(20_000 + (config.seed + seed) % 100)
        S = one_step.surplus(task, NUMBERS, generator)
        simulated = [_simulated(S, d, scale, generator) for d in widths]
        made = {
            f"one_step/{name}": torch.stack([each[name] for each in simulated], -1)
            for name in simulated[0]
        }
        made["one_step/signal"] = S.diagonal(dim1=-2, dim2=-1).mean(-1)
        made["theory/noise"] = torch.stack([one_step.noise(S, d, scale) for d in widths], -1)
        made["theory/recall"] = torch.stack(
            [one_step.expected_recall(S, d, scale) for d in FINE], -1
        )
        made["one_step/S"] = S
        for name, value in made.items():
            found.setdefault(name, []).append(value.numpy().astype(np.float32))
    stacked = {name: np.stack(rows) for name, rows in found.items()}
    stacked["one_step/S"] = stacked["one_step/S"][0].astype(np.float16)
    return {**stacked, "theory/fine": FINE, "names/characters": names(task.characters)}


def _simulated(S: Tensor, d: int, scale: str, generator: torch.Generator) -> dict[str, Tensor]:
    """R_1 and the squared noise for each number of batches, means over draws of embeddings with
    their errors."""
    every = [
        one_step.readings(S, one_step.gram(S.shape[-1], d, scale, generator)) for _ in range(DRAWS)
    ]
    measured = {
        "recall": torch.stack([one_step.recall(each) for each in every]),
        "noise": torch.stack([one_step.aside(each.square()) for each in every]),
    }
    means = {name: rows.mean(0) for name, rows in measured.items()}
    return means | {f"{name}_error": rows.std(0) / DRAWS**0.5 for name, rows in measured.items()}

"""Train W_O2 alone, at every width with all learning rates at once, and sample the one-step memory.

While W_K1 and W_K2 are frozen, what W_O2 reads does not depend on W_O2. So each batch goes through
both layers once, and every learning rate continues from what layer 2 has attended to.
"""

from functools import partial

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad

from icl_core.contract.experiment import Progress, Tensors, names
from icl_core.machine import cores
from icl_core.papers.birth.dimension import one_step
from icl_core.papers.birth.dimension.settings import FACTORS, NUMBERS, Config, training, widths_of
from icl_core.papers.birth.shared import settings as one
from icl_core.papers.birth.shared.fast_forward import (
    Chunk,
    counted_positions,
    layer1,
    layer2,
    make_tables,
    query_blocks,
    split,
)
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.probes import recalled
from icl_core.papers.birth.shared.task import Batch, Task, make_task
from icl_core.papers.birth.shared.train import batches, begun
from icl_core.training import loop, phases
from icl_core.training.run_grid import RunGrid

# steps between evaluations at first, and how many of these
EVERY = 1
DENSE = 30
# The matrices of a product have a multiple of this many rows, as every new shape is compiled and
# stays in memory.
ROWS = 1024
DRAWS = 20  # draws of embeddings, for each width and number of batches
FINE = np.geomspace(8, 1024, 29)  # widths at which theory is computed


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train W_O2 at every width with every seed, and sample the one-step memory. Return:

    curve/recall      [seeds, widths, rates, evaluations] beside `curve/step` [evaluations]
    conditioning/number  [seeds, widths], see `condition_number`
    task/widths, task/rates, task/numbers

    and of the one-step memory, where `numbers` are the numbers of batches:

    one_step/S        [numbers, N, N], of the first seed
    one_step/recall   [seeds, numbers, widths], the mean of R_1 over embeddings; with `_error`
    one_step/noise    [seeds, numbers, widths], that of the squared noise; with `_error`
    one_step/signal   [seeds, numbers], the mean right reading
    theory/noise      [seeds, numbers, widths], exact
    theory/recall     [seeds, numbers, fine] beside `theory/fine` [fine]

    Raises `Diverged` and `Cancelled`.
    """
    plan = _grid(config).phases(
        config.steps,
        partial(_train, config),
        label=lambda seed, d: f"d = {d}, seed {seed + 1}",
    )
    results = phases.run(plan, progress, partial(_curves, config))
    return {
        **_curves(config, results),
        **one_step_of(config),
        "conditioning/number": _condition_numbers(config),
    }


def _grid(config: Config) -> RunGrid:
    """Return the trainings: every width with the first seed, then with the next."""
    return RunGrid(
        lambda seed, d: f"{d} {seed}", {"seed": range(config.seeds), "d": widths_of(config)}
    )


def _condition_numbers(config: Config) -> np.ndarray:
    """Return `condition_number` of the weights before training, [seeds, widths]."""
    widths = widths_of(config)
    numbers = np.empty((config.seeds, len(widths)), np.float32)
    for seed in range(config.seeds):
        for index, d in enumerate(widths):
            weights, _ = begun(training(config, d, seed))
            numbers[seed, index] = condition_number(weights)
    return numbers


def rates_of(config: Config | one.Config) -> list[float]:
    """Return the learning rates that are tried, the smallest first."""
    return [factor * config.learning_rate for factor in FACTORS]


def attended(
    weights: Weights, batch: Batch
) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n N"], Int[Tensor, "n"]]:
    """Return, at the n in-context positions, what W_O2 reads, the logits without W_O2, and the
    character that follows."""
    tables = make_tables(weights.with_(W_O2=torch.zeros_like(weights.W_O2)), 2)

    def work(part: Chunk) -> tuple[Tensor, Tensor, Tensor]:
        """Return the same of the positions of a chunk."""
        read = []
        logits = []
        targets = []
        h = layer1(tables, part.tokens)[0]  # (b, T, d)
        for sequences, columns in query_blocks(part):
            block = part.block(sequences, columns)
            *_, c, block_logits = layer2(tables, h[sequences], block.queries)
            valid = block.valid.flatten()  # (b m,), False: padding
            read.append(c.flatten(0, 1)[valid] @ weights.V2.T)  # (valid, d)
            logits.append(block_logits[valid])  # (valid, N)
            targets.append(block.targets.flatten()[valid])  # (valid,)
        return torch.cat(read), torch.cat(logits), torch.cat(targets)

    parts = split(batch, counted_positions(batch, "in_context"), None)
    read, logits, targets = zip(*cores.in_order(work, parts), strict=True)
    return torch.cat(read), torch.cat(logits), torch.cat(targets)


def loss_and_gradient(
    W_U: Float[Tensor, "N d"],
    matrices: Float[Tensor, "rates d d"],
    x: Float[Tensor, "n d"],
    logits: Float[Tensor, "n N"],
    targets: Int[Tensor, "n"],
) -> tuple[Float[Tensor, "rates"], Float[Tensor, "rates d d"]]:
    """Return the mean cross-entropy with each of several W_O2, and its gradient; each W_O2 is a
    part of its own for the cores.

    `x` is what W_O2 reads, `logits` are those without W_O2; see `attended`.
    """
    n = len(targets)
    padding = (0, -n % ROWS)  # rows are added at the end, see ROWS
    x = pad(x, (0, 0, *padding))  # (rows, d)
    logits = pad(logits, (0, 0, *padding))  # (rows, N)
    targets = pad(targets, padding)  # (rows,)
    index = targets[:, None]  # (rows, 1)

    def work(W_O2: Float[Tensor, "d d"]) -> tuple[Tensor, Tensor]:
        """Return the loss with one matrix, and its gradient."""
        log_p = (logits + x @ (W_U @ W_O2).T).log_softmax(-1)  # (rows, N)
        loss = -log_p.gather(1, index)[:n].mean()
        # d loss / d logits = (p - 1[target]) / n, and zero for the added rows
        slopes = log_p.exp_().scatter_add_(1, index, -torch.ones_like(index, dtype=log_p.dtype))
        slopes.div_(n)[n:] = 0  # (rows, N)
        return loss, W_U.T @ (slopes.T @ x)  # (d, d)

    losses, gradients = zip(*cores.in_order(work, matrices), strict=True)
    return torch.stack(losses), torch.stack(gradients)


def recalls(weights: Weights, matrices: Float[Tensor, "rates d d"]) -> Float[Tensor, "rates"]:
    """Return the share of characters that each W_O2 alone recalls (eq. 9)."""
    x = weights.W_E @ weights.V2.T  # (N, d)
    readings = weights.W_U @ matrices @ x.T  # (rates, outputs, inputs)
    return recalled(readings, "queries").double().mean(-1)


def condition_number(weights: Weights) -> float:
    """Return the condition number of the Gram matrix of the N vectors V2 w_E(k) that W_O2 reads.

    It is the ratio of the largest to the smallest eigenvalue; NaN where the vectors are
    linearly dependent, as they are for d < N.
    """
    x = (weights.W_E @ weights.V2.T).double()  # (N, d)
    if x.shape[1] < len(x):
        return float("nan")
    singular = torch.linalg.svdvals(x)  # (N,), the largest first
    return float((singular[0] / singular[-1]) ** 2)


def _train(
    whole: Config, resumed: Tensors, report: phases.Report, *, seed: int, d: int
) -> dict[str, np.ndarray]:
    """Train W_O2 at one width with one seed, at all learning rates, and return the curves."""
    config = training(whole, d, seed)
    weights, generator = begun(config)
    draw = batches(config, generator)
    rates = rates_of(config)
    parameters = {f"W_O2 {index}": weights.W_O2.clone() for index in range(len(rates))}

    def step(index: int) -> tuple[dict[str, Tensor], loop.Measures]:
        x, logits, targets = attended(weights, draw())
        matrices = _stacked(parameters)
        losses, gradients = loss_and_gradient(weights.W_U, matrices, x, logits, targets)
        return dict(zip(parameters, gradients, strict=True)), {"loss": losses.tolist()}

    def watch(index: int) -> loop.Measures:
        return {"recall": recalls(weights, _stacked(parameters)).tolist()}

    optimiser = partial(_sgd, rates)
    problem = loop.Problem(parameters, step, watch, optimiser, (generator,), loss="loss")
    evaluations = loop.evaluations(config.steps, EVERY, DENSE)
    return loop.train(problem, config.steps, evaluations, resumed, report, keep=False).curves()


def _stacked(parameters: dict[str, Tensor]) -> Float[Tensor, "rates d d"]:
    """Return the W_O2 of all learning rates in one tensor."""
    return torch.stack(list(parameters.values()))


def _sgd(rates: list[float], parameters: list[Tensor]) -> torch.optim.Optimizer:
    """Return Appendix E's optimiser, with a learning rate for each parameter."""
    groups = [
        {"params": [parameter], "lr": rate}
        for parameter, rate in zip(parameters, rates, strict=True)
    ]
    return torch.optim.SGD(groups, lr=1.0, momentum=0.9, weight_decay=1e-4)


def _curves(config: Config, results: phases.Made) -> dict[str, np.ndarray]:
    """Return the curves so far, [seeds, widths, rates, evaluations]; what is not reached is NaN."""
    evaluations = loop.evaluations(config.steps, EVERY, DENSE)
    return {
        "curve/recall": _grid(config).curve(results, "curve/recall", len(evaluations)),
        "task/rates": np.array(rates_of(config)),
        "curve/step": np.array(evaluations),
        "task/widths": np.array(widths_of(config)),
        "task/numbers": np.array(NUMBERS),
    }


def one_step_of(config: Config) -> dict[str, np.ndarray]:
    """Return the one-step memory of every seed's batches, simulated and in theory; see
    `compute`."""
    task = make_task(config.N, config.K, config.one_step_T)
    by_name: dict[str, list[np.ndarray]] = {}
    for seed in range(config.seeds):
        for name, measure in _one_step_of_seed(config, task, seed).items():
            by_name.setdefault(name, []).append(measure.numpy().astype(np.float32))
    stacked = {name: np.stack(measures) for name, measures in by_name.items()}  # (seeds, …) each
    stacked["one_step/S"] = stacked["one_step/S"][0].astype(np.float16)  # (numbers, N, N)
    return {**stacked, "theory/fine": FINE, "names/characters": names(task.characters)}


def _one_step_of_seed(config: Config, task: Task, seed: int) -> dict[str, Tensor]:
    """Return the measures of one seed's batches by their names in `compute`."""
    widths = widths_of(config)
    scale = config.scale
    generator = torch.Generator().manual_seed(20_000 + (config.seed + seed) % 100)
    S = one_step.surplus(task, NUMBERS, generator)  # (numbers, N, N)
    simulated = [_simulated(S, d, scale, generator) for d in widths]
    measures = {}
    for name in simulated[0]:
        by_width = [of_width[name] for of_width in simulated]  # (numbers,) each
        measures[f"one_step/{name}"] = torch.stack(by_width, -1)  # (numbers, widths)
    measures["one_step/signal"] = S.diagonal(dim1=-2, dim2=-1).mean(-1)  # (numbers,)
    noise = [one_step.noise(S, d, scale) for d in widths]  # (numbers,) each
    measures["theory/noise"] = torch.stack(noise, -1)  # (numbers, widths)
    expected = partial(one_step.expected_recall, S, scale=scale)
    recall = list(cores.in_order(expected, FINE))  # (numbers,) each
    measures["theory/recall"] = torch.stack(recall, -1)  # (numbers, fine)
    measures["one_step/S"] = S
    return measures


def _simulated(S: Tensor, d: int, scale: str, generator: torch.Generator) -> dict[str, Tensor]:
    """Return `recall`, which is R_1, and `noise`, the squared noise, [numbers]: means over DRAWS
    draws of embeddings, and their standard errors as `<name>_error`."""
    recalls_of_draws = []
    noises = []
    for _ in range(DRAWS):
        G = one_step.gram(S.shape[-1], d, scale, generator)  # (N, N)
        readings = one_step.readings(S, G)  # (numbers, N, N)
        recalls_of_draws.append(one_step.recall(readings))
        noises.append(one_step.aside(readings.square()))
    recall = torch.stack(recalls_of_draws)  # (draws, numbers)
    noise = torch.stack(noises)  # (draws, numbers)
    return {
        "recall": recall.mean(0),  # (numbers,)
        "noise": noise.mean(0),
        "recall_error": recall.std(0) / DRAWS**0.5,
        "noise_error": noise.std(0) / DRAWS**0.5,
    }

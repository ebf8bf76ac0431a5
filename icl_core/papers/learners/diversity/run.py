"""One layer of linear attention with ever more training tasks: its optimum, what it learns from
prompts, and Bayes over the training tasks."""

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Progress
from icl_core.papers.learners.diversity import one_layer
from icl_core.papers.learners.diversity.settings import MOST, PROMPTS, Config


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Return, over the numbers of training tasks `snapshot/step`,

    curve/<who>_<where>  [seeds, counts] beside `curve/step`, the share left of the error of
                         predicting zero: of the layer's `optimum`, the `fitted` layer and of
                         `memory`, Bayes over the training tasks; on `trained` tasks, where other
                         prompts of them are asked for, and on `fresh` ones
    snapshot/optimum, snapshot/fitted
                         [counts, seeds, d, d], Γ
    snapshot/inside, snapshot/outside
                         [counts, seeds], what the optimum leaves of a fresh task within the span
                         of the training tasks and outside of it, each as a share of what is there;
                         NaN where nothing is
    baseline/ridge       [1], what Bayes leaves that knows w* ~ N(0, I)
    """
    seeds = range(config.seed, config.seed + config.seeds)
    by_seed: list[dict[str, np.ndarray]] = []
    for seed in seeds:
        progress.enter(f"seed {seed - config.seed + 1} of {config.seeds}")
        by_seed.append(_one_seed(config, seed))
    tensors = {
        name: np.stack([each[name] for each in by_seed], 1 if name.startswith("snapshot") else 0)
        for name in by_seed[0]
    }
    counts = np.array(config.counts)
    return {
        "curve/step": counts,
        "snapshot/step": counts,
        **tensors,
        "baseline/ridge": np.array([_ridge(config)]),
    }


def _one_seed(config: Config, seed: int) -> dict[str, np.ndarray]:
    generator = torch.Generator().manual_seed(seed)
    every = torch.randn(MOST, config.d, generator=generator, dtype=torch.float64)
    rows: list[dict[str, np.ndarray]] = []
    for count in config.counts:
        rows.append(_one_count(config, every[:count], generator))
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


def _one_count(
    config: Config, tasks: one_layer.Tasks, generator: torch.Generator
) -> dict[str, np.ndarray]:
    """Return what one seed has of one number of tasks."""
    d = config.d
    n = config.n
    noise = config.noise
    one = torch.eye(d, dtype=tasks.dtype)
    optimum = one_layer.optimum(tasks, n, noise)
    fitted = _fitted(config, tasks, generator)
    size = float((tasks.square().sum(1)).mean())  # the error of predicting zero on trained tasks
    inside, outside = _by_span(tasks, optimum, config)
    values: dict[str, float] = {
        "snapshot/inside": inside,
        "snapshot/outside": outside,
        "curve/memory_trained": _memory(config, tasks, tasks, generator) / size,
        "curve/memory_fresh": _memory(config, tasks, None, generator) / d,
    }
    for name, gamma in (("optimum", optimum), ("fitted", fitted)):
        on_trained = one_layer.error_on(tasks, gamma, n, noise)
        values[f"curve/{name}_trained"] = on_trained / size
        values[f"curve/{name}_fresh"] = one_layer.error_over(one, gamma, n, noise) / d
    return {name: np.array(value) for name, value in values.items()} | {
        "snapshot/optimum": optimum.float().numpy(),
        "snapshot/fitted": fitted.float().numpy(),
    }


def _prompts(config: Config, w: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return x [prompts, n, d] and y [prompts, n] of the tasks w [prompts, d]."""
    x = torch.randn(len(w), config.n, config.d, generator=generator, dtype=w.dtype)
    noise = torch.randn(len(w), config.n, generator=generator, dtype=w.dtype)
    return x, torch.einsum("pnd,pd->pn", x, w) + config.noise * noise


def _fitted(config: Config, tasks: Tensor, generator: torch.Generator) -> one_layer.Matrix:
    """Return the layer that is fitted to prompts of the training tasks, one label at each."""
    which = torch.randint(len(tasks), (config.prompts,), generator=generator)
    w = tasks[which]
    x, y = _prompts(config, w, generator)
    b = torch.einsum("pnd,pn->pd", x, y) / config.n
    query = torch.randn(config.prompts, config.d, generator=generator, dtype=w.dtype)
    noise = torch.randn(config.prompts, generator=generator, dtype=w.dtype)
    return one_layer.fitted(b, query, (query * w).sum(1) + config.noise * noise)


def _memory(
    config: Config, tasks: Tensor, asked: Tensor | None, generator: torch.Generator
) -> float:
    """Return the mean of |ŵ − w|² of Bayes over the training tasks, each as likely as any other, on
    prompts of tasks that are asked, or of fresh ones."""
    if asked is None:
        w = torch.randn(PROMPTS, config.d, generator=generator, dtype=tasks.dtype)
    else:
        w = asked[torch.randint(len(asked), (PROMPTS,), generator=generator)]
    x, y = _prompts(config, w, generator)
    # |y − X v|² of every task v, without |y|², which is the same for all
    squares = (tasks[:, :, None] * tasks[:, None]).flatten(1)  # [tasks, d d]
    misfit = (x.mT @ x).flatten(1) @ squares.T  # [prompts, tasks]
    misfit -= 2 * torch.einsum("pnd,pn->pd", x, y) @ tasks.T
    likely = torch.softmax(-misfit / (2 * config.noise**2), 1)
    return float((likely @ tasks - w).square().sum()) / PROMPTS


def _by_span(tasks: Tensor, gamma: Tensor, config: Config) -> tuple[float, float]:
    """Return what is left of a fresh task within the span of the training tasks, and outside, as
    shares of what is there."""
    d = config.d
    n = config.n
    noise = config.noise
    _, singular, directions = torch.linalg.svd(tasks, full_matrices=True)
    rank = int((singular > 1e-9 * singular[0]).sum())
    one = torch.eye(d, dtype=tasks.dtype)
    mean_square = (1 + 1 / n) * one + (d + noise**2) / n * one  # E b bᵀ of fresh tasks
    error = gamma @ mean_square @ gamma.T - gamma - gamma.T + one
    shares: list[float] = []
    for part in (directions[:rank], directions[rank:]):
        left = float(torch.einsum("ri,ij,rj->", part, error, part))
        shares.append(left / len(part) if len(part) else float("nan"))
    return shares[0], shares[1]


def _ridge(config: Config) -> float:
    """Return the share that Bayes with w* ~ N(0, I) leaves."""
    generator = torch.Generator().manual_seed(2**31 + 5)
    w = torch.randn(PROMPTS, config.d, generator=generator, dtype=torch.float64)
    x, _ = _prompts(config, w, generator)
    one = torch.eye(config.d, dtype=torch.float64)
    posterior = config.noise**2 * torch.linalg.inv(x.mT @ x + config.noise**2 * one)
    return float(posterior.diagonal(dim1=1, dim2=2).sum(1).mean() / config.d)

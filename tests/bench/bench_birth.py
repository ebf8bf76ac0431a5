"""Birth of a Transformer: the fast gradient and sampler beside the equations written down plainly.

The plain gradient is autograd through `plain_loss`, full T x T scores in both layers, float32 at
default precision; the plain sampler draws token by token with numpy. The paper's batch is 512:
there the plain version's T x T maps outgrow cache and allocator. So the plain side runs in two
processes, of which one has not been told to keep freed memory; with it, as workers do, run
`torch.compile` and JAX, too. Every round has a fresh batch, as in training.
"""

import multiprocessing
import os
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from icl_core.papers.birth.shared import train
from icl_core.papers.birth.shared.gradient import loss_and_gradient
from icl_core.papers.birth.shared.model import Weights, initialise
from icl_core.papers.birth.shared.settings import Config
from icl_core.papers.birth.shared.task import Batch, Task, make_task, sample
from tests.bench import authors, in_jax, timing
from tests.bench.timing import Row, by_turns, compared, seconds

ROUNDS = {64: 9, 512: 3}  # by batch size
D = 128
T = 256
KEPT = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40)}
PLACES = {"in_context": "in-context positions", "all": "all positions"}
PAPER = Config(T=T, d=D, batch=512, optimiser="sgd", learning_rate=0.03)


def plain_loss(weights: Weights, batch: Batch, positions: str) -> torch.Tensor:
    """Section 4.2 as it stands: W_O1 W_V1 is the one product that is not formed anew."""
    x = weights.W_E[batch.inputs] + weights.P
    future = torch.full((x.shape[1], x.shape[1]), -torch.inf).triu(1)
    attention = torch.softmax(x @ (x @ weights.W_K1.T).mT / D**0.5 + future, -1)
    h = x + attention @ (x @ weights.R1.T)
    attention = torch.softmax(h @ (h @ weights.W_K2.T).mT / D**0.5 + future, -1)
    g = h + attention @ (h @ weights.V2.T) @ weights.W_O2.T
    if weights.W_F is not None:
        g = g + g @ weights.W_F.T
    logits = g @ weights.W_U.T
    counted = batch.in_context if positions == "in_context" else torch.ones_like(batch.in_context)
    return torch.nn.functional.cross_entropy(logits[counted], batch.targets[counted])


def plain_gradient(weights: Weights, batch: Batch, positions: str) -> dict[str, torch.Tensor]:
    leaves = {name: tensor.clone().requires_grad_() for name, tensor in weights.trained().items()}
    plain_loss(weights.with_(**leaves), batch, positions).backward()
    return {name: leaf.grad for name, leaf in leaves.items() if leaf.grad is not None}


def plain_sample(task: Task, batch: int, rng: np.random.Generator) -> list[list[int]]:
    """Section 3, token by token."""
    unigram = task.unigram.numpy()
    bigram = task.bigram.numpy()
    sequences = []
    for _ in range(batch):
        triggers = rng.choice(task.N, task.K, replace=False, p=unigram)
        outputs = rng.integers(task.N, size=task.K).tolist()
        output = dict(zip(triggers.tolist(), outputs, strict=True))
        sequence = [int(rng.choice(task.N, p=unigram))]
        while len(sequence) < task.T + 1:
            here = sequence[-1]
            follower = output[here] if here in output else rng.choice(task.N, p=bigram[here])
            sequence.append(int(follower))
        sequences.append(sequence)
    return sequences


def setting(positions: str, seed: int, sequences: int) -> tuple[Weights, Batch]:
    weights = initialise(
        65, D, T, torch.Generator().manual_seed(0), "paper", with_F=positions == "all"
    )
    return weights, sample(make_task(K=5, T=T), sequences, torch.Generator().manual_seed(seed))


@cache
def compiled_loss() -> Callable[..., torch.Tensor]:
    return torch.compile(plain_loss)


def compiled_gradient(weights: Weights, batch: Batch, positions: str) -> None:
    """`plain_gradient` with the loss compiled by torch."""
    leaves = {name: tensor.clone().requires_grad_() for name, tensor in weights.trained().items()}
    compiled_loss()(weights.with_(**leaves), batch, positions).backward()


@cache
def jax_birth() -> Callable[..., Any]:
    return in_jax.birth(D, T)


def jax_gradient(weights: Weights, batch: Batch, positions: str) -> None:
    """The same in JAX, compiled once."""
    tensors = in_jax.arrays(weights.tensors())
    trained = {name: tensors.pop(name) for name in ("W_K1", "W_K2", "W_O2")}
    counted = batch.in_context.numpy()
    jax_birth()(trained, tensors, batch.inputs.numpy(), batch.targets.numpy(), counted)


# by the name in the row: beside whom a gradient is measured, and whether freed memory is kept
PEERS = {
    "plain": (plain_gradient, {}),
    "plain, freed memory kept": (plain_gradient, KEPT),
    "torch.compile, freed memory kept": (compiled_gradient, KEPT),
    "JAX, compiled, freed memory kept": (jax_gradient, KEPT),
}


def other_side(pipe: Any, gradient: Callable[..., object]) -> None:
    """Measures what is asked for, a gradient or the authors' step, until there is nothing more."""
    torch.set_num_threads(1)
    loop = None
    while (order := pipe.recv()) is not None:
        if order == "authors":
            loop = loop or authors.birth(make_task(K=5, T=T), D, PAPER.batch)
            pipe.send(seconds(loop))
        else:
            weights, batch = setting(*order)
            pipe.send(seconds(gradient, weights, batch, order[0]))


@contextmanager
def peer(name: str) -> Iterator[Any]:
    """Gives the pipe to a process that computes as the peer of that name does."""
    gradient, variables = PEERS[name]
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=other_side, args=(there, gradient), daemon=True
    )
    with patch.dict(os.environ, variables):  # malloc reads them as a process begins
        process.start()
    yield here
    here.send(None)
    process.join()


def alternated(
    pipe: Any, order: Callable[[int], Any], fast: Callable[[int], float], rounds: int
) -> list[float]:
    """Median seconds of the other process and of this one, by turns; the first turns do
    not count."""
    times = []
    for turn in range(rounds + 1):
        pipe.send(order(turn))
        times.append((pipe.recv(), fast(turn)))
    return [statistics.median(column) for column in zip(*times[1:], strict=True)]


def gradient_row(pipe: Any, name: str, positions: str, sequences: int) -> Row:
    def fast(seed: int) -> float:
        weights, batch = setting(positions, seed, sequences)
        return seconds(lambda: loss_and_gradient(weights, batch, positions))

    times = alternated(pipe, lambda seed: (positions, seed, sequences), fast, ROUNDS[sequences])
    weights, batch = setting(positions, 0, sequences)
    return compared(
        f"Birth: gradient, loss on {PLACES[positions]}, {sequences} sequences, beside {name}",
        *times,
        name.split(",")[0],
        work=lambda: loss_and_gradient(weights, batch, positions),
    )


def authors_row(pipe: Any, name: str) -> Row:
    weights, generator = train.begun(PAPER)
    step = timing.stepper(train.problem(PAPER, weights, generator, lambda index: {}))
    rounds = ROUNDS[PAPER.batch]
    times = alternated(pipe, lambda turn: "authors", lambda turn: seconds(step), rounds)
    kept = name.removeprefix("plain")
    what = f"Birth: training step, the authors' loop, {PAPER.batch} sequences{kept}"
    return compared(what, *times, "theirs", "; drawing and update included", work=step)


def precision_rows() -> Iterator[Row]:
    """What the faster products cost: the error of the gradient against float64."""
    before = torch.get_float32_matmul_precision()
    for positions, name in PLACES.items():
        weights, batch = setting(positions, 3, 16)
        exact = loss_and_gradient(weights.to(torch.float64), batch, positions)[0]
        for precision in ("highest", "medium"):
            torch.set_float32_matmul_precision(precision)
            computed = loss_and_gradient(weights, batch, positions)[0]
            errors = [(computed[W] - exact[W]).norm() / exact[W].norm() for W in exact]
            what = f"Birth: error of the gradient, loss on {name}, {precision}"
            yield what, f"{float(max(errors)):.0e}", "against float64"
    torch.set_float32_matmul_precision(before)


def rows() -> Iterator[Row]:
    """See the head of this file."""
    yield timing.machine_row()
    for name in PEERS:
        if name.startswith("JAX") and not in_jax.is_there():
            continue
        with peer(name) as pipe:
            is_plain = name.startswith("plain")
            for sequences in ROUNDS if is_plain else [PAPER.batch]:
                for positions in PLACES if is_plain else ["in_context"]:
                    yield gradient_row(pipe, name, positions, sequences)
            if is_plain:
                yield authors_row(pipe, name)
    task = make_task(K=5, T=T)
    generator = torch.Generator().manual_seed(0)
    rng = np.random.default_rng(0)
    ways = [lambda: plain_sample(task, 512, rng), lambda: sample(task, 512, generator)]
    yield compared("Birth: drawing 512 sequences", *by_turns(ways, 3))
    if timing.thorough:
        yield from precision_rows()

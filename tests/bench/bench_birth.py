"""Birth of a Transformer: the fast gradient and sampler beside the equations written down plainly.

The plain gradient is autograd through `plain_loss`, full T x T scores in both layers, float32 at
default precision; the plain sampler draws token by token with numpy. The paper's batch is 512:
there the plain version's T x T maps outgrow cache and allocator. The plain side runs in a process
of its own, which has not been told to keep freed memory. Every round has a fresh batch, as in
training.
"""

import multiprocessing
import statistics
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from icl_core.papers.birth.shared import train
from icl_core.papers.birth.shared.gradient import loss_and_gradient
from icl_core.papers.birth.shared.model import Weights, initialise
from icl_core.papers.birth.shared.settings import Config
from icl_core.papers.birth.shared.task import Batch, Task, make_task, sample
from tests.bench import authors, timing
from tests.bench.timing import Row, by_turns, compared, seconds

ROUNDS = {64: 9, 512: 3}  # by batch size
D = 128
T = 256
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


def plain_side(pipe: Any) -> None:
    """Measures what is asked for, a gradient or the authors' step, until there is nothing more."""
    torch.set_num_threads(1)
    loop = None
    while (order := pipe.recv()) is not None:
        if order == "authors":
            loop = loop or authors.birth(make_task(K=5, T=T), D, PAPER.batch)
            pipe.send(seconds(loop))
        else:
            weights, batch = setting(*order)
            pipe.send(seconds(plain_gradient, weights, batch, order[0]))


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


def gradient_row(pipe: Any, positions: str, sequences: int) -> Row:
    def fast(seed: int) -> float:
        weights, batch = setting(positions, seed, sequences)
        return seconds(lambda: loss_and_gradient(weights, batch, positions))

    times = alternated(pipe, lambda seed: (positions, seed, sequences), fast, ROUNDS[sequences])
    weights, batch = setting(positions, 0, sequences)
    return compared(
        f"Birth: gradient, loss on {PLACES[positions]}, {sequences} sequences",
        *times,
        work=lambda: loss_and_gradient(weights, batch, positions),
    )


def authors_row(pipe: Any) -> Row:
    weights, generator = train.begun(PAPER)
    step = timing.stepper(train.problem(PAPER, weights, generator, lambda index: {}))
    rounds = ROUNDS[PAPER.batch]
    times = alternated(pipe, lambda turn: "authors", lambda turn: seconds(step), rounds)
    what = f"Birth: training step, the authors' loop, {PAPER.batch} sequences"
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
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=plain_side, args=(there,), daemon=True
    )
    process.start()
    for sequences in ROUNDS:
        for positions in PLACES:
            yield gradient_row(here, positions, sequences)
    yield authors_row(here)
    here.send(None)
    task = make_task(K=5, T=T)
    generator = torch.Generator().manual_seed(0)
    rng = np.random.default_rng(0)
    ways = [lambda: plain_sample(task, 512, rng), lambda: sample(task, 512, generator)]
    yield compared("Birth: drawing 512 sequences", *by_turns(ways, 3))
    if timing.thorough:
        yield from precision_rows()

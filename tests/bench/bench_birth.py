"""How much faster the fast path is than the equations written down plainly; run by hand:

    python tests/bench/bench_birth.py

The plain gradient is autograd through `plain_loss`, full T x T scores in both layers, float32 at default precision;
the plain sampler draws token by token with numpy, as the authors' does. Plain and fast take turns, on one thread each,
and medians are compared, of processor time, which waiting for a core does not lengthen. The paper's batch is 512:
there the plain version's T x T maps outgrow cache and allocator. The plain side runs in a process of its own, which
has not been told to keep freed memory. Every round has a fresh batch, as in training.
"""

import multiprocessing
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))

from icl_core.papers.birth.shared.model import Weights, initialise
from icl_core.papers.birth.shared.task import Batch, Task, make_task, sample

ROUNDS, D = {64: 9, 512: 3}, 128  # rounds by batch size


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
    unigram, bigram = task.unigram.numpy(), task.bigram.numpy()
    sequences = []
    for _ in range(batch):
        triggers = rng.choice(task.N, task.K, replace=False, p=unigram)
        output = dict(zip(triggers.tolist(), rng.integers(task.N, size=task.K).tolist(), strict=True))
        sequence = [int(rng.choice(task.N, p=unigram))]
        while len(sequence) < task.T + 1:
            here = sequence[-1]
            sequence.append(output[here] if here in output else int(rng.choice(task.N, p=bigram[here])))
        sequences.append(sequence)
    return sequences


def seconds(work, *arguments) -> float:
    start = time.process_time()
    work(*arguments)
    return time.process_time() - start


def setting(positions: str, seed: int, sequences: int) -> tuple[Weights, Batch]:
    weights = initialise(65, D, 256, torch.Generator().manual_seed(0), "paper", with_F=positions == "all")
    return weights, sample(make_task(K=5, T=256), sequences, torch.Generator().manual_seed(seed))


def plain_side(pipe) -> None:
    torch.set_num_threads(1)
    while (order := pipe.recv()) is not None:
        pipe.send(seconds(plain_gradient, *setting(*order), order[0]))


def compare_gradients(pipe, positions: str, sequences: int) -> None:
    from icl_core.papers.birth.shared.gradient import loss_and_gradient

    plain, fast = [], []
    for seed in range(-1, ROUNDS[sequences]):  # one to warm up
        pipe.send((positions, seed + 10, sequences))
        plain.append(pipe.recv())
        fast.append(seconds(loss_and_gradient, *setting(positions, seed + 10, sequences), positions))
    report(f"gradient, {positions}, {sequences} sequences", plain[1:], fast[1:], 6 if positions == "in_context" else 3)


def compare_samplers() -> None:
    task, generator, rng = make_task(K=5, T=256), torch.Generator().manual_seed(0), np.random.default_rng(0)
    sample(task, 512, generator)
    plain = [seconds(plain_sample, task, 512, rng) for _ in range(3)]
    report("sampler, 512 sequences", plain, [seconds(sample, task, 512, generator) for _ in range(9)], 30)


def report(what: str, plain: list[float], fast: list[float], wanted: float) -> None:
    slow, quick = statistics.median(plain), statistics.median(fast)
    print(f"{what}: plain {slow:.3f} s, fast {quick:.3f} s, ratio {slow / quick:.1f} (wanted: {wanted})", flush=True)


def precision_error() -> None:
    from icl_core.papers.birth.shared.gradient import loss_and_gradient

    for positions in ("in_context", "all"):
        weights, batch = setting(positions, 3, 16)
        exact = loss_and_gradient(weights.to(torch.float64), batch, positions)[0]
        for precision in ("highest", "medium"):
            torch.set_float32_matmul_precision(precision)
            got = loss_and_gradient(weights, batch, positions)[0]
            errors = {name: float((got[name] - exact[name]).norm() / exact[name].norm()) for name in sorted(exact)}
            shown = ", ".join(f"{name} {error:.1e}" for name, error in errors.items())
            print(f"relative error of the gradient against float64, {positions}, {precision}: {shown}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    precision_error()
    torch.set_float32_matmul_precision(sys.argv[1] if len(sys.argv) > 1 else "medium")
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=plain_side, args=(there,), daemon=True)
    process.start()
    for size in ROUNDS:
        for which in ("in_context", "all"):
            compare_gradients(here, which, size)
    here.send(None)
    compare_samplers()

"""How much faster the iteration in R^d is than attention over tokens written down plainly; run by hand:

    python tests/bench/bench_memformers.py

One gradient of the LFOM Memformer (a number Γ a pair of layers, full A, L = 4, d = 5, n = 20), float32, the log of
the batch mean with sampled queries on both sides. The plain one is autograd through Z [b, d + 1, n + 1] and its
n × n attention, batch first, as the paper writes it and the authors' code has it. Plain and fast take turns, on one
thread, and medians are compared, of processor time, which waiting for a core does not lengthen.
"""

import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))

from icl_core.papers.memformers.shared.model import loss_and_gradient
from icl_core.papers.memformers.shared.settings import Model as Config
from icl_core.papers.memformers.shared.task import Batch, covariances
from icl_core.papers.memformers.shared.variants import Parameters, initial
from icl_core.regression import covariates, gram

ROUNDS = {1000: 15, 20_000: 5}  # by batch size; the fast one goes `OFTEN` times in each
OFTEN = 5
CONFIG = Config(variant="lfom", layers=4, d=5, n=20, coordinates="original")


def plain_gradient(
    parameters: Parameters, unit: torch.Tensor, Z: torch.Tensor, label: torch.Tensor
) -> tuple[float, Parameters]:
    """Equations 2.3 to 2.8, 3.3 and 3.4 as they stand. Z [b, d + 1, n + 1], label [b] the query's."""
    A, Gamma = (parameters[name][0].clone().requires_grad_() for name in ("A", "Gamma"))
    d, n = Z.shape[1] - 1, Z.shape[2] - 1
    M = torch.ones(n + 1).diag()
    M[n, n] = 0
    P = torch.zeros(d + 1, d + 1)
    P[d, d] = 1
    registers = []
    for layer in range(A.shape[1]):
        Q = torch.nn.functional.pad(-A[0, layer].T / unit, (0, 1, 0, 1))
        registers.append(P @ Z @ M @ (Z.mT @ Q @ Z))
        Z = Z + sum(Gamma[layer, j] * register for j, register in enumerate(registers)) / n
    loss = (-Z[:, d, n] - label).square().mean()
    return loss.item(), dict(zip(("A", "Gamma"), torch.autograd.grad(loss.log(), (A, Gamma)), strict=True))


def setting(config: Config, batch: int, seed: int) -> tuple[Parameters, torch.Tensor, Batch]:
    """Parameters, Σ^½ and a fresh batch."""
    generator = torch.Generator().manual_seed(seed)
    U = covariates(config.d, config.n, config.seeds * batch, generator, torch.float32)
    S, U = (torch.stack(each.split(batch, -1)) for each in (gram(U), U))
    target, query = torch.randn(2, config.seeds, config.d, batch, generator=generator)
    root = torch.stack([each.root for each in covariances(config)]).float()
    return initial(config, generator), root, Batch(S, target[:, :, None], U, query)


def by_tokens(root: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Σ's mean eigenvalue, Z_0 [b, d + 1, n + 1] and the query's label [b] of the first seed's prompts."""
    assert batch.U is not None and batch.query is not None
    U, query, target = batch.U[0], batch.query[0], batch.target[0, :, 0]
    X = root[0] @ torch.cat([U, query[:, None]], 1).permute(2, 0, 1)  # [b, d, n + 1]
    y = torch.cat([(U * target[:, None]).sum(0), torch.zeros(1, batch.prompts)]).T[:, None]  # [b, 1, n + 1]
    return root[0].square().sum() / len(root[0]), torch.cat([X, y], 1), (query * target).sum(0)


def seconds(work, *arguments, often: int = 1) -> float:
    start = time.process_time()
    for _ in range(often):
        work(*arguments)
    return (time.process_time() - start) / often


def agree() -> None:
    parameters, root, batch = setting(CONFIG, 1000, 0)
    slow, slow_gradient = plain_gradient(parameters, *by_tokens(root, batch))
    loss, gradient = loss_and_gradient(parameters, CONFIG, root, batch, "log")
    gaps = [float((gradient[n][0] - slow_gradient[n]).norm() / slow_gradient[n].norm()) for n in gradient]
    print(f"both find the loss {slow:.6f}, {float(loss):.6f}; their gradients differ by {max(gaps):.0e}")


def compare(batch: int, wanted: float) -> None:
    """Plain against fast with sampled queries, the same loss; and fast as it trains, with the query integrated out."""
    plain, fast, trained = [], [], []
    for seed in range(-1, ROUNDS[batch]):  # one to warm up
        parameters, root, prompts = setting(CONFIG, batch, seed + 1)
        plain.append(seconds(plain_gradient, parameters, *by_tokens(root, prompts)))
        for times, asked in ((fast, prompts), (trained, replace(prompts, query=None))):
            times.append(seconds(loss_and_gradient, parameters, CONFIG, root, asked, "log", often=OFTEN))
    slow, quick, quicker = (1000 * statistics.median(each[1:]) for each in (plain, fast, trained))
    print(
        f"gradient, batch {batch}: plain {slow:.1f} ms, fast {quick:.2f} ms, ratio {slow / quick:.0f}; query "
        f"integrated out {quicker:.2f} ms, ratio {slow / quicker:.0f} (wanted: {wanted})",
        flush=True,
    )


def compare_seeds(batch: int, wanted: float) -> None:
    """Five seeds in one pass against one."""
    times: dict[int, list[float]] = {1: [], 5: []}
    for seed in range(-1, 3 * ROUNDS[batch]):
        for seeds, found in times.items():
            config = replace(CONFIG, seeds=seeds)
            parameters, root, prompts = setting(config, batch, seed + 1)
            asked = replace(prompts, query=None)
            found.append(seconds(loss_and_gradient, parameters, config, root, asked, "log", often=OFTEN))
    one, five = (1000 * statistics.median(each[1:]) for each in times.values())
    print(f"seeds, batch {batch}: one {one:.2f} ms, five {five:.2f} ms, ratio {five / one:.2f} (wanted: {wanted})")


if __name__ == "__main__":
    torch.set_num_threads(1)
    agree()
    compare(1000, 25)
    compare(20_000, 120)
    compare_seeds(1000, 2)
    compare_seeds(20_000, 5)

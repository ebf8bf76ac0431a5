"""Memformers: the iteration in R^d beside attention over tokens written down plainly.

One gradient of the LFOM Memformer (a number Γ a pair of layers, full A, L = 4, d = 5, n = 20),
float32, the log of the batch mean with sampled queries on both sides. The plain one is autograd
through Z [b, d + 1, n + 1] and its n × n attention, batch first, as the paper writes it.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import torch

from icl_core.in_context_regression import covariates, gram
from icl_core.papers.memformers.shared import task, train
from icl_core.papers.memformers.shared.model import loss_and_gradient
from icl_core.papers.memformers.shared.settings import Model as Config
from icl_core.papers.memformers.shared.task import Batch, covariances
from icl_core.papers.memformers.shared.variants import Parameters, initial
from tests.bench import authors, in_jax, timing
from tests.bench.timing import Row, Work, by_turns, compared, in_words, short

ROUNDS = {1000: 15, 20_000: 5}  # by batch size; the fast one goes `OFTEN` times in each
OFTEN = 5
CONFIG = Config(variant="lfom", layers=4, d=5, n=20, coordinates="original")
SIZE = "L = 4, d = 5, n = 20"


def plain_loss(
    A: torch.Tensor, Gamma: torch.Tensor, unit: torch.Tensor, Z: torch.Tensor, label: torch.Tensor
) -> torch.Tensor:
    """Equations 2.3 to 2.8, 3.3 and 3.4 as they stand. Z [b, d + 1, n + 1], label [b]
    the query's."""
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
    return (-Z[:, d, n] - label).square().mean()


def plain_gradient(
    parameters: Parameters,
    unit: torch.Tensor,
    Z: torch.Tensor,
    label: torch.Tensor,
    loss_of: Callable[..., torch.Tensor] = plain_loss,
) -> tuple[float, Parameters]:
    """By autograd through the tokens."""
    A, Gamma = (parameters[name][0].clone().requires_grad_() for name in ("A", "Gamma"))
    loss = loss_of(A, Gamma, unit, Z, label)
    gradients = torch.autograd.grad(loss.log(), (A, Gamma))
    return loss.item(), dict(zip(("A", "Gamma"), gradients, strict=True))


def setting(config: Config, batch: int, seed: int) -> tuple[Parameters, torch.Tensor, Batch]:
    """Parameters, Σ^½ and a fresh batch."""
    generator = torch.Generator().manual_seed(seed)
    U = covariates(config.d, config.n, config.seeds * batch, generator, torch.float32)
    S, U = (torch.stack(tensor.split(batch, -1)) for tensor in (gram(U), U))
    target, query = torch.randn(2, config.seeds, config.d, batch, generator=generator)
    root = torch.stack([covariance.root for covariance in covariances(config)]).float()
    return initial(config, generator), root, Batch(S, target[:, :, None], U, query)


def by_tokens(root: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Σ's mean eigenvalue, Z_0 [b, d + 1, n + 1] and the query's label [b] of the first seed's
    prompts."""
    assert batch.U is not None and batch.query is not None
    U = batch.U[0]
    query = batch.query[0]
    target = batch.target[0, :, 0]
    X = root[0] @ torch.cat([U, query[:, None]], 1).permute(2, 0, 1)  # [b, d, n + 1]
    y = torch.cat([(U * target[:, None]).sum(0), torch.zeros(1, batch.prompts)])  # [n + 1, b]
    y = y.T[:, None]  # [b, 1, n + 1]
    return root[0].square().sum() / len(root[0]), torch.cat([X, y], 1), (query * target).sum(0)


def often(work: Work) -> Work:
    """What takes too little time to be measured once."""

    def several(*arguments: object) -> None:
        for _ in range(OFTEN):
            work(*arguments)

    return several


def gradient_rows(prompts: int) -> Iterator[Row]:
    """Plain against fast with sampled queries, the same loss; and fast as it trains, with the query
    integrated out."""

    def fresh(turn: int) -> tuple:
        parameters, root, batch = setting(CONFIG, prompts, turn)
        return parameters, root, batch, by_tokens(root, batch)

    def fast(parameters: Parameters, root: torch.Tensor, batch: Batch, tokens: tuple) -> None:
        loss_and_gradient(parameters, CONFIG, root, batch, "log")

    def without_query(
        parameters: Parameters, root: torch.Tensor, batch: Batch, tokens: tuple
    ) -> None:
        fast(parameters, root, replace(batch, query=None), tokens)

    def slow(parameters: Parameters, root: torch.Tensor, batch: Batch, tokens: tuple) -> None:
        plain_gradient(parameters, *tokens)

    compiled_loss = torch.compile(plain_loss)

    def compiled(parameters: Parameters, root: torch.Tensor, batch: Batch, tokens: tuple) -> None:
        plain_gradient(parameters, *tokens, loss_of=compiled_loss)

    ways: dict[str, Work] = {"plain": slow, "torch.compile": compiled}
    if in_jax.is_there():
        in_jax_gradient = in_jax.memformer(CONFIG.d, CONFIG.n, CONFIG.layers)

        def jax(parameters: Parameters, root: torch.Tensor, batch: Batch, tokens: tuple) -> None:
            unit, Z, label = (part.numpy() for part in tokens)
            in_jax_gradient(
                (parameters["A"][0].numpy(), parameters["Gamma"][0].numpy()), unit, Z, label
            )

        ways["JAX"] = jax
    every = [*ways.values(), often(fast), often(without_query)]
    *others, sampled, integrated = by_turns(every, ROUNDS[prompts], fresh)
    given = fresh(0)
    what = f"Memformers: gradient, {prompts:,} prompts"
    for name, seconds in zip(ways, others, strict=True):
        beside = f", beside {name}" if name != "plain" else ""
        yield compared(
            f"{what}, queries sampled{beside}",
            seconds,
            sampled / OFTEN,
            name,
            work=lambda: fast(*given),
        )
    yield compared(
        f"{what}, queries integrated out",
        others[0],
        integrated / OFTEN,
        work=lambda: without_query(*given),
    )


def authors_row(prompts: int) -> Row:
    config = replace(CONFIG, batch=prompts, steps=1000)
    root = task.roots(config)
    parameters = initial(config, torch.Generator().manual_seed(0))
    problem = train.problem(config, parameters, root, train.Batches(config), lambda step: {})
    loop = authors.memformers(config.d, config.n, config.layers, prompts, task.PAPER)
    theirs, ours = by_turns([loop, often(timing.stepper(problem))], ROUNDS[prompts])
    what = f"Memformers: training step, the authors' loop, {prompts:,} prompts"
    return compared(what, theirs, ours / OFTEN, "theirs", "; fresh prompts here, kept ones there")


def segment_row(variant: str, prompts: int) -> Row:
    config = replace(CONFIG, variant=variant, batch=prompts, steps=timing.STEPS)
    of_both = partial(train.begin, config)
    return timing.segment_row(
        f"Memformers: training step in segments, {variant}, {prompts:,} prompts",
        lambda: (of_both().problem, train.with_segments(of_both())),
        ROUNDS[prompts],
    )


def seeds_row(prompts: int) -> Row:
    """Five seeds in one pass against one."""
    ways: list[Work] = []
    for seeds in (1, 5):
        config = replace(CONFIG, seeds=seeds)
        parameters, root, batch = setting(config, prompts, 0)
        batch = replace(batch, query=None)
        ways.append(often(partial(loss_and_gradient, parameters, config, root, batch, "log")))
    one, five = by_turns(ways, 3 * ROUNDS[prompts])
    what = f"Memformers: five seeds in one pass, {prompts:,} prompts"
    remark = f"one {in_words(one / OFTEN)}, five {in_words(five / OFTEN)}"
    return what, f"{short(five / one)} times one", remark


def agreement_row() -> Row:
    """That both forms find the same."""
    parameters, root, batch = setting(CONFIG, 1000, 0)
    slow = plain_gradient(parameters, *by_tokens(root, batch))[1]
    fast = loss_and_gradient(parameters, CONFIG, root, batch, "log")[1]
    gap = max(float((fast[name][0] - slow[name]).norm() / slow[name].norm()) for name in fast)
    return "Memformers: gradients differ by", f"{gap:.0e}", f"plain and fast, {SIZE}"


def rows() -> Iterator[Row]:
    """See the head of this file."""
    for prompts in ROUNDS:
        yield from gradient_rows(prompts)
        yield authors_row(prompts)
        yield segment_row("linear", prompts)
        yield segment_row("lfom", prompts)
    for prompts in ROUNDS:
        yield seeds_row(prompts)
    if timing.thorough:
        yield agreement_row()

"""The training of the model of Theorem 3's proof on sequences that ask for one answer, at their
end."""

from functools import partial

import torch
from torch.nn import functional as F

from icl_core.machine import device
from icl_core.papers.birth.length.settings import Config, occurrences
from icl_core.papers.birth.shared import probes
from icl_core.papers.birth.shared.accuracy import hits
from icl_core.papers.birth.shared.model import initialise
from icl_core.papers.birth.shared.proof_model import (
    MATRICES,
    Drawn,
    forward,
    sample,
    sample_repeated,
    tables,
)
from icl_core.papers.birth.shared.task import make_task
from icl_core.training import loop

HELD_OUT = 1024  # sequences at each evaluation


def draw(config: Config, T: int, batch: int, generator: torch.Generator) -> Drawn:
    """Return `batch` fresh sequences of T tokens: those of Theorem 3 where one trigger has come
    once."""
    times = occurrences(config, T)
    if times == config.K == 1:
        return sample(config.N, T, batch, generator)
    return sample_repeated(config.N, T, config.K, times, batch, generator)


def problem(config: Config, optimiser: str, T: int, seed: int) -> loop.Problem:
    """Return the training of W_O2, W_K2 and W_K1 together, from N(0, 1/d) vectors and matrices.

    It is that of an optimiser of `OPTIMISERS` at length T, the `seed`-th. Its evaluations measure
    the accuracy on held-out sequences, and the recall of W_K2 and of W_K1's early positions.
    """
    number = (config.seed + seed) % 100
    of_weights = torch.Generator().manual_seed(number)
    weights = initialise(config.N, config.d, T, of_weights, "paper").to(device.current_device())
    generator = torch.Generator().manual_seed(10_000 + number)
    held_out = draw(config, T, HELD_OUT, torch.Generator().manual_seed(2**31 + 17))
    task = make_task(N=config.N, K=1, T=T)

    def step(index: int) -> tuple[dict[str, torch.Tensor], loop.Measures]:
        sequences = draw(config, T, config.batch, generator)
        matrices = {name: getattr(weights, name).detach().requires_grad_() for name in MATRICES}
        logits, _ = forward(tables(weights.with_(**matrices)), sequences.tokens)  # (batch, N)
        loss = F.cross_entropy(logits, sequences.answers)
        gradients = torch.autograd.grad(loss, list(matrices.values()))
        by_name = dict(zip(matrices, gradients, strict=True))
        return by_name, {"in_context_loss": float(loss.detach())}

    @torch.no_grad()
    def watch(index: int) -> dict[str, float]:
        logits, _ = forward(tables(weights), held_out.tokens)  # (HELD_OUT, N)
        recalls = probes.recalls(weights, task)
        return {
            "accuracy": float(hits(logits, held_out.answers).double().mean()),
            "W_K2": recalls["W_K2"],
            "W_K1": recalls["W_K1_early"],
        }

    parameters = {name: getattr(weights, name) for name in MATRICES}
    make_optimiser = partial(_optimiser, config, optimiser)
    return loop.Problem(parameters, step, watch, make_optimiser, (generator,))


def _optimiser(config: Config, name: str, parameters: list[torch.Tensor]) -> torch.optim.Optimizer:
    """Return SGD with momentum, or AdamW without decay, at the rate of the settings."""
    if name == "sgd":
        return torch.optim.SGD(parameters, lr=config.proof_sgd_rate, momentum=0.9)
    return torch.optim.AdamW(parameters, lr=config.proof_adamw_rate, weight_decay=0.0)

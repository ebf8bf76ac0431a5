"""Train all seeds at once, and measure on held-out sequences how they predict and where they
look."""

from functools import partial

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Progress, Tensors, compact, names
from icl_core.contract.seeds import other_seeds
from icl_core.papers.birth.counting import model
from icl_core.papers.birth.counting.model import (
    STRATEGIES,
    draw_chains,
    followers,
    predictions,
    sample,
    walk,
)
from icl_core.papers.birth.counting.settings import EVALUATED, Config
from icl_core.training import loop, phases, several_seeds

EVERY = 5  # steps between evaluations at first
DENSE = 60  # and how many of these
WATCHED = 128  # held-out sequences at each evaluation during training
HELD_OUT = 2**31 + 17  # the seed of both
PATH = ("kl_uniform", "kl_unigram", "kl_bigram", "previous")  # along which the snapshots lie


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train every seed. Return:

    curve/…              [seeds, evaluations]: `loss`, `kl_…` to each strategy, `previous` and
                         `followers`, see `measures`
    evaluated/…          [seeds], the same on more sequences
    evaluated/loss_at    [seeds, T], by position
    baseline/loss_…_at   [T], the loss of each strategy there
    baseline/loss_chain  [1], the loss of who knows the chain
    baseline/even_…      [1], where even attention would look
    snapshot/…, final/…  parameters of the first seed; of the others seed/<number>/final/…

    Raises `Cancelled`.
    """
    only = phases.Phase("counting", config.steps, partial(_train, config), partial(_curves, config))
    return phases.run([only], progress, _live, preview=_preview)["counting"]


def _train(config: Config, resumed: Tensors, report: phases.Report) -> dict[str, np.ndarray]:
    seeds = range(config.seed, config.seed + config.seeds)
    starts = [
        model.initialise(config.k, config.d, config.T, config.layers, _generator(seed))
        for seed in seeds
    ]
    # (seeds, …) each
    parameters = {name: torch.stack([start[name] for start in starts]) for name in starts[0]}
    generators = tuple(_generator(10_000 + seed) for seed in seeds)
    watched = held_out(config, WATCHED)

    def gradient(step: int):
        batches = [
            sample(config.batch, config.T + 1, config.k, config.chains, generator)
            for generator in generators
        ]
        tokens = torch.stack(batches)  # (seeds, batch, T + 1)
        leaves = several_seeds.leaves(parameters)
        logits, _ = model.forward(leaves, tokens[..., :-1])
        losses = cross_entropy(logits, tokens[..., 1:]).mean((1, 2))  # (seeds,)
        return several_seeds.gradients(losses, leaves), {"loss": losses.detach().numpy()}

    def evaluate(step: int):
        values = measures(config, parameters, watched)  # (seeds, sequences, T) each
        return {name: value.mean((1, 2)).numpy() for name, value in values.items()}

    adam = partial(torch.optim.AdamW, lr=config.learning_rate, weight_decay=0.0)
    problem = loop.Problem(parameters, gradient, evaluate, adam, generators, loss="loss")
    evaluations = loop.evaluations(config.steps, EVERY, DENSE)
    state = loop.train(problem, config.steps, evaluations, resumed, report)
    return {
        **_curves(config, state),
        **state.batches(),
        **_kept(state),
        **_evaluated(config, parameters),
    }


def _live(results: phases.Made) -> Tensors:
    """Return what there is to draw of a run that is still going."""
    return {
        name: array
        for name, array in results["counting"].items()
        if name.startswith(("curve/", "names/"))
    }


def _preview(results: phases.Made) -> Tensors:
    """Return the first seed's parameters as they are now."""
    tensors = results["counting"]
    final = {f"final/{name}": array[0] for name, array in phases.final(tensors).items()}
    return {
        "snapshot/step": tensors["snapshot/step"],
        "names/strategies": names(STRATEGIES),
        **final,
    }


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def held_out(config: Config, sequences: int) -> Tensor:
    """Return sequences that no training saw, the same for every seed, [sequences, T + 1]."""
    return sample(sequences, config.T + 1, config.k, config.chains, _generator(HELD_OUT))


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Return −ln p of the target at every position, in nats."""
    return -logits.log_softmax(-1).gather(-1, targets[..., None])[..., 0]


@torch.no_grad()
def measures(config: Config, parameters: model.Parameters, tokens: Tensor) -> dict[str, Tensor]:
    """Return measures of the model at every position of the sequences [sequences, T + 1], [seeds,
    sequences, T] each.

    loss       in nats
    kl_…       the divergence of the model from each strategy, KL(strategy || model), in nats
    previous   the attention of layer 1 on the position before, [seeds, sequences, T - 1]
    followers  the attention of the last layer on what followed the query's state before; it is 0
               where there is none, and scaled so that its mean is the one over the other positions
    """
    inputs = tokens[:, :-1]
    seeds = len(parameters["W_E"])
    logits, maps = model.forward(parameters, inputs.expand(seeds, -1, -1))
    log_p = logits.double().log_softmax(-1)  # (seeds, sequences, T, k)
    values = {"loss": cross_entropy(logits, tokens[:, 1:].expand(seeds, -1, -1))}
    for name, p in predictions(inputs, config.k).items():
        values[f"kl_{name}"] = (p * (p.log() - log_p)).sum(-1)
    is_follower = followers(inputs)  # (sequences, T, T)
    has_any = is_follower.any(-1)
    scale = (has_any / has_any.float().mean()).to(maps[0])
    values["followers"] = (maps[-1] * is_follower).sum(-1) * scale
    values["previous"] = maps[0].diagonal(-1, -2, -1)
    return values


def _evaluated(config: Config, parameters: model.Parameters) -> dict[str, np.ndarray]:
    """Return what the trained model achieves on more sequences, and what there is to compare it
    with."""
    tokens = held_out(config, EVALUATED)
    values = measures(config, parameters, tokens)
    strategies = predictions(tokens[:, :-1], config.k)
    losses = {name: cross_entropy(p.log(), tokens[:, 1:]) for name, p in strategies.items()}
    is_follower = followers(tokens[:, :-1])  # (sequences, T, T)
    t = torch.arange(1, config.T + 1)
    even = (is_follower.sum(-1) / t)[is_follower.any(-1)].mean()
    return {
        **{f"evaluated/{name}": value.mean((1, 2)).numpy() for name, value in values.items()},
        "evaluated/loss_at": values["loss"].mean(1).numpy(),
        **{f"baseline/loss_{name}_at": value.mean(0).numpy() for name, value in losses.items()},
        "baseline/loss_chain": np.array([_of_the_chain(config)]),
        "baseline/even_followers": np.array([float(even)]),
        "baseline/even_previous": np.array([float((1 / t[1:]).mean())]),
    }


def _of_the_chain(config: Config) -> float:
    """Return the loss of who knows the chain, on the held-out sequences, in nats."""
    generator = _generator(HELD_OUT)
    chains = draw_chains(EVALUATED, config.k, config.chains, generator)
    tokens = walk(chains, config.T + 1, generator)
    rows = torch.arange(EVALUATED)[:, None]
    p = chains[rows, tokens[:, :-1], tokens[:, 1:]]  # (sequences, T)
    return float(-p.log().mean())


def _kept(state: loop.State) -> dict[str, np.ndarray]:
    """Return snapshots of the first seed, in a byte an entry, and its last parameters as they are;
    the last parameters of the others."""
    snapshots = state.snapshot_arrays(loop.spread(state.moving(*PATH)))  # (snapshots, seeds, …)
    tensors = {"snapshot/step": snapshots["snapshot/step"]}
    final = phases.final(snapshots)  # (seeds, …) each
    for name, array in final.items():
        tensors[f"final/{name}"] = array[0]
        tensors |= compact(name, snapshots[f"snapshot/{name}"][:, 0])
    seeds = len(next(iter(final.values())))
    others = {
        index + 1: {f"final/{name}": array[index] for name, array in final.items()}
        for index in range(1, seeds)
    }
    return {**tensors, **other_seeds(others)}


def _curves(config: Config, state: loop.State) -> dict[str, np.ndarray]:
    return {
        "names/strategies": names(STRATEGIES),
        **state.curves(loop.evaluations(config.steps, EVERY, DENSE)),
    }

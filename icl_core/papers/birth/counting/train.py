"""Trains all seeds at once, and measures on held-out sequences how they predict and where they
look."""

from functools import partial

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Progress, Tensors, compact, names
from icl_core.contract.seeds import other_seeds
from icl_core.papers.birth.counting import model
from icl_core.papers.birth.counting.markov_chains import (
    STRATEGIES,
    draw_chains,
    followers,
    predictions,
    sample,
    walk,
)
from icl_core.papers.birth.counting.settings import EVALUATED, Config
from icl_core.training import loop, phases, several_seeds

EVERY, DENSE = 5, 60  # steps between evaluations at first, and how many of these
WATCHED = 128  # held-out sequences at each evaluation during training
HELD_OUT = 2**31 + 17  # the seed of both
PATH = ("kl_uniform", "kl_unigram", "kl_bigram", "previous")  # along which the snapshots lie


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """`curve/*` [seeds, evaluations]: `loss`, `kl_*` to each strategy, `previous` and `followers`;
    `evaluated/*` the same on more sequences, and by position [seeds, T] `evaluated/loss_at`;
    `baseline/*`, what the strategies and the chain itself achieve there and where even attention
    would look; `snapshot/*` and `final/*` of the first seed; of the others `seed/<number>/final/*`.
    """
    only = phases.Phase("counting", config.steps, partial(_train, config), partial(_curves, config))
    return phases.run([only], progress, _live, preview=_preview)["counting"]


def _train(config: Config, resumed: Tensors, report: phases.Report) -> dict[str, np.ndarray]:
    seeds = range(config.seed, config.seed + config.seeds)
    first = [
        model.initialise(config.k, config.d, config.T, config.layers, _generator(seed))
        for seed in seeds
    ]
    parameters = {name: torch.stack([each[name] for each in first]) for name in first[0]}
    generators = tuple(_generator(10_000 + seed) for seed in seeds)
    watched = held_out(config, WATCHED)

    def gradient(step: int):
        tokens = torch.stack(
            [sample(config.batch, config.T + 1, config.k, config.chains, g) for g in generators]
        )
        leaves = several_seeds.leaves(parameters)
        losses = cross_entropy(model.forward(leaves, tokens[..., :-1])[0], tokens[..., 1:]).mean(
            (1, 2)
        )
        return several_seeds.gradients(losses, leaves), {"loss": losses.detach().numpy()}

    def evaluate(step: int):
        return {
            name: value.mean((1, 2)).numpy()
            for name, value in measures(config, parameters, watched).items()
        }

    adam = partial(torch.optim.AdamW, lr=config.learning_rate, weight_decay=0.0)
    problem = loop.Problem(parameters, gradient, evaluate, adam, generators, loss="loss")
    state = loop.train(
        problem, config.steps, loop.evaluations(config.steps, EVERY, DENSE), resumed, report
    )
    return {
        **_curves(config, state),
        **state.batches(),
        **_kept(state),
        **_evaluated(config, parameters),
    }


def _live(made: phases.Made) -> Tensors:
    """What there is to draw of a run that is still going."""
    return {
        name: array
        for name, array in made["counting"].items()
        if name.startswith(("curve/", "names/"))
    }


def _preview(made: phases.Made) -> Tensors:
    """The first seed's parameters as they are now."""
    now = made["counting"]
    final = {f"final/{name}": array[0] for name, array in phases.final(now).items()}
    return {
        "snapshot/step": now["snapshot/step"],
        "names/strategies": names(STRATEGIES),
        **final,
    }


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def held_out(config: Config, sequences: int) -> Tensor:
    """Sequences that no training saw, the same for every seed, [sequences, T + 1]."""
    return sample(sequences, config.T + 1, config.k, config.chains, _generator(HELD_OUT))


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """−ln p of the target at every position, in nats."""
    return -logits.log_softmax(-1).gather(-1, targets[..., None])[..., 0]


@torch.no_grad()
def measures(config: Config, parameters: model.Parameters, tokens: Tensor) -> dict[str, Tensor]:
    """At every position of the sequences [sequences, T + 1], [seeds, sequences, T]: the loss; the
    divergence of the model from each strategy, KL(strategy || model), in nats; the attention of
    layer 1 on the position before (`previous`) and of the last layer on what followed the query's
    state before (`followers`), NaN where there is none."""
    inputs, seeds = tokens[:, :-1], len(parameters["W_E"])
    logits, maps = model.forward(parameters, inputs.expand(seeds, -1, -1))
    log_p, strategies = logits.double().log_softmax(-1), predictions(inputs, config.k)
    found = {"loss": cross_entropy(logits, tokens[:, 1:].expand(seeds, -1, -1))}
    found |= {f"kl_{name}": (p * (p.log() - log_p)).sum(-1) for name, p in strategies.items()}
    where = followers(inputs)
    there = (where.any(-1) / where.any(-1).float().mean()).to(
        maps[0]
    )  # the mean is over positions that have any
    found["followers"] = (maps[-1] * where).sum(-1) * there
    found["previous"] = maps[0].diagonal(-1, -2, -1)
    return found


def _evaluated(config: Config, parameters: model.Parameters) -> dict[str, np.ndarray]:
    """What the trained model achieves on more sequences, and what there is to compare it with."""
    tokens = held_out(config, EVALUATED)
    found = measures(config, parameters, tokens)
    strategies = predictions(tokens[:, :-1], config.k)
    losses = {name: cross_entropy(p.log(), tokens[:, 1:]) for name, p in strategies.items()}
    where, t = followers(tokens[:, :-1]), torch.arange(1, config.T + 1)
    even = (where.sum(-1) / t)[where.any(-1)].mean()
    return {
        **{f"evaluated/{name}": value.mean((1, 2)).numpy() for name, value in found.items()},
        "evaluated/loss_at": found["loss"].mean(1).numpy(),
        **{f"baseline/loss_{name}_at": value.mean(0).numpy() for name, value in losses.items()},
        "baseline/loss_chain": np.array([_of_the_chain(config)]),
        "baseline/even_followers": np.array([float(even)]),
        "baseline/even_previous": np.array([float((1 / t[1:]).mean())]),
    }


def _of_the_chain(config: Config) -> float:
    """The loss of who knows the chain, on the held-out sequences."""
    generator = _generator(HELD_OUT)
    chains = draw_chains(EVALUATED, config.k, config.chains, generator)
    tokens = walk(chains, config.T + 1, generator)
    return float(
        -chains[torch.arange(EVALUATED)[:, None], tokens[:, :-1], tokens[:, 1:]].log().mean()
    )


def _kept(state: loop.State) -> dict[str, np.ndarray]:
    """Snapshots of the first seed, in a byte an entry, and its last parameters as they are; the
    last parameters of the others."""
    kept = state.snapshot_arrays(loop.spread(state.moving(*PATH)))
    found = {"snapshot/step": kept["snapshot/step"]}
    final = {f"final/{name}": array for name, array in phases.final(kept).items()}
    for name, array in final.items():
        parameter = name.removeprefix("final/")
        found[name] = array[0]
        found |= compact(parameter, kept[f"snapshot/{parameter}"][:, 0])
    seeds = len(next(iter(final.values())))
    others = {
        index + 1: {name: array[index] for name, array in final.items()}
        for index in range(1, seeds)
    }
    return {**found, **other_seeds(others)}


def _curves(config: Config, state: loop.State) -> dict[str, np.ndarray]:
    return {
        "names/strategies": names(STRATEGIES),
        **state.curves(loop.evaluations(config.steps, EVERY, DENSE)),
    }

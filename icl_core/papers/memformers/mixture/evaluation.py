"""What heads and gates on prompts of one component each lose on fresh prompts, and what Theorem 4.1
says of them."""

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Tensors, names
from icl_core.papers.memformers.mixture import components, token_heads
from icl_core.papers.memformers.mixture.protocol import KINDS, METHODS, expected, heads_of
from icl_core.papers.memformers.mixture.settings import Config, mixture_of
from icl_core.papers.memformers.shared.variants import Parameters
from icl_core.training import phases
from icl_core.training.phases import Made

Losses = tuple[
    Tensor, Tensor
]  # of every component, [seeds, M]: the mean over fresh prompts, and its variance


def results(config: Config, by_phase: Made) -> dict[str, np.ndarray]:
    """Return for each of `names/methods`, on the prompts met `own/<id>` and on fresh ones
    `evaluated/<id>` with `error/<id>` of its logarithm [seeds, K]; by component `component/<id>`
    [seeds, K, M]; `gate/<id>` [seeds, K, H]; `learning/<id>` [seeds, points] at `learning/step`. Of
    each kind, on every component, `head/<kind>`, the head that learned it, alone, and
    `one_hot/<kind>`, all heads with its gate one and the others zero, [seeds, K, M]; and with gates
    learned on that component `picked/<kind>` [seeds, M] and `pick/<kind>` [seeds, M, H]."""
    depths = range(1, config.layers + 1)
    by_depth = [_at_depth(config, by_phase, depth) for depth in depths]
    stacked = {name: np.stack([each[name] for each in by_depth], 1) for name in by_depth[0]}
    deepest = {method: _rows(config, by_phase, method, config.layers) for method in METHODS}
    return {
        "names/methods": names(METHODS),
        "names/kinds": names(KINDS),
        "depth/layers": np.array(depths),
        "baseline/zero": np.array(components.nothing_learned(config)),
        "learning/step": deepest[METHODS[0]]["learning/step"],
        **{f"learning/{method}": part["learning"] for method, part in deepest.items()},
        **stacked,
        **_picked(config, by_phase),
    }


def _at_depth(config: Config, by_phase: Made, depth: int) -> dict[str, np.ndarray]:
    tensors: dict[str, Tensor] = {}
    weights = torch.tensor(mixture_of(config).weights)
    for method in METHODS:
        part = _rows(config, by_phase, method, depth)
        heads = heads_of(config, by_phase[f"{method.partition('/')[0]} {depth}"])
        learned = {name: torch.tensor(array) for name, array in phases.final(part).items()}
        mean, variance = fresh(config, token_heads.gated({**heads, **learned}, learned["gates"]))
        total = mean @ weights
        tensors |= {f"component/{method}": mean, f"evaluated/{method}": total}
        tensors |= {
            f"error/{method}": (variance @ weights.square()).sqrt() / total,
            f"gate/{method}": learned["gates"],
        }
        tensors |= {f"own/{method}": torch.tensor(part["own"])}
    for kind in KINDS:
        tensors |= _heads(config, kind, heads_of(config, by_phase[f"{kind} {depth}"]))
    return {name: value.cpu().numpy().astype(np.float32) for name, value in tensors.items()}


def _rows(config: Config, by_phase: Made, method: str, depth: int) -> Tensors:
    """Return what was learned at test time of one method, of the rows that its kind's phase holds:
    gates alone stand first."""
    kind, _, what = method.partition("/")
    rows = slice(config.seeds, None) if what == "adapted" else slice(config.seeds)
    part = by_phase[f"{kind} gates {depth}"]
    return {name: array if name == "learning/step" else array[rows] for name, array in part.items()}


def _heads(config: Config, kind: str, heads: Parameters) -> dict[str, Tensor]:
    """Return what every head loses on its own component: by itself, as if there were no other, and
    picked among all by its gate."""
    H = heads["P"].shape[1]
    alone = [
        token_heads.gated(
            {name: value[:, m : m + 1] for name, value in heads.items()},
            torch.ones(config.seeds, 1),
        )
        for m in range(H)
    ]
    picked = [token_heads.gated(heads, torch.eye(H)[m].expand(config.seeds, H)) for m in range(H)]
    rows = {
        name: torch.stack([_on(config, layers, m)[0] for m, layers in enumerate(every)], 1)
        for name, every in (("head", alone), ("one_hot", picked))
    }
    return {f"{name}/{kind}": value for name, value in rows.items()}


def _picked(config: Config, by_phase: Made) -> dict[str, np.ndarray]:
    """Return what gates learned on a single component lose there."""
    tensors = {}
    for kind in KINDS:
        gates = torch.tensor(by_phase[f"{kind} picked"]["final/gates"])  # [seeds, M, H]
        heads = heads_of(config, by_phase[f"{kind} {config.layers}"])
        losses = [
            _on(config, token_heads.gated(heads, gates[:, m]), m)[0] for m in range(gates.shape[1])
        ]
        tensors |= {
            f"pick/{kind}": gates.numpy(),
            f"picked/{kind}": torch.stack(losses, 1).numpy().astype(np.float32),
        }
    return tensors


def fresh(config: Config, layers: token_heads.Layers) -> Losses:
    """Return what layers lose on fresh prompts of every component."""
    pairs = [_on(config, layers, m) for m in range(len(mixture_of(config).components))]
    mean, variance = zip(*pairs, strict=True)
    return torch.stack(mean, 1), torch.stack(variance, 1)


def _on(config: Config, layers: token_heads.Layers, component: int) -> Losses:
    """Return what layers lose on fresh prompts of one component: the mean [seeds] and the variance
    of that mean."""
    second = mixture_of(config).components[component].second
    every = torch.cat(
        [expected(layers, x, second) for x in components.fresh(config, component)], 1
    ).double()
    return every.mean(1).float(), (every.var(1) / every.shape[1]).float()

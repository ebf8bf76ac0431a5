"""What is learned at test time on prompts of the mixture, and what it is compared with."""

import numpy as np
import torch
from torch import Tensor

from icl_core import device
from icl_core.papers.memformers.mixture import train as learning
from icl_core.papers.memformers.mixture.settings import Config, mixture_of
from icl_core.papers.memformers.shared import experts, judging, variants
from icl_core.papers.memformers.shared.experts import Adapted, Heads
from icl_core.papers.memformers.shared.task import Batch, gaussian
from icl_core.regression import conjugate_gradient, floors, sampled_loss
from icl_core.training import phases

SEEN = (0.0, 3.0, 121)  # of S / E x², where the polynomials are drawn
Way = tuple[str, Tensor, Tensor, Adapted | None]


def heads_of(config: Config, made: phases.Made, kind: str, depth: int) -> tuple[Heads, Heads]:
    """The components' heads in units of the mixture's E x², and what was trained on the mixture itself."""
    part = {name: torch.tensor(array) for name, array in phases.final(made[f"{kind} {depth}"]).items()}
    Gamma = variants.coefficients(part, kind).reshape(config.seeds, -1, depth, depth)
    A = part["A"].sum(1).reshape(config.seeds, -1, depth, 1, 1)
    mixture = mixture_of(config)
    moved = [mixture.second / each.second for each in mixture.components]
    place = device.device()
    scale = torch.tensor(moved)[None, :, None, None, None]
    heads = Heads(Gamma[:, :-1].to(place), (A[:, :-1] * scale).to(place))
    return heads, Heads(Gamma[:, -1:].to(place), A[:, -1:].to(place))


def tried(config: Config, made: phases.Made, depth: int) -> dict[str, np.ndarray]:
    """Everything that is learned at test time, at one depth, and what it is compared with."""
    fresh = judged_prompts(config)
    batch = met(config)
    at = torch.linspace(*SEEN).to(fresh)
    found: dict[str, np.ndarray] = {}
    for kind in learning.KINDS:
        heads, alone = heads_of(config, made, kind, depth)
        for way, gates, Gamma, done in _ways(config, kind, heads, alone, batch):
            own = alone if way == "mixture" else heads
            table = experts.table(gates, Gamma, own.A)
            mean, error = judging.mean_and_log_error(learning.losses(table, fresh[None, None, None]))
            found |= {f"judged/{kind}/{way}": mean.cpu().numpy(), f"error/{kind}/{way}": error.cpu().numpy()}
            found[f"shape/{kind}/{way}"] = learning.losses(table, at[None, None, None]).sqrt().cpu().numpy()
            if done is not None:
                found[f"gate/{kind}/{way}"] = gates.cpu().numpy()
                found[f"learning/{kind}/{way}"] = done.losses.T.cpu().numpy()
        found |= _each_head(config, kind, heads, batch, fresh)
    return {name: array.astype(np.float32) for name, array in found.items()}


def _ways(config: Config, kind: str, heads: Heads, alone: Heads, batch: Batch) -> list[Way]:
    """Name, gates, Γ and, where something was learned, how."""
    even = experts.starts(heads)["even"]
    gated = experts.adapt(heads, batch, config.gate_steps, False, even)
    ways: list[Way] = [
        ("gated", gated.gates, gated.Gamma, gated),
        ("even", even, heads.Gamma, None),
        ("mixture", torch.ones_like(even[:, :1]), alone.Gamma, None),
    ]
    if kind == "lfom":
        both = experts.adapt(heads, batch, config.gate_steps, True, even)
        ways.append(("adapted", both.gates, both.Gamma, both))
    return ways


def _each_head(config: Config, kind: str, heads: Heads, batch: Batch, fresh: Tensor) -> dict[str, np.ndarray]:
    """Every head alone, [seeds, H], as it is and with one scalar; and the best of these on the batch."""
    scalars, best = experts.one_scalar(heads, batch, config.gate_steps)

    def judge(gates: Tensor) -> np.ndarray:
        losses = learning.losses(experts.table(gates, heads.Gamma, heads.A), fresh[None, None, None])
        return losses.double().mean(-1).cpu().numpy()

    single = torch.eye(scalars.shape[1]).to(scalars)
    return {
        f"judged/{kind}/scalar": judge(best),
        f"judged/{kind}/head": np.stack([judge(row.expand_as(scalars)) for row in single], 1),
        f"judged/{kind}/head_scalar": np.stack([judge(row * scalars) for row in single], 1),
    }


def met(config: Config) -> Batch:
    """The prompts met at test time, of every seed, with their w*."""
    generator = torch.Generator().manual_seed(70_000 + config.seed)
    count, mixture = config.gate_prompts, mixture_of(config)
    S = torch.stack([learning.prompts(mixture, config.n, count, generator) for _ in range(config.seeds)])
    return Batch(S[:, None, None], gaussian((config.seeds, 1, 1, count), generator))


def judged_prompts(config: Config, of: int = -1) -> Tensor:
    """S of fresh prompts of one distribution, the mixture being the last: the same for all models."""
    generator = torch.Generator().manual_seed(2**31 + 43)
    return learning.prompts(learning.distributions(config)[of], config.n, judging.JUDGED, generator)


def references(config: Config) -> dict[str, np.ndarray]:
    """`baseline/floor` [K] with its error, `baseline/cg` [K] (zero to rounding: one step of exact line search solves a
    problem of one dimension), `baseline/floor_head` [K, H] of each component on itself, `density/*`, S in units of the
    mixture's E x²."""
    pools = [judged_prompts(config, row) for row in range(len(learning.distributions(config)))]
    best = [floors(pool[None, None], None, _depths(config)) for pool in pools]
    white = gaussian((1, judging.JUDGED), torch.Generator().manual_seed(2**31 + 19))
    done = conjugate_gradient(pools[-1][None, None], white, config.layers).iterates - white
    mixture = mixture_of(config)
    seconds = [each.second / mixture.second for each in learning.distributions(config)]
    edges = np.linspace(0.0, max(3.0, 1.5 * max(seconds)), 121)
    counted = [np.histogram(p.cpu().numpy() * s, edges, density=True)[0] for p, s in zip(pools, seconds, strict=True)]
    found = {
        "baseline/floor": np.array([each.loss for each in best[-1]]),
        "baseline/floor_error": np.array([each.error / each.loss for each in best[-1]]),
        "baseline/floor_head": np.array([[each.loss for each in row] for row in best[:-1]]).T,
        "baseline/cg": sampled_loss(done, None)[1:].double().mean(-1).cpu().numpy(),
        "shape/at": np.linspace(*SEEN),
        "density/at": (edges[1:] + edges[:-1]) / 2,
        "density/S": np.stack(counted),
    }
    return {name: array.astype(np.float32) for name, array in found.items()}


def _depths(config: Config) -> list[int]:
    return list(range(1, config.layers + 1))

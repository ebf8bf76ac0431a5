"""What is learned at test time on prompts of another variance, and what it is compared with."""

import numpy as np
import torch
from torch import Tensor

from icl_core import device
from icl_core.papers.memformers.shared import experts, judging, variants
from icl_core.papers.memformers.shared.baselines import construction
from icl_core.papers.memformers.shared.experts import Heads
from icl_core.papers.memformers.shared.task import Batch, covariances, eigenvalues_of, gaussian
from icl_core.papers.memformers.shared.variants import Parameters
from icl_core.papers.memformers.variances.settings import Config, met_by, model_of, trained_on
from icl_core.regression import Covariance, coloured, conjugate_gradient, grams, sampled_loss

FEWER = 2**13  # prompts on which what is far off is judged


def tried(config: Config, learned: list[Parameters], variance: float, place: int) -> dict[str, np.ndarray]:
    """Learn gates on prompts of one variance, the `place`-th, and judge them and what they are to be compared with."""
    unseen = len(met_by(config))
    home = place - unseen if config.rotations == "own" and place >= unseen else 0  # a head's prompts have its own U
    heads = heads_at(config, learned, variance, home)
    batch = prompts(config, place)
    start = experts.starts(heads)
    done = experts.adapt(heads, batch, config.gate_steps, False, start[config.start])
    _, scalar = experts.one_scalar(heads, batch, config.gate_steps)
    by_hand = start["last"] * trained_on(config)[-1] / variance
    judged = {
        "gated": judge(config, heads, done.gates),
        "scalar": judge(config, heads, scalar),
        "even": judge(config, heads, start["even"], FEWER),
        "last": judge(config, heads, by_hand),
    }
    # a head on the very variance that it was trained on is to equal itself: the same prompts
    alone = [
        judge(config, heads, row.expand_as(scalar), judging.JUDGED if own == variance else FEWER)
        for row, own in zip(torch.eye(scalar.shape[1]).to(scalar), trained_on(config), strict=True)
    ]
    found = {f"judged/{name}": value for name, value in judged.items()} | {"judged/head": np.stack(alone, 1)}
    values = {"gate/value": done.gates, "gate/scalar": scalar, "gate/curve": done.losses.T}
    return found | {name: value.cpu().numpy().astype(np.float32) for name, value in values.items()}


def from_all_starts(config: Config, learned: list[Parameters], variance: float, place: int) -> dict[str, np.ndarray]:
    """`start/gates` [seeds, starts, H] and `start/loss` [seeds, starts]: the gates learned from each way to begin."""
    heads, batch = heads_at(config, learned, variance), prompts(config, place)
    every = experts.starts(heads).values()
    gates = [experts.adapt(heads, batch, config.gate_steps, False, start).gates for start in every]
    return {
        "start/gates": torch.stack(gates, 1).cpu().numpy().astype(np.float32),
        "start/loss": np.stack([judge(config, heads, each) for each in gates], 1),
    }


def prompts(config: Config, place: int) -> Batch:
    """What is met at test time: whitened prompts of every seed with their w*; the query is integrated out."""
    generator = torch.Generator().manual_seed(40_000 + 100 * config.seed + place)
    count = config.gate_prompts
    S = grams(config.d, config.n, count * config.seeds, generator)
    S = S.reshape(config.d, config.d, config.seeds, count).permute(2, 0, 1, 3)  # [seeds, d, d, prompts]
    target = gaussian((config.seeds, config.d, 1, count), generator)
    return Batch(S.to(target), target)


def heads_at(config: Config, learned: list[Parameters], variance: float, home: int = 0) -> Heads:
    """The heads in the whitened coordinates of prompts of that variance: what was Σ_h^½ A Σ_h^½ becomes Σ^½ A Σ^½.
    `home` is the head whose U the prompts have."""
    here = [_scaled(each, variance).root for each in covariances(model_of(config, home))]
    A, Gamma = [], []
    for head, (own, parameters) in enumerate(zip(trained_on(config), learned, strict=True)):
        there = covariances(model_of(config, head if config.rotations == "own" else 0))
        change = torch.stack([h @ _scaled(t, own).inverse_root for h, t in zip(here, there, strict=True)]).float()
        moved = parameters["A"].sum(1).to(change)  # [seeds, L, d, d]
        A.append(change[:, None] @ moved @ change.transpose(1, 2)[:, None])
        Gamma.append(variants.coefficients(parameters, "lfom"))
    place = device.device()
    return Heads(torch.stack(Gamma, 1).to(place), torch.stack(A, 1).to(place))


def _scaled(covariance: Covariance, variance: float) -> Covariance:
    return Covariance(covariance.eigenvalues * variance, covariance.rotation)


def judge(config: Config, heads: Heads, gates: Tensor, prompts: int = judging.JUDGED) -> np.ndarray:
    """The mean expected loss on fresh prompts, [seeds]."""
    loss, _ = experts.judge(experts.table(gates, heads.Gamma, heads.A), config.d, config.n, prompts)
    return loss.cpu().numpy().astype(np.float32)


def references(config: Config) -> dict[str, np.ndarray]:
    """`baseline/floor` [K], `baseline/cg` [K] for one to `layers` steps: σ² changes neither."""
    model = model_of(config, 0)
    D = eigenvalues_of(model)
    S = coloured(torch.cat([S for _, S in judging.held_out(config.d, config.n, judging.JUDGED)], -1), D)
    white = gaussian((config.d, judging.JUDGED), torch.Generator().manual_seed(2**31 + 19))
    target = white / D.sqrt().to(white)[:, None]
    missed = conjugate_gradient(S, target, config.layers).iterates - target
    cg = sampled_loss(missed, D)[1:].double().mean(-1)
    return {**construction(model), "baseline/cg": cg.cpu().numpy().astype(np.float32)}

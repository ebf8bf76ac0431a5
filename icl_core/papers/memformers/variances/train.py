"""Train every head, and then gates for prompts of every variance; and what those are compared
with."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Progress, Tensors, names
from icl_core.in_context_regression import Covariance, coloured, grams
from icl_core.machine import device
from icl_core.papers.memformers.shared import baselines, experts, first_order, test_set, variants
from icl_core.papers.memformers.shared.batched_trainings import at_once
from icl_core.papers.memformers.shared.experts import Adapted, Case, Heads
from icl_core.papers.memformers.shared.task import (
    Batch,
    covariances,
    eigenvalues_of,
    gaussian,
    roots,
)
from icl_core.papers.memformers.shared.train import training_phase
from icl_core.papers.memformers.shared.variants import Parameters
from icl_core.papers.memformers.variances.settings import (
    AUTHORS_RATE,
    Config,
    home_of,
    met_by,
    model_of,
    trained_on,
)
from icl_core.training import phases, several_seeds

FIRST = "head 0"


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train every head, then learn gates for every variance V. Return

    test_time/variance   [V], unseen ones first
    gate/value, gate/scalar   [seeds, V, H]; gate/triangle [seeds, V, L, L]
    gate/curve           [seeds, V, steps]
    evaluated/<id>       [seeds, V] for each of `names/methods`
    evaluated/head       [seeds, V, H]
    own/loss             [seeds, H] of each head on fresh prompts of its own variance
    start/*              of the last unseen variance
    baseline/*           [K]
    curve/loss           [seeds, evaluations] of the first head
    depth/gated, depth/met   [seeds, unseen, K] with gates, on fresh prompts and on those met, after
                         one to `layers` layers; of the authors' protocol alone (Figure 8)
    evaluated/batches    [seeds, V, batches] with gates learned as the authors do
    """
    heads = range(len(trained_on(config)))
    models = {f"head {head}": model_of(config, head) for head in heads}
    labels = {f"head {head}": f"head {head + 1} of {len(heads)}" for head in heads}
    for depth in _shallower(config):
        for head in heads:
            name = f"head {head} of {depth}"
            models[name] = replace(model_of(config, head), layers=depth)
            labels[name] = f"head {head + 1}, layers: {depth}"
    plan = [training_phase(name, model, labels[name]) for name, model in models.items()]
    results = phases.run(at_once(plan, models), progress, partial(phases.curves, FIRST))
    learned = [_parameters(results[f"head {head}"]) for head in heads]
    every = [*met_by(config), *trained_on(config)]
    last = len(met_by(config)) - 1
    by_variance = adapted(config, learned, every)
    return {
        **phases.curves(FIRST, results),
        **{name: np.stack([each[name] for each in by_variance], 1) for name in by_variance[0]},
        "own/loss": np.stack([results[f"head {h}"]["evaluated/loss"] for h in heads], 1),
        **_by_depth(config, results, by_variance),
        **from_all_starts(config, learned, every[last], last),
        "names/methods": names(METHODS),
        "test_time/variance": np.array(every),
        **references(config),
    }


def _shallower(config: Config) -> range:
    """Return the numbers of layers that are trained beside the deepest, as in Figure 8."""
    return range(1, config.layers if config.protocol == "authors" else 1)


def _parameters(part: Tensors) -> Parameters:
    """Return what one head has learned."""
    return {name: torch.tensor(array) for name, array in phases.final(part).items()}


def _by_depth(
    config: Config, results: phases.Made, deepest: list[dict[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """Return `depth/*`, of which `deepest` has the last column, variance by variance; nothing where
    the deepest heads alone were trained."""
    if config.protocol != "authors":
        return {}
    variances = met_by(config)
    columns = []
    for depth in _shallower(config):
        heads = range(len(trained_on(config)))
        learned = [_parameters(results[f"head {head} of {depth}"]) for head in heads]
        columns.append(gated_losses(replace(config, layers=depth), learned, variances))
    unseen = deepest[: len(variances)]
    fresh = np.stack([each["evaluated/gated"] for each in unseen], 1)  # [seeds, unseen]
    met = np.stack([each["gate/curve"][:, -1] for each in unseen], 1)
    columns.append((fresh, met))
    return {
        "depth/gated": np.stack([column for column, _ in columns], -1),
        "depth/met": np.stack([column for _, column in columns], -1),
    }


FEWER = 2**13  # prompts on which what is far off is evaluated
ONE_NUMBER = 100  # steps in which one is found
METHODS = ("gated", "scalar", "last", "even")


def adapted(
    config: Config, learned: list[Parameters], variances: Sequence[float]
) -> list[dict[str, np.ndarray]]:
    """Learn gates on prompts of every variance, and evaluate them and what they are compared with:
    of all variances at once, or one by one where that would take much memory."""
    indexed = list(enumerate(variances))
    first = prompts(config, 0)
    rows = config.seeds * len(variances) * len(learned)
    at_once = len(indexed) if experts.can_join(rows, first) else 1
    results: list[dict[str, np.ndarray]] = []
    for start in range(0, len(indexed), at_once):
        results += _adapted(config, learned, indexed[start : start + at_once])
    return results


def _adapted(
    config: Config, learned: list[Parameters], indexed: Sequence[tuple[int, float]]
) -> list[dict[str, np.ndarray]]:
    """Do what `adapted` does for some of the variances, each with its index."""
    cases = [case_of(config, learned, variance, index) for index, variance in indexed]
    gated = _learned(config, cases)
    scalars = experts.adapt_all(
        [experts.each_alone(case.heads, case.batch) for case in cases],
        min(config.gate_steps, ONE_NUMBER),
    )
    return [
        _evaluated(config, case, variance, home_of(config, index), adaptation, scalar)
        for (index, variance), case, adaptation, scalar in zip(
            indexed, cases, gated, scalars, strict=True
        )
    ]


def _learned(config: Config, cases: list[Case]) -> list[Adapted]:
    """Learn the gates of every case, as the config asks for."""
    if config.learner == "authors":
        return [_adapt_as_authors(case, config.gate_steps) for case in cases]
    return experts.adapt_all(cases, config.gate_steps)


def _adapt_as_authors(case: Case, steps: int) -> Adapted:
    """Learn gates as the authors' code does: by Adam as torch has it, at a constant rate, on the
    mean of the loss."""
    gates = case.start.clone()  # [seeds, H]
    optimiser = torch.optim.Adam([gates], lr=AUTHORS_RATE)
    losses = []
    for _ in range(steps):
        leaves = several_seeds.leaves({"gates": gates})
        table = experts.table(leaves["gates"], case.heads.Gamma, case.heads.A)
        loss, slopes = first_order.loss_and_slopes(table.detach(), case.batch)
        gates.grad = several_seeds.gradients(table, leaves, slopes)["gates"]
        optimiser.step()
        losses.append(loss)
    return Adapted(gates, case.heads.Gamma, torch.stack(losses))


def case_of(config: Config, learned: list[Parameters], variance: float, index: int) -> Case:
    """Return the heads and the prompts of one variance, the `index`-th, and where gates start."""
    heads = heads_at(config, learned, variance, home_of(config, index))
    return Case(heads, prompts(config, index), experts.starts(heads)[config.start])


def _evaluated(
    config: Config, case: Case, variance: float, home: int, adaptation: Adapted, scalars: Adapted
) -> dict[str, np.ndarray]:
    """Evaluate the gates of one variance, those of the `scalars` that each head has learned alone,
    and what they are compared with."""
    heads = case.heads
    even = experts.starts(heads)["even"]
    _, scalar = experts.best_scalar(scalars, heads.A.shape[1])
    picked = torch.eye(heads.A.shape[1])[home].to(even).expand_as(even)
    constructed = picked * trained_on(config)[home] / variance
    gates = {"gated": adaptation.gates, "scalar": scalar, "last": constructed, "even": even}
    losses = {
        name: evaluate(config, heads, gates[name], FEWER if name == "even" else test_set.PROMPTS)
        for name in METHODS
    }
    values = {
        "gate/value": adaptation.gates,
        "gate/scalar": scalar,
        "gate/curve": adaptation.losses.T,
        "gate/triangle": _triangle(heads, adaptation.gates),
    }
    if config.learner == "authors":
        values["evaluated/batches"] = _on_batches(config, heads, adaptation.gates)
    return {
        **{f"evaluated/{name}": loss for name, loss in losses.items()},
        "evaluated/head": _alone(config, heads, variance),
        **{name: value.cpu().numpy().astype(np.float32) for name, value in values.items()},
    }


def _triangle(heads: Heads, gates: Tensor) -> Tensor:
    """Return what gated heads together make of every past gradient, [seeds, L, L] over (l, j): the
    mean of the diagonal of Σ_h g_h Γ_j^{l,h} A_j^h in the whitened coordinates of the prompts."""
    seeds, _, L, d, _ = heads.A.shape
    table = experts.table(gates, heads.Gamma, heads.A).view(seeds, L, d, L, d)
    return table.diagonal(dim1=2, dim2=4).mean(-1)


def _alone(config: Config, heads: Heads, variance: float) -> np.ndarray:
    """Return what every head loses as it is, [seeds, H]; one on the very variance that it was
    trained on is to equal itself: the same prompts."""
    seeds, H = heads.A.shape[:2]
    rows = torch.eye(H).to(heads.A)
    sizes = [test_set.PROMPTS if own == variance else FEWER for own in trained_on(config)]
    losses = [
        evaluate(config, heads, row.expand(seeds, H), size)
        for row, size in zip(rows, sizes, strict=True)
    ]
    return np.stack(losses, 1)


def from_all_starts(
    config: Config, learned: list[Parameters], variance: float, index: int
) -> dict[str, np.ndarray]:
    """Return for each of `names/starts`, `start/gates` [seeds, starts, H] and `start/loss` [seeds,
    starts]: the gates learned when they begin there."""
    case = case_of(config, learned, variance, index)
    starts = experts.starts(case.heads)
    cases = [case._replace(start=start) for start in starts.values()]
    gates = [adaptation.gates for adaptation in _learned(config, cases)]
    return {
        "names/starts": names(starts),
        "start/gates": torch.stack(gates, 1).cpu().numpy().astype(np.float32),
        "start/loss": np.stack([evaluate(config, case.heads, each) for each in gates], 1),
    }


def gated_losses(
    config: Config, learned: list[Parameters], variances: Sequence[float]
) -> tuple[np.ndarray, np.ndarray]:
    """Learn gates for every variance, and return what they lose on fresh prompts and on those met,
    [seeds, V] each."""
    fresh = []
    met = []
    for index, variance in enumerate(variances):
        case = case_of(config, learned, variance, index)
        adaptation = _learned(config, [case])[0]
        fresh.append(evaluate(config, case.heads, adaptation.gates))
        met.append(adaptation.losses[-1].cpu().numpy())
    return np.stack(fresh, 1), np.stack(met, 1)


def prompts(config: Config, index: int) -> Batch:
    """Return what is met at test time: whitened prompts of every seed with their w*; the query is
    integrated out."""
    generator = torch.Generator().manual_seed(40_000 + 100 * config.seed + index)
    count = config.gate_prompts
    S = grams(config.d, config.n, count * config.seeds, generator)
    # [seeds, d, d, prompts]
    S = S.reshape(config.d, config.d, config.seeds, count).permute(2, 0, 1, 3)
    target = gaussian((config.seeds, config.d, 1, count), generator)
    return Batch(S.to(target), target)


def heads_at(config: Config, learned: list[Parameters], variance: float, home: int) -> Heads:
    """Return the heads in the whitened coordinates of prompts of that variance: what was Σ_h^½ A
    Σ_h^½ becomes Σ^½ A Σ^½. `home` is the head whose U the prompts have."""
    here = [each.root for each in _covariances(config, home, variance)]
    A = []
    Gamma = []
    for head, (own, parameters) in enumerate(zip(trained_on(config), learned, strict=True)):
        inverses = [each.inverse_root for each in _covariances(config, head, own)]
        change = torch.stack(
            [root @ inverse for root, inverse in zip(here, inverses, strict=True)]
        ).float()
        model = model_of(config, head)
        # [seeds, L, d, d]
        moved = variants.preconditioners(parameters, model, roots(model).cpu()).to(change)
        A.append(change[:, None] @ moved @ change.transpose(1, 2)[:, None])
        Gamma.append(variants.coefficients(parameters, "lfom"))
    return Heads(
        torch.stack(Gamma, 1).to(device.current_device()),
        torch.stack(A, 1).to(device.current_device()),
    )


def _covariances(config: Config, head: int, variance: float) -> list[Covariance]:
    """Return the covariance of every seed, with that head's U or the one for all, and that
    variance."""
    task = replace(model_of(config, head if config.rotations == "own" else 0), sigma2=variance)
    return covariances(task)


def evaluate(
    config: Config, heads: Heads, gates: Tensor, prompts: int = test_set.PROMPTS
) -> np.ndarray:
    """Return the mean expected loss on fresh prompts, [seeds]."""
    table = experts.table(gates, heads.Gamma, heads.A)
    losses = [
        first_order.expected_losses(table, S[None])
        for _, S in test_set.held_out(config.d, config.n, prompts)
    ]
    return torch.cat(losses, -1).double().mean(-1).cpu().numpy().astype(np.float32)


def _on_batches(config: Config, heads: Heads, gates: Tensor) -> Tensor:
    """Return the mean loss on each of many batches of 1000 prompts with their own w* and query,
    [seeds, batches]: what the authors could have measured on theirs."""
    generator = torch.Generator().manual_seed(2**31 + 31)
    table = experts.table(gates, heads.Gamma, heads.A)
    parts: list[Tensor] = []
    for _, S in test_set.held_out(config.d, config.n, test_set.PROMPTS):
        target, query = (gaussian((config.d, S.shape[-1]), generator).to(S) for _ in range(2))
        error = first_order.errors(table, S[None], target[None, :, None])[:, :, 0]
        parts.append((error * query).sum(1).square())  # [seeds, block]
    losses = torch.cat(parts, -1)  # [seeds, prompts]
    whole = test_set.PROMPTS // 1000 * 1000
    return losses[:, :whole].unflatten(1, (-1, 1000)).double().mean(-1)


def references(config: Config) -> dict[str, np.ndarray]:
    """Return `baseline/floor` [K], `baseline/cg` [K] for one to `layers` steps: σ² changes
    neither."""
    model = replace(model_of(config, 0), sigma2=1.0)
    D = eigenvalues_of(model)
    cg, _ = baselines.conjugate(coloured(baselines.prompts(model.d, model.n), D), D, config.layers)
    return {
        **baselines.construction(model),
        "baseline/cg": cg.double().mean(-1).cpu().numpy().astype(np.float32),
    }

"""Train both kinds of head at every depth, and then gates on prompts of the mixture; and what those
are compared with."""

from functools import partial

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Progress, names
from icl_core.in_context_regression import floors
from icl_core.machine import device
from icl_core.papers.memformers.mixture import protocol
from icl_core.papers.memformers.mixture.heads import (
    KINDS,
    distributions,
    held_out,
    met,
    training_phase,
)
from icl_core.papers.memformers.mixture.settings import Config, mixture_of
from icl_core.papers.memformers.shared import baselines, experts, test_set, variants
from icl_core.papers.memformers.shared.experts import Adapted, Heads
from icl_core.papers.memformers.shared.first_order import expected_losses
from icl_core.papers.memformers.shared.task import Batch
from icl_core.training import phases


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train both kinds of head at every depth K, then learn gates on prompts of the mixture.

    Return `curve/<kind>/<row>` [seeds, evaluations] of the deepest heads, and what
    `evaluation.results` or `of_tokens` list. The trainings are no `run_grid`: what is stacked over
    depths is not what the phases return, but what is adapted from it at test time. Raises
    `Diverged` and `Cancelled`.
    """
    if config.prompts == "components":
        return of_components(config, progress)
    return of_tokens(config, progress)


def of_components(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train on prompts of one component each, as the authors' code does."""
    results = phases.run(protocol.plan(config), progress, partial(_curves, config))
    return {**_curves(config, results), **protocol.results_of(config, results)}


def of_tokens(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train on prompts whose tokens are of all components. Return, for each id in `names/methods`,
    a kind of `names/kinds` and what is done with its heads:

    evaluated/<id>   [seeds, K]
    error/<id>       the standard error of its logarithm, where it learns or is drawn
    gate/<id>        [seeds, K, H]
    learning/<id>    [seeds, steps] of the deepest
    shape/<id>       [seeds, points] of the deepest, over `shape/at`

    and evaluated/<kind>/head, evaluated/<kind>/head_scalar [seeds, K, H], of each head alone;
    density/S [H + 1, bins] over density/at; baseline/* [K]; curve/<kind>/<row>, the mixture's row
    last.
    """
    depths = range(1, config.layers + 1)
    plan = []
    for depth in reversed(depths):
        plan += [training_phase(config, kind, depth) for kind in KINDS]
    results = phases.run(plan, progress, partial(_curves, config))
    by_depth = [adapted(config, results, depth) for depth in depths]
    of_deepest = {
        name: array
        for name, array in by_depth[-1].items()
        if name.split("/")[0] in ("learning", "shape")
    }
    stacked = {
        name: np.stack([tensors[name] for tensors in by_depth], 1)  # (seeds, K, …)
        for name in by_depth[0]
        if name not in of_deepest
    }
    return {
        "depth/layers": np.array(depths),
        "names/methods": names(METHODS),
        **_curves(config, results),
        **stacked,
        **of_deepest,
        **references(config),
    }


def _curves(config: Config, results: phases.Made) -> dict[str, np.ndarray]:
    """Return `curve/<kind>/<row>` [seeds, evaluations] of the deepest models."""
    curves = {"names/kinds": names(KINDS)}
    for kind in KINDS:
        part = results.get(f"{kind} {config.layers}", {})
        if "curve/loss" in part:
            losses = part["curve/loss"]  # (seeds, rows, evaluations)
            curves["curve/step"] = part["curve/step"]
            for row in range(losses.shape[1]):
                curves[f"curve/{kind}/{row}"] = losses[:, row]
    return curves


SEEN = (0.0, 3.0, 121)  # of S / E x², where the polynomials are drawn
METHODS = (
    "linear/gated",
    "lfom/gated",
    "lfom/adapted",
    "linear/scalar",
    "lfom/scalar",
    "linear/even",
    "lfom/even",
    "linear/mixture",
    "lfom/mixture",
)
Method = tuple[str, Tensor, Tensor, Adapted | None]


def heads_of(config: Config, by_phase: phases.Made, kind: str, depth: int) -> tuple[Heads, Heads]:
    """Return the components' heads in units of the mixture's E x², and what was trained on the
    mixture itself."""
    part = {
        name: torch.tensor(array)
        for name, array in phases.final(by_phase[f"{kind} {depth}"]).items()
    }
    Gamma = variants.coefficients(part, kind).reshape(config.seeds, -1, depth, depth)
    A = part["A"].sum(1).reshape(config.seeds, -1, depth, 1, 1)
    mixture = mixture_of(config)
    moved = [mixture.second / each.second for each in mixture.components]
    scale = torch.tensor(moved)[None, :, None, None, None]
    Gamma, A, scale = (each.to(device.current_device()) for each in (Gamma, A, scale))
    return Heads(Gamma[:, :-1], A[:, :-1] * scale), Heads(Gamma[:, -1:], A[:, -1:])


def adapted(config: Config, by_phase: phases.Made, depth: int) -> dict[str, np.ndarray]:
    """Return everything that is learned at test time, at one depth, and what it is compared
    with."""
    fresh = held_out(config)
    batch = met(config)
    at = torch.linspace(*SEEN).to(fresh)
    tensors: dict[str, Tensor] = {}
    for kind in KINDS:
        heads, alone = heads_of(config, by_phase, kind, depth)
        for method, gates, Gamma, adaptation in _methods(config, kind, heads, alone, batch):
            table = experts.table(gates, Gamma, (alone if method == "mixture" else heads).A)
            mean, error = test_set.mean_and_log_error(
                expected_losses(table, fresh[None, None, None])
            )
            shape = expected_losses(table, at[None, None, None]).sqrt()
            new = {"evaluated": mean, "error": error, "shape": shape}
            new |= (
                {"gate": gates, "learning": adaptation.losses.T} if adaptation is not None else {}
            )
            tensors |= {f"{what}/{kind}/{method}": value for what, value in new.items()}
        tensors |= _each_head(config, kind, heads, batch, fresh)
    return {name: value.cpu().numpy().astype(np.float32) for name, value in tensors.items()}


def _methods(config: Config, kind: str, heads: Heads, alone: Heads, batch: Batch) -> list[Method]:
    """Return name, gates, Γ and, where something was learned, how."""
    even = experts.starts(heads)["even"]
    gated = experts.adapt(heads, batch, config.gate_steps, False, even, config.gate_rate)
    methods: list[Method] = [
        ("gated", gated.gates, gated.Gamma, gated),
        ("even", even, heads.Gamma, None),
        ("mixture", torch.ones_like(even[:, :1]), alone.Gamma, None),
    ]
    if kind == "lfom":
        both = experts.adapt(heads, batch, config.gate_steps, True, even, config.gate_rate)
        methods.append(("adapted", both.gates, both.Gamma, both))
    return methods


def _each_head(
    config: Config, kind: str, heads: Heads, batch: Batch, fresh: Tensor
) -> dict[str, Tensor]:
    """Return what every head alone loses, [seeds, H], as it is and with one scalar; and the best of
    these on the batch."""
    scalars, best = experts.one_scalar(heads, batch, config.gate_steps, config.gate_rate)

    def evaluate(gates: Tensor) -> Tensor:
        table = experts.table(gates, heads.Gamma, heads.A)
        return expected_losses(table, fresh[None, None, None]).double().mean(-1)

    single = torch.eye(scalars.shape[1]).to(scalars)
    return {
        f"evaluated/{kind}/scalar": evaluate(best),
        f"evaluated/{kind}/head": torch.stack(
            [evaluate(row.expand_as(scalars)) for row in single], 1
        ),
        f"evaluated/{kind}/head_scalar": torch.stack(
            [evaluate(row * scalars) for row in single], 1
        ),
    }


def references(config: Config) -> dict[str, np.ndarray]:
    """Return `baseline/floor` [K] with its error, of the best steps on the test set's own prompts;
    `baseline/cg` [K] (zero to rounding: one step of exact line search solves a problem of one
    dimension); `baseline/floor_head` [K, H] of each component on itself; `density/*`, S in units of
    the mixture's E x²."""
    pools = [held_out(config, row) for row in range(len(distributions(config)))]
    best = [floors(pool[None, None], None, list(range(1, config.layers + 1))) for pool in pools]
    cg, _ = baselines.conjugate(pools[-1][None, None], None, config.layers)
    arrays = {
        "baseline/floor": np.array([each.loss for each in best[-1]]),
        "baseline/floor_error": np.array([each.error / each.loss for each in best[-1]]),
        "baseline/floor_head": np.array([[each.loss for each in row] for row in best[:-1]]).T,
        "baseline/cg": cg.double().mean(-1).cpu().numpy(),
        "shape/at": np.linspace(*SEEN),
        **_density(config, pools),
    }
    return {name: array.astype(np.float32) for name, array in arrays.items()}


def _density(config: Config, pools: list[Tensor]) -> dict[str, np.ndarray]:
    units = [each.second / mixture_of(config).second for each in distributions(config)]
    edges = np.linspace(0.0, max(3.0, 1.5 * max(units)), 121)
    scaled = [pool.cpu().numpy() * unit for pool, unit in zip(pools, units, strict=True)]
    counted = [np.histogram(each, edges, density=True)[0] for each in scaled]
    return {"density/at": (edges[1:] + edges[:-1]) / 2, "density/S": np.stack(counted)}

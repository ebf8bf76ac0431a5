"""Figures 9 and 10 as in the authors' code, what heads and gates lose on fresh prompts, and what
Theorem 4.1 says of them.

Every prompt is of one component and P_l free; the heads are trained for 300 steps of Adam at 1e-3
on one batch each, then their gates (and Γ) for 5,000 on prompts of the mixture. Both minimise the
mean.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Tensors, names
from icl_core.machine import device
from icl_core.papers.memformers.mixture import token_heads
from icl_core.papers.memformers.mixture.settings import Config, mixture_of
from icl_core.papers.memformers.mixture.token_heads import Tokens
from icl_core.papers.memformers.shared.train import EVALUATIONS
from icl_core.papers.memformers.shared.variants import VARIANTS, Parameters
from icl_core.training import loop, phases, several_seeds
from icl_core.training.phases import Made, Phase, Report

KINDS = ("linear", "lfom")
METHODS = ("linear/gated", "lfom/gated", "lfom/adapted")
# For gates on one component.
PICKED_STEPS = 600
PICKED_RATE = 0.05
POINTS = 200  # of a curve at test time that are kept


def plan(config: Config) -> list[Phase]:
    """Return every training, the deepest first: both kinds of heads, gates for them, and Γ too."""
    phases_of_depths = []
    for depth in range(config.layers, 0, -1):
        phases_of_depths += [_heads_phase(config, kind, depth) for kind in KINDS]
        phases_of_depths += [_gates_phase(config, kind, depth) for kind in KINDS]
    return [*phases_of_depths, *(_picked_phase(config, kind) for kind in KINDS)]


def _heads_phase(config: Config, kind: str, depth: int) -> Phase:
    train = partial(_train_heads, config, kind, depth)
    return Phase(
        f"{kind} {depth}", config.steps, train, partial(curves, config), label=_label(kind, depth)
    )


def _gates_phase(config: Config, kind: str, depth: int) -> Phase:
    train = partial(_train_gates, config, kind)
    label = _label(kind, depth) + ", gates"
    return Phase(
        f"{kind} gates {depth}", config.gate_steps, train, given=(f"{kind} {depth}",), label=label
    )


def _picked_phase(config: Config, kind: str) -> Phase:
    train = partial(_train_picked, config, kind)
    label = f"{VARIANTS[kind].name}, gates for one component"
    return Phase(
        f"{kind} picked", PICKED_STEPS, train, given=(f"{kind} {config.layers}",), label=label
    )


def _label(kind: str, depth: int) -> str:
    return f"{VARIANTS[kind].name}, {depth} layer{'s' * (depth > 1)}"


def _train_heads(
    config: Config, kind: str, depth: int, resumed: Tensors, report: Report
) -> dict[str, np.ndarray]:
    """Train all heads of one kind and depth, rows seeds × components; their loss is watched on
    fresh prompts."""
    batch = token_heads.training_batch(config)
    H = len(mixture_of(config).components)
    parameters = _initial(config, kind, depth)
    alone = torch.ones(len(batch.x), 1, device=device.current_device())
    of = problem(
        parameters, lambda leaves: token_heads.gated(leaves, alone), batch, config.learning_rate
    )
    watched = [
        next(token_heads.fresh_prompts(config, m)) for m in range(H)
    ]  # the first block of each

    def watch(step: int) -> loop.Measures:
        every = _fresh_losses(config, token_heads.gated(parameters, alone), watched)  # [rows, H]
        return {"loss": every.view(-1, H, H).diagonal(dim1=1, dim2=2).reshape(-1).cpu().numpy()}

    state = loop.train(
        replace(of, evaluate=watch),
        config.steps,
        loop.evaluations(config.steps, *EVALUATIONS),
        resumed,
        report,
    )
    return {
        **curves(config, state),
        **{f"final/{name}": array for name, array in state.snapshots[-1].items()},
    }


def _initial(config: Config, kind: str, depth: int) -> Parameters:
    """Return every seed's heads before training, from a generator of its own; both kinds start from
    the same P and Q."""
    rows = len(mixture_of(config).components)
    seeds = []
    for seed in range(config.seed, config.seed + config.seeds):
        generator = torch.Generator().manual_seed(110_000 + 100 * seed + depth)
        seeds.append(token_heads.initial(kind, rows, depth, config.n, generator))
    return {
        name: torch.cat([parameters[name] for parameters in seeds]).to(device.current_device())
        for name in seeds[0]
    }


def problem(
    parameters: Parameters,
    layers: Callable[[Parameters], token_heads.Layers],
    prompts: Tokens,
    rate: float,
    fixed_rows: int = 0,
) -> loop.Problem:
    """Return what the loop trains: every row's mean loss on its prompts, by Adam as torch has it,
    at a constant rate. Γ stays as it is in the first `fixed_rows` rows."""

    def step(index: int):
        leaves = several_seeds.leaves(parameters)
        losses = token_heads.errors(layers(leaves), prompts).square().mean(1)  # [rows]
        gradients = several_seeds.gradients(losses, leaves)
        if fixed_rows:
            gradients["Gamma"][:fixed_rows] = (
                0  # Adam takes no step where the gradient has always been zero
            )
        return gradients, {"loss": losses.detach().cpu().numpy()}

    optimiser = partial(torch.optim.Adam, lr=rate)
    return loop.Problem(parameters, step, lambda step: {}, optimiser, (), loss="loss", ceiling=1e9)


def _train_gates(
    config: Config, kind: str, trained_heads: Tensors, resumed: Tensors, report: Report
) -> dict[str, np.ndarray]:
    """Train gates from zero on prompts of the mixture, a row for each seed; of a Memformer as many
    rows again that learn Γ too. `final/*` [rows, …]; `own` [rows], the loss at the end; `learning`
    [rows, points] at `learning/step`."""
    ways = 1 if kind == "linear" else 2
    heads = {
        name: value.repeat(ways, *(1 for _ in value.shape[1:]))
        for name, value in heads_of(config, trained_heads).items()
    }
    learned = {"gates": torch.zeros(heads["P"].shape[:2], device=device.current_device())}
    if ways > 1:
        learned["Gamma"] = heads.pop("Gamma")
    met = token_heads.prompts_met(config)
    prompts = Tokens(met.x.repeat(ways, 1, 1), met.target.repeat(ways, 1))
    of = problem(
        learned, partial(_with_gates, heads), prompts, config.gate_rate, config.seeds * (ways - 1)
    )
    state = loop.train(of, config.gate_steps, [config.gate_steps], resumed, report)
    at = np.unique(np.linspace(0, config.gate_steps - 1, POINTS).astype(int))
    final_losses = token_heads.errors(_with_gates(heads, learned), prompts).square().mean(1)
    final = {f"final/{name}": array for name, array in state.snapshots[-1].items()}
    curve = np.array(state.batch["loss"], np.float32).T[:, at]
    return {**final, "own": final_losses.cpu().numpy(), "learning": curve, "learning/step": at}


def _with_gates(heads: Parameters, learned: Parameters) -> token_heads.Layers:
    return token_heads.gated({**heads, **learned}, learned["gates"])


def _train_picked(
    config: Config, kind: str, trained_heads: Tensors, resumed: Tensors, report: Report
) -> dict[str, np.ndarray]:
    """Train gates of the deepest heads on prompts of one component, rows seeds × components
    (Theorem 4.1)."""
    heads = heads_of(config, trained_heads)
    H = heads["P"].shape[1]
    repeated = {name: value.repeat_interleave(H, 0) for name, value in heads.items()}
    learned = {"gates": torch.zeros(len(repeated["P"]), H, device=device.current_device())}
    of = problem(
        learned, partial(_with_gates, repeated), token_heads.met_of_each(config), PICKED_RATE
    )
    of = replace(of, schedule=loop.cosine(PICKED_STEPS))
    state = loop.train(of, PICKED_STEPS, [PICKED_STEPS], resumed, report)
    return {"final/gates": state.snapshots[-1]["gates"].reshape(config.seeds, H, H)}


def heads_of(config: Config, tensors: Tensors) -> Parameters:
    """Return what a phase has trained, its rows as heads: [seeds, H, …]."""
    rows = {
        name: torch.tensor(array).to(device.current_device())
        for name, array in phases.final(tensors).items()
    }
    return {name: value.reshape(config.seeds, -1, *value.shape[2:]) for name, value in rows.items()}


def _fresh_losses(config: Config, layers: token_heads.Layers, blocks: list[Tensor]) -> Tensor:
    """Return the expected loss of every row on a block of each component, [rows, components]."""
    every = zip(mixture_of(config).components, blocks, strict=True)
    return torch.stack([expected(layers, x, of.second).mean(1) for of, x in every], 1)


def expected(layers: token_heads.Layers, x: Tensor, second: float) -> Tensor:
    """Return the loss of fresh prompts x [1, n + 1, prompts], whose query is 1, in the mean over
    query and w* of E x² `second`: [rows, prompts]."""
    rows = layers.own.shape[0]
    prompts = Tokens(x.expand(rows, -1, -1), torch.ones(rows, x.shape[-1], device=x.device))
    return token_heads.errors(layers, prompts).square() * second**2


def curves(config: Config, state: loop.State) -> dict[str, np.ndarray]:
    """Return `curve/step` and `curve/loss` [seeds, components, evaluations] of heads; NaN for what
    has not been reached."""
    recorded = state.curves(loop.evaluations(config.steps, *EVALUATIONS))
    return {
        **recorded,
        "curve/loss": recorded["curve/loss"].reshape(config.seeds, -1, len(recorded["curve/step"])),
    }


Losses = tuple[
    Tensor, Tensor
]  # of every component, [seeds, M]: the mean over fresh prompts, and its variance


def results_of(config: Config, by_phase: Made) -> dict[str, np.ndarray]:
    """Return for each of `names/methods`, on the prompts met `own/<id>` and on fresh ones
    `evaluated/<id>` with `error/<id>` of its logarithm [seeds, K]; by component `component/<id>`
    [seeds, K, M]; `gate/<id>` [seeds, K, H]; `learning/<id>` [seeds, points] at `learning/step`. Of
    each kind, on every component, `head/<kind>`, the head that learned it, alone, and
    `one_hot/<kind>`, all heads with its gate one and the others zero, [seeds, K, M]; and with gates
    learned on that component `picked/<kind>` [seeds, M] and `pick/<kind>` [seeds, M, H]."""
    depths = range(1, config.layers + 1)
    by_depth = [_at_depth(config, by_phase, depth) for depth in depths]
    stacked = {name: np.stack([each[name] for each in by_depth], 1) for name in by_depth[0]}
    deepest = {method: _rows_of(config, by_phase, method, config.layers) for method in METHODS}
    return {
        "names/methods": names(METHODS),
        "names/kinds": names(KINDS),
        "depth/layers": np.array(depths),
        "baseline/zero": np.array(token_heads.nothing_learned(config)),
        "learning/step": deepest[METHODS[0]]["learning/step"],
        **{f"learning/{method}": part["learning"] for method, part in deepest.items()},
        **stacked,
        **_of_picked(config, by_phase),
    }


def _at_depth(config: Config, by_phase: Made, depth: int) -> dict[str, np.ndarray]:
    tensors: dict[str, Tensor] = {}
    weights = torch.tensor(mixture_of(config).weights)
    for method in METHODS:
        part = _rows_of(config, by_phase, method, depth)
        heads = heads_of(config, by_phase[f"{method.partition('/')[0]} {depth}"])
        learned = {name: torch.tensor(array) for name, array in phases.final(part).items()}
        mean, variance = losses_on_fresh(
            config, token_heads.gated({**heads, **learned}, learned["gates"])
        )
        total = mean @ weights
        tensors |= {f"component/{method}": mean, f"evaluated/{method}": total}
        tensors |= {
            f"error/{method}": (variance @ weights.square()).sqrt() / total,
            f"gate/{method}": learned["gates"],
        }
        tensors |= {f"own/{method}": torch.tensor(part["own"])}
    for kind in KINDS:
        tensors |= _of_heads(config, kind, heads_of(config, by_phase[f"{kind} {depth}"]))
    return {name: value.cpu().numpy().astype(np.float32) for name, value in tensors.items()}


def _rows_of(config: Config, by_phase: Made, method: str, depth: int) -> Tensors:
    """Return what was learned at test time of one method, of the rows that its kind's phase holds:
    gates alone stand first."""
    kind, _, what = method.partition("/")
    rows = slice(config.seeds, None) if what == "adapted" else slice(config.seeds)
    part = by_phase[f"{kind} gates {depth}"]
    return {name: array if name == "learning/step" else array[rows] for name, array in part.items()}


def _of_heads(config: Config, kind: str, heads: Parameters) -> dict[str, Tensor]:
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
        name: torch.stack([_losses_on(config, layers, m)[0] for m, layers in enumerate(every)], 1)
        for name, every in (("head", alone), ("one_hot", picked))
    }
    return {f"{name}/{kind}": value for name, value in rows.items()}


def _of_picked(config: Config, by_phase: Made) -> dict[str, np.ndarray]:
    """Return what gates learned on a single component lose there."""
    tensors = {}
    for kind in KINDS:
        gates = torch.tensor(by_phase[f"{kind} picked"]["final/gates"])  # [seeds, M, H]
        heads = heads_of(config, by_phase[f"{kind} {config.layers}"])
        losses = [
            _losses_on(config, token_heads.gated(heads, gates[:, m]), m)[0]
            for m in range(gates.shape[1])
        ]
        tensors |= {
            f"pick/{kind}": gates.numpy(),
            f"picked/{kind}": torch.stack(losses, 1).numpy().astype(np.float32),
        }
    return tensors


def losses_on_fresh(config: Config, layers: token_heads.Layers) -> Losses:
    """Return what layers lose on fresh prompts of every component."""
    pairs = [_losses_on(config, layers, m) for m in range(len(mixture_of(config).components))]
    mean, variance = zip(*pairs, strict=True)
    return torch.stack(mean, 1), torch.stack(variance, 1)


def _losses_on(config: Config, layers: token_heads.Layers, component: int) -> Losses:
    """Return what layers lose on fresh prompts of one component: the mean [seeds] and the variance
    of that mean."""
    second = mixture_of(config).components[component].second
    every = torch.cat(
        [expected(layers, x, second) for x in token_heads.fresh_prompts(config, component)], 1
    ).double()
    return every.mean(1).float(), (every.var(1) / every.shape[1]).float()

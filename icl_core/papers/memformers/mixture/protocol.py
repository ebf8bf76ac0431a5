"""Figures 9 and 10 as in the authors' code: every prompt of one component, P_l free, the heads
trained for 300 steps of Adam at 1e-3 on one batch each, then their gates (and Γ) for 5,000 on
prompts of the mixture. Both minimise the mean."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Tensors
from icl_core.machine import device
from icl_core.papers.memformers.mixture import components, token_heads
from icl_core.papers.memformers.mixture.components import Tokens
from icl_core.papers.memformers.mixture.settings import Config, mixture_of
from icl_core.papers.memformers.shared.train import EVALUATIONS
from icl_core.papers.memformers.shared.variants import VARIANTS, Parameters
from icl_core.training import loop, phases, several_seeds
from icl_core.training.phases import Phase, Report

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
    batch = components.training(config)
    H = len(mixture_of(config).components)
    parameters = _initial(config, kind, depth)
    alone = torch.ones(len(batch.x), 1, device=device.current_device())
    of = problem(
        parameters, lambda leaves: token_heads.gated(leaves, alone), batch, config.learning_rate
    )
    watched = [next(components.fresh(config, m)) for m in range(H)]  # the first block of each

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
    met = components.met(config)
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
        learned, partial(_with_gates, repeated), components.met_of_each(config), PICKED_RATE
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

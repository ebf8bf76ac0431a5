"""Heads that have each learned a component of a Gaussian mixture, and gates that mix them."""

from icl_core.contract.experiment import MEAN_OF_SEEDS, Drawing, Experiment
from icl_core.papers.memformers.mixture import claims
from icl_core.papers.memformers.mixture.draw import mixed_prompts, one_component
from icl_core.papers.memformers.mixture.settings import PRESETS, Config, View, mixture_of
from icl_core.papers.memformers.mixture.train import compute
from icl_core.papers.memformers.mixture.words import WORDS
from icl_core.papers.memformers.shared.diagram import gated_diagram


def cost(config: Config) -> float:
    """Return giga-operations: so few numbers cost less than the steps' own overhead, counted as
    0.0004 a layer."""
    if config.prompts == "components":
        return _cost_of_tokens(config)
    rows = (len(mixture_of(config).means) + 1) * config.seeds
    layers = config.layers * (config.layers + 1) // 2
    heads = 2 * config.steps * layers * (rows * config.batch * 30 / 1e9 + 0.0004)
    a_gate_step = config.seeds * config.gate_prompts * 200 / 1e9 + 0.001
    return heads + 5 * config.gate_steps * config.layers * a_gate_step


def _cost_of_tokens(config: Config) -> float:
    """Return the same for attention over tokens: some fifty operations a token and layer, forth and
    back."""
    layers = config.layers * (config.layers + 1) / 2
    H = len(mixture_of(config).means)
    tokens = config.seeds * (config.n + 1) * 60 / 1e9
    heads = config.steps * (H * tokens * config.batch + 0.001)
    gates = config.gate_steps * (2 * tokens * config.gate_prompts + 0.001)
    return layers * (heads + gates) + 0.2 * config.layers * config.seeds


def of_tokens(config: Config) -> bool:
    """Return whether every token comes from the mixture."""
    return config.prompts == "tokens"


def of_components(config: Config) -> bool:
    """Return whether each prompt comes from one component."""
    return config.prompts == "components"


METHODS = "Every method"
PROMPTS = "Gates and prompts"
CURVES = "All curves"

EXPERIMENT = Experiment(
    name="mixture",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing(
            "gated heads", one_component.comparison, applies=of_components, seeds=MEAN_OF_SEEDS
        ),
        Drawing(
            "gates shown",
            one_component.shares,
            ("depth_shown", "seed_shown"),
            applies=of_components,
        ),
        Drawing("comparison", mixed_prompts.comparison, applies=of_tokens, seeds=MEAN_OF_SEEDS),
        Drawing("shapes", mixed_prompts.shapes, ("seed_shown",), applies=of_tokens),
        Drawing("shares", mixed_prompts.shares, ("depth_shown", "seed_shown"), applies=of_tokens),
        Drawing("depth", mixed_prompts.depth, (), METHODS, wide=True, applies=of_tokens),
        Drawing(
            "methods",
            mixed_prompts.methods,
            ("depth_shown",),
            METHODS,
            wide=True,
            applies=of_tokens,
        ),
        Drawing(
            "gates", mixed_prompts.gates, ("depth_shown", "seed_shown"), PROMPTS, applies=of_tokens
        ),
        Drawing(
            "polynomials",
            mixed_prompts.polynomials_panel,
            ("seed_shown",),
            PROMPTS,
            applies=of_tokens,
        ),
        Drawing("spread", mixed_prompts.spread, (), PROMPTS, applies=of_tokens),
        Drawing("picked", one_component.picked, (), PROMPTS, applies=of_components),
        Drawing(
            "picked shares",
            one_component.picked_shares,
            ("seed_shown",),
            PROMPTS,
            applies=of_components,
        ),
        Drawing("test time", mixed_prompts.test_time, (), CURVES, applies=of_tokens),
        Drawing("gates learning", one_component.test_time, (), CURVES, applies=of_components),
        Drawing("training", mixed_prompts.training, (), CURVES, live=True),
    ),
    presets=PRESETS,
    cost=cost,
    diagram=lambda config: gated_diagram(
        mixture_of(config).names,
        *(("shares", "comparison") if of_tokens(config) else ("gates shown", "gated heads")),
    ),
)

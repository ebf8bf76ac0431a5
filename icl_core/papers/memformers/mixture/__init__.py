"""Each head has learned one component of a Gaussian mixture, and gates put the heads together. Each
prompt comes from one component, as in Theorem 4.1 and in the authors' code. In the code w* has the
variance of x, in the theorem its inverse; here it has the code's. There each head is trained for
300 steps on one batch, and then gates, or gates and Γ, on a thousand prompts of all components.

Trained so, the paper's order comes out, on fresh prompts as well. With gates alone the linear
transformer is ahead of the Memformer by about one in log-loss, an error 2.7 times smaller. With Γ
learned too, the Memformer is ahead. Does it stay so when the heads learn ten times as long, at five
times the rate? That is the setting "Heads trained ten times as long".

Theorem 4.1 says that one gate at 1 and the others at 0 make the head that knows the component. Its
proof gates the heads' outputs, the model gates what they add in every layer: for one gate at 1 that
is the same. Its footnote calls gates that sum to 1 a convex combination, which asks for gates of at
least 0 too; learned ones may be negative, and need not sum to 1.

Where each token of a prompt comes from the mixture, the problem is another. A prompt is then a
single number S, the mean of its x², and what a model leaves of w* is a polynomial in S: you see all
of it in one picture.
"""

import numpy as np

from icl_core.contract.experiment import MEAN_OF_SEEDS, Drawing, Experiment, Run
from icl_core.papers.memformers.mixture import claims
from icl_core.papers.memformers.mixture.draw import losses, one_component, polynomials, stage
from icl_core.papers.memformers.mixture.metrics import measure
from icl_core.papers.memformers.mixture.settings import PRESETS, Config, View, mixture_of
from icl_core.papers.memformers.mixture.story import STORY
from icl_core.papers.memformers.mixture.train import compute
from icl_core.papers.memformers.shared.captions import compared
from icl_core.papers.memformers.shared.gated_diagram import diagram


def headline(run: Run, view: View) -> str:
    """Return what you see: the error of the Memformer beside the linear transformer's, with gates
    alone and with Γ too."""
    linear, gated, adapted = (
        float(np.log(run[f"evaluated/{each}"][:, -1]).mean()) for each in losses.FIGURES
    )
    return (
        f"A Memformer's error is {compared(gated - linear)} a linear transformer's; if Γ is "
        f"learned too, {compared(adapted - linear)} that."
    )


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
    title="A mixture of Gaussians",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
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
        Drawing("comparison", stage.comparison, applies=of_tokens, seeds=MEAN_OF_SEEDS),
        Drawing("shapes", stage.shapes, ("seed_shown",), applies=of_tokens),
        Drawing("shares", stage.shares, ("depth_shown", "seed_shown"), applies=of_tokens),
        Drawing("depth", losses.depth, (), METHODS, wide=True, applies=of_tokens),
        Drawing("methods", losses.methods, ("depth_shown",), METHODS, wide=True, applies=of_tokens),
        Drawing("gates", losses.gates, ("depth_shown", "seed_shown"), PROMPTS, applies=of_tokens),
        Drawing(
            "polynomials",
            polynomials.polynomials_panel,
            ("seed_shown",),
            PROMPTS,
            applies=of_tokens,
        ),
        Drawing("spread", polynomials.spread, (), PROMPTS, applies=of_tokens),
        Drawing("picked", one_component.picked, (), PROMPTS, applies=of_components),
        Drawing(
            "picked shares",
            one_component.picked_shares,
            ("seed_shown",),
            PROMPTS,
            applies=of_components,
        ),
        Drawing("test time", losses.test_time, (), CURVES, applies=of_tokens),
        Drawing("gates learning", one_component.test_time, (), CURVES, applies=of_components),
        Drawing("training", losses.training, (), CURVES, live=True),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    story=STORY,
    diagram=lambda config: diagram(
        mixture_of(config).names,
        *(("shares", "comparison") if of_tokens(config) else ("gates shown", "gated heads")),
    ),
)

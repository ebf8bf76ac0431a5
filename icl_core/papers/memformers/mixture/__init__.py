"""Each head has learned one component of a Gaussian mixture, and gates put the heads together. Each
prompt comes from one component, as in Theorem 4.1 and in the authors' code. There each head is
trained for 300 steps on one batch, and then gates, or gates and Γ, on a thousand prompts of all
components.

Trained so, the paper's order comes out, on fresh prompts as well. With gates alone the linear
transformer is ahead of the Memformer by about one in log-loss, an error 2.7 times smaller. With Γ
learned too, the Memformer is ahead. Does it stay so when the heads learn ten times as long, at five
times the rate? That is the setting "Heads trained to their end".

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
    """What you see: the error of the Memformer beside the linear transformer's, with gates alone
    and with Γ too."""
    linear, gated, adapted = (
        float(np.log(run[f"evaluated/{each}"][:, -1]).mean()) for each in losses.FIGURES
    )
    return (
        f"A Memformer's error is {compared(gated - linear)} a linear transformer's; if Γ is "
        f"learned too, {compared(adapted - linear)} that."
    )


def cost(config: Config) -> float:
    """Giga-operations: so few numbers cost less than the steps' own overhead, counted as 0.0004 a
    layer."""
    if config.prompts == "components":
        return _cost_of_tokens(config)
    rows = (len(mixture_of(config).means) + 1) * config.seeds
    trained = (
        2
        * config.steps
        * (config.layers * (config.layers + 1) // 2)
        * (rows * config.batch * 30 / 1e9 + 0.0004)
    )
    return trained + 5 * config.gate_steps * config.layers * (
        config.seeds * config.gate_prompts * 200 / 1e9 + 0.001
    )


def _cost_of_tokens(config: Config) -> float:
    """The same for attention over tokens: some fifty operations a token and layer,
    forth and back."""
    layers, H = config.layers * (config.layers + 1) / 2, len(mixture_of(config).means)
    heads = config.steps * (H * config.seeds * config.batch * (config.n + 1) * 60 / 1e9 + 0.001)
    gates = config.gate_steps * (
        2 * config.seeds * config.gate_prompts * (config.n + 1) * 60 / 1e9 + 0.001
    )
    return layers * (heads + gates) + 0.2 * config.layers * config.seeds


def of_tokens(config: Config) -> bool:
    """Whether every token comes from the mixture."""
    return config.prompts == "tokens"


def of_components(config: Config) -> bool:
    """Whether each prompt comes from one component."""
    return config.prompts == "components"


METHODS, PROMPTS, CURVES = "Every method", "Gates and prompts", "All curves"

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

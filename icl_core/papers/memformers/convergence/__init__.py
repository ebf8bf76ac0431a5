"""Preconditioners that converge to the inverse covariance."""

from pathlib import Path

from icl_core.contract.experiment import Batching, Drawing, Experiment
from icl_core.contract.visitor import InTab
from icl_core.papers.memformers.convergence import claims, draw
from icl_core.papers.memformers.convergence.settings import PRESETS, Config, View
from icl_core.papers.memformers.convergence.train import completed, compute, compute_together
from icl_core.papers.memformers.convergence.words import WORDS
from icl_core.papers.memformers.shared import batched_trainings
from icl_core.papers.memformers.shared.diagram import model_diagram
from icl_core.papers.memformers.shared.draw import preconditioner, two_forms
from icl_core.papers.memformers.shared.train import goes_on, has_segments


def cost(config: Config) -> float:
    """Return giga-operations: two products with S and three with A a layer, for every prompt; a
    step's own, 0.0004 a layer."""
    return (
        config.steps * config.layers * (config.seeds * config.batch * 10 * config.d**2 + 4e5) / 1e9
    )


BESIDE = "Trained beside constructed"
PROMPT = "One prompt"
CURVES = "All curves"

EXPERIMENT = Experiment(
    name="convergence",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("distances", draw.distances),
        Drawing("steps", draw.steps, ("seed_shown",), applies=draw.takes_steps),
        Drawing(
            "identities",
            draw.identities,
            ("seed_shown",),
            wide=True,
            explanations=draw.explained,
        ),
        Drawing(
            "preconditioner",
            preconditioner.preconditioner_panel,
            ("layer", "seed_shown"),
            BESIDE,
            wide=True,
        ),
        Drawing("whitened", preconditioner.whitened, ("layer", "seed_shown"), BESIDE, wide=True),
        Drawing(
            "forms",
            two_forms.forms,
            ("prompt", "reading", "layer", "seed_shown"),
            PROMPT,
            wide=True,
        ),
        Drawing("all distances", preconditioner.distances_panel, (), CURVES, live=True),
        Drawing("loss", preconditioner.training_panel, (), CURVES, live=True),
    ),
    presets=PRESETS,
    cost=cost,
    goes_on=goes_on,
    has_segments=has_segments,
    batching=Batching(batched_trainings.alike, batched_trainings.most, compute_together),
    preview=completed,
    diagram=lambda config: model_diagram(
        config,
        {
            "gradient": lambda layer: ("forms", {"layer": layer + 1}, None),
            "A": lambda layer: ("identities", {}, layer),
            "end": ("loss", {}, None),
        },
    ),
    picture=("identities",),
    in_tab=InTab(
        Path(__file__).with_name("tab.js"),
        "Convergence",
        Config(),
        {
            "d": tuple(range(2, 11)),
            "n": (5, 10, 20, 30, 40, 60, 80, 100),
            "layers": tuple(range(1, 6)),
            "learning_rate": (0.01, 0.02, 0.05, 0.1, 0.2, 0.5),
        },
    ),
)

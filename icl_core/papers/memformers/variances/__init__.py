"""Three heads have each learned prompts of one variance. Then prompts of a variance come that no head has seen. A
mixture of experts keeps all weights and learns three numbers: a gate for each head, on a thousand prompts.

It works, and one number would have done. A preconditioner for variance σ² is off by a factor for another, so a single
head with a single learned scalar is as good, and which gates are learned says where they started. Gates have something
to find where heads differ in more than a factor: with a covariance for every head they pick the one that knows it.

Try:
- Type your own unseen variances: how far can they be from those in training?
- "A covariance for every head": whom do the gates pick, and how many steps do they need?
- "Gates from ten prompts": what is lost?
- Let the gates start from the last head alone: do they stay there?
"""

from functools import partial

import numpy as np
import torch

from icl_core.experiment import Drawing, Experiment, Preset, Progress, Run
from icl_core.papers.memformers.shared import train as learning
from icl_core.papers.memformers.shared.draw.losses import written
from icl_core.papers.memformers.variances import claims
from icl_core.papers.memformers.variances import draw as gates
from icl_core.papers.memformers.variances.metrics import metrics
from icl_core.papers.memformers.variances.settings import Config, View, met_by, model_of, trained_on
from icl_core.papers.memformers.variances.test_time import from_all_starts, references, tried
from icl_core.training import phases


def run(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train every head, then learn gates for every variance V. `tried/variance` [V], seen ones last; `gate/value` and
    `gate/scalar` [seeds, V, H]; `judged/gated`, `/scalar`, `/even`, `/last` [seeds, V], `judged/head` [seeds, V, H];
    `own/loss` [seeds, H] of each head on its own prompts; `gate/curve` [seeds, V, steps]; `start/*` of the last unseen
    variance; `baseline/*` [K]; `curve/loss` [seeds, evaluations] of the first head."""
    parts = [learning.training_phase(f"head {h}", model_of(config, h)) for h in range(len(trained_on(config)))]
    made = phases.run(parts, progress, partial(phases.curves, "head 0"))
    learned = [{key: torch.tensor(array) for key, array in phases.final(part).items()} for part in made.values()]
    every = [*met_by(config), *trained_on(config)]
    found = [tried(config, learned, variance, place) for place, variance in enumerate(every)]
    stacked = {name: np.stack([each[name] for each in found], 1) for name in found[0]}
    own = {"own/loss": np.stack([part["judged/loss"] for part in made.values()], 1)}
    at = len(met_by(config)) - 1
    starts = from_all_starts(config, learned, every[at], at)
    return {
        **phases.curves("head 0", made),
        **stacked,
        **own,
        **starts,
        "tried/variance": np.array(every),
        **references(config),
    }


def headline(run: Run, view: View) -> str:
    """What you see: the loss on unseen variances with gates, with one scalar, and the floor."""
    unseen = len(met_by(run.config))
    gated, scalar = (float(np.log(run[f"judged/{way}"][:, :unseen]).mean()) for way in ("gated", "scalar"))
    floor = float(np.log(run["baseline/floor"][-1]))
    return (
        f"On variances that no head has seen, gates learned on {run.config.gate_prompts} prompts reach a log-loss of "
        f"{written(gated)}, one head with one scalar {written(scalar)}; the floor is {written(floor)}."
    )


def cost(config: Config) -> float:
    """Giga-operations: two products with S and three with A a layer, for every prompt in training and at test time."""
    heads, variances = len(trained_on(config)), len(trained_on(config)) + len(met_by(config))
    prompt = config.layers * 10 * config.d**2 * config.seeds
    trained = heads * config.steps * 1000
    adapted = (variances * (heads + 1) + 4) * config.gate_steps * config.gate_prompts
    judged = (variances * 3 + heads + 4) * 2**16 * config.d
    return prompt * (trained + adapted + judged) / 1e9


EXPERIMENT = Experiment(
    name="variances",
    title="Unseen variances",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=run,
    claims=claims.ALL,
    metrics=metrics,
    drawings=(
        Drawing("losses", gates.losses, wide=True),
        Drawing("gates", gates.learned, ("seed_shown",)),
        Drawing("starts", gates.starts, ("seed_shown",), applies=lambda config: len(trained_on(config)) > 1),
        Drawing("test time", gates.test_time),
        Drawing("training", gates.training, live=True),
    ),
    presets=(
        Preset("figure 8", "Three heads, three unseen variances", Config(), "As in the paper.", "Figures", seeds=5),
        Preset(
            "own covariances",
            "A covariance for every head",
            Config(rotations="own", gate_steps=400),
            "Now heads differ in more than a factor: watch the gates find the one that knows the prompts' U.",
            seeds=2,
        ),
        Preset(
            "ten prompts",
            "Gates from ten prompts",
            Config(gate_prompts=10),
            "Three numbers can be learned from ten prompts; how well?",
        ),
    ),
    headline=headline,
    cost=cost,
)

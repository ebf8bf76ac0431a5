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

from dataclasses import replace
from functools import partial

import numpy as np
import torch

from icl_core.experiment import Claim, Drawing, Experiment, Metric, Preset, Progress, Run
from icl_core.papers.memformers.shared import train as learning
from icl_core.papers.memformers.shared.draw.losses import written
from icl_core.papers.memformers.variances import draw as gates
from icl_core.papers.memformers.variances.settings import Config, View, met_by, model_of, trained_on
from icl_core.papers.memformers.variances.test_time import from_all_starts, references, tried
from icl_core.training import phases

ADAPTS = Claim(
    "gates-adapt",
    "log-loss above the floor, unseen σ²",
    "Gates learned at test time make a mixture of heads robust to variances that no head has seen.",
    "Section 4.2, Figure 8",
    0.2,
    0.0,
    "at most",
    reason="Learned from few prompts, gates fit these: losses have heavy tails. With a thousand prompts it comes out.",
)
REACHES = Claim(
    "gates-reach-head",
    "gates above the head at home",
    "On a variance that one head was trained on, gates learned at test time do as well as that head.",
    "Theorem 4.1",
    0.1,
    0.0,
    "at most",
    reason="Learned from few prompts, gates fit these: losses have heavy tails. With a thousand prompts it comes out.",
)
ONE_SCALAR = Claim(
    "one-scalar-suffices",
    "what gates gain over one scalar",
    "With a common U, gates for all heads are no better than one head and one scalar.",
    "not in the paper; against Figure 8's reading",
    0.0,
    0.05,
    reason="Learned from few prompts, either way is as good as these happen to allow.",
)
FINDS = Claim(
    "gates-find-head",
    "share of the head that knows U",
    "Where every head has a covariance of its own, gates learned at test time become one for the head that knows the "
    "prompts' covariance and none for the others: Theorem 4.1's choice is found by learning.",
    "Theorem 4.1; not measured in the paper",
    1.0,
    0.15,
    reason="Gates need steps and prompts to get there: 400 and a thousand are enough.",
)
LAST_HEAD = Claim(
    "gates-use-last-head",
    "share of the last head",
    "The learned gates are about (0, 0, σ₃²/σ²): all that they do is done by the head of the largest variance.",
    "Section 4.2, as the authors' code leaves it",
    1.0,
    0.1,
    reason="These gates, put in by hand, are as good, but so is every other choice with Σ g_h σ²/σ_h² = 1, for here "
    "all heads have learned the same steps. Which one is learned depends on the start; from equal gates "
    "they stay spread.",
)


STILL_ON = (
    "Heads of another U must be gated off altogether. Learned on heavy-tailed prompts, from equal gates, theirs end "
    "near zero and not at it, and what is left of them costs most where the head at home was best."
)


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


def metrics(run: Run) -> list[Metric]:
    """How far gated heads are from the floor, what the gates gain, and which head they use."""
    unseen, H = len(met_by(run.config)), run["own/loss"].shape[1]
    gated, scalar = (np.log(run[f"judged/{name}"][:, :unseen]).mean(0) for name in ("gated", "scalar"))  # [V]
    floor = float(np.log(run["baseline/floor"][-1]))
    few = run.config.gate_prompts < 100
    adapts, reaches = (claim if few else replace(claim, reason="") for claim in (ADAPTS, REACHES))
    if run.config.rotations == "own" and not few:
        reaches = replace(REACHES, reason=STILL_ON)
    at_home = np.log(run["judged/gated"][:, unseen:] / run["own/loss"]).mean(0)  # [H]
    found = [Metric(adapts, float((gated - floor).max())), Metric(reaches, float(at_home.max()))]
    share = weighed(run)[:, :unseen].mean((0, 1))  # [H]
    if run.config.rotations == "own":
        return [*found, Metric(FINDS, float(share[0]))] if run.config.spectrum != "isotropic" else found
    found.append(Metric(ONE_SCALAR, float((scalar - gated).max())))
    return [*found, Metric(LAST_HEAD, float(share[-1]))] if H > 1 else found


def weighed(run: Run) -> np.ndarray:
    """g_h σ²/σ_h² of the learned gates, [seeds, V, H]: the share of a whole step that each head takes."""
    ratio = run["tried/variance"][:, None] / np.array(trained_on(run.config))
    return run["gate/value"] * ratio


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
    version=1,
    config=Config,
    view=View,
    run=run,
    metrics=metrics,
    drawings=(
        Drawing("losses", gates.losses, wide=True),
        Drawing("gates", gates.learned, ("seed_shown",)),
        Drawing("starts", gates.starts, ("seed_shown",), applies=lambda config: len(trained_on(config)) > 1),
        Drawing("test time", gates.test_time),
        Drawing("training", gates.training, live=True),
    ),
    presets=(
        Preset("figure 8", "Three heads, three unseen variances", Config(), "As in the paper.", "paper", seeds=5),
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

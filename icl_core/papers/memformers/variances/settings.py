"""The settings of the experiment on unseen variances: what is trained, what is drawn of it, and
presets."""

from typing import Any

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import BadSetting, choice, settings, slider, text
from icl_core.contract.seeds import seed_shown_knob
from icl_core.contract.settings_io import numbers
from icl_core.papers.memformers.shared.settings import (
    AUTHORS_TRAINING,
    PROTOCOLS,
    REPEATS,
    Model,
    Task,
    task_of,
)

HEADS = "the heads"
GATES = "the gates"
AUTHORS_RATE = 0.01  # of their Adam on gates
ROTATIONS = {"common": "one U for all", "own": "a separate U for each head"}

LEARNERS = {
    "ours": "log of the mean, a rate that falls to zero (ours)",
    "authors": f"the mean, a constant rate of {AUTHORS_RATE} (authors' code)",
}

STARTS = {
    "even": "equal, one in sum",
    "ones": "one for every head",
    "zeros": "zero",
    "last": "the last head alone",
}


@settings
class Config(Task):
    """What is trained, and what is met at test time; Section 4.2, Figure 8. Every head learns from
    prompts of one variance; then gates alone are learned on prompts of another."""

    MAIN = ("d", "n", "layers", "condition", "seeds")

    FIRST = (
        "variances",
        "unseen",
        "rotations",
        "protocol",
        "layers",
        "steps",
        "start",
        "learner",
        "gate_steps",
        "gate_prompts",
    )

    variances: str = text(
        "variances in training, one for each head", 60, default="1, 2, 3", group=HEADS
    )
    unseen: str = text("variances met at test time", 60, default="0.5, 1.5, 3.5", group=GATES)
    rotations: str = choice("the heads' covariances", ROTATIONS, default="common", group=HEADS)
    protocol: str = choice("minimised", PROTOCOLS, default="ours", group=HEADS)
    layers: int = slider("layers L", 1, 6, default=4, group=HEADS)
    steps: int = slider("steps of training", 10, 3000, default=600, step=10, group=HEADS)
    start: str = choice("gates start from", STARTS, default="even", group=GATES)
    learner: str = choice("gates minimise", LEARNERS, default="ours", group=GATES, added=True)
    gate_steps: int = slider("steps at test time", 10, 1000, default=100, step=10, group=GATES)
    gate_prompts: int = slider("prompts at test time", 1, 5000, default=1000, log=True, group=GATES)
    seed: int = slider("seed", 0, 19, default=0, group=REPEATS)
    seeds: int = slider("seeds", 1, 5, default=1, group=REPEATS)

    def check(self) -> None:
        """Refuse lists that hold no variances, a spectrum that is none, and one U for heads that
        know theirs."""
        if self.protocol == "authors" and self.rotations == "common":
            raise BadSetting(
                "rotations must be own where heads are trained as in the authors' code, got common"
            )
        trained_on(self)
        met_by(self)
        model_of(self, 0)


def trained_on(config: Config) -> list[float]:
    """Return the variances that the heads learn, one each."""
    return numbers("variances", config.variances, 1, 4, low=0.01, high=100.0)


def met_by(config: Config) -> list[float]:
    """Return the variances met at test time."""
    return numbers("unseen", config.unseen, 1, 6, low=0.01, high=100.0)


def model_of(config: Config, head: int) -> Model:
    """Return the training of one head: on its own prompts, from its own start. In whitened
    coordinates, from which σ² drops out; or as in the authors' code, on one batch, with A as they
    count it (and B = 0, where theirs learns it too)."""
    own = {
        "layers": config.layers,
        "steps": config.steps,
        "seeds": config.seeds,
        "seed": config.seed + 20 * head,
    }
    if config.protocol == "ours":
        return Model(**own, **task_of(config))
    counted = {"coordinates": "authors", "initial": 1e-4, "sigma2": trained_on(config)[head]}
    return Model(
        batches="fixed", learning_rate=0.01, **AUTHORS_TRAINING, **counted, **own, **task_of(config)
    )


def home_of(config: Config, index: int) -> int:
    """Return the head whose U the prompts of the `index`-th variance have, unseen ones first: the
    last, as in the authors' code, or for a variance that a head has learned that head. With one U
    for all it is the last one's as well."""
    place = index - len(met_by(config))
    return place if config.rotations == "own" and place >= 0 else len(trained_on(config)) - 1


@settings
class View:
    """What is drawn of the gates."""

    GONE = ("tried",)  # in old links

    seed_shown: int = seed_shown_knob()


AUTHORS: dict[str, Any] = {
    "rotations": "own",
    "protocol": "authors",
    "steps": 500,
    "start": "zeros",
    "gate_steps": 500,
}

PRESETS = (
    Preset(
        "figure 8", "After the authors' protocol (B = 0, our gates)",
        Config(**AUTHORS),
        "Each head has directions U of its own; the prompts have the last head's. Rings are the "
        "paper's points.",
        "Figures", seeds=5,
    ),
    Preset(
        "figure 8, their gates", "Gates as the authors learn them (B = 0)",
        Config(**AUTHORS, learner="authors"),
        "500 steps of 0.01 from zero: how far does a gate come, and where do the rings lie now?",
        "Figures", seeds=5,
    ),
    Preset(
        "own covariances", "Heads trained to their end",
        Config(rotations="own", steps=1000, gate_steps=1000),
        "The same heads, trained on fresh prompts: the gates find the one that knows the prompts' "
        "U.", seeds=5,
    ),
    Preset(
        "one covariance", "One covariance for all heads", Config(steps=1000, gate_steps=500),
        "Now heads differ in a factor alone. One number would do, and the gates only say where "
        "they started.", seeds=5,
    ),
    Preset(
        "ten prompts", "Gates from ten prompts", Config(rotations="own", gate_prompts=10),
        "Three numbers can be learned from ten prompts. How well?",
    ),
)  # fmt: skip

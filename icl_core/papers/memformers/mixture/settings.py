"""The settings of the experiment on a Gaussian mixture: what is trained, what is drawn of it, and
presets."""

from dataclasses import dataclass
from typing import Any

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import choice, settings, slider, text
from icl_core.contract.seeds import seed_shown_knob
from icl_core.contract.settings_io import numbers, shares
from icl_core.machine import device

TASK = "the mixture"
HEADS = "the heads"
GATES = "at test time"
REPEATS = "repetition"
PROMPTS = {
    "components": "one component each (the paper)",
    "tokens": "every token from the mixture",
}
MOST = 4  # components
POOL = 2**16  # prompts of each distribution that batches are cut from, where tokens mix
CHUNK = 2**14  # prompts drawn at a time; fixed, since it decides which prompts come


@dataclass(frozen=True)
class Distribution:
    """A Gaussian mixture on the line, from which the tokens of a prompt come one by one."""

    means: tuple[float, ...]
    variances: tuple[float, ...]
    weights: tuple[float, ...]

    @property
    def second(self) -> float:
        """Return E x²."""
        parts = zip(self.means, self.variances, self.weights, strict=True)
        return sum(weight * (mean**2 + variance) for mean, variance, weight in parts)

    @property
    def fourth(self) -> float:
        """Return E x⁴."""
        parts = zip(self.means, self.variances, self.weights, strict=True)
        return sum(weight * (m**4 + 6 * m**2 * v + 3 * v**2) for m, v, weight in parts)

    @property
    def names(self) -> list[str]:
        """Return what each component is called."""
        return [
            f"N({mean:g}, {variance:g})".replace("-", "\N{MINUS SIGN}")
            for mean, variance in zip(self.means, self.variances, strict=True)
        ]

    @property
    def components(self) -> list["Distribution"]:
        """Return each component as a distribution of its own."""
        return [
            Distribution((m,), (v,), (1.0,))
            for m, v in zip(self.means, self.variances, strict=True)
        ]


@settings
class Config:
    """What is trained, and what is met at test time; Section 4.2, Figures 9 and 10. One head for
    each component, in one dimension as in the authors' code; then gates are learned on prompts of
    the whole mixture. With prompts of one component each, training is as in that code as well: P_l
    free, batches that stay, the mean of the loss, constant rates; else heads and gates learn as
    those of `variances` do."""

    MAIN = ("n", "layers", "seeds")

    FIRST = ("prompts", "layers", "steps", "learning_rate", "gate_steps", "gate_rate")

    prompts: str = choice("tokens of a prompt", PROMPTS, default="tokens", group=TASK)
    means: str = text("means, one for each component", 60, default="2.5, 0, -1", group=TASK)
    variances: str = text("variances", 60, default="0.5, 1, 2", group=TASK)
    weights: str = text("weights", 60, default="0.2, 0.3, 0.5", group=TASK, help="they sum to 1")
    n: int = slider("examples per prompt, n", 2, 100, default=20, group=TASK)
    layers: int = slider(
        "layers, up to L", 1, 6, default=4, group=HEADS, help="each depth has heads of its own"
    )
    steps: int = slider("steps of training", 10, 3000, default=800, step=10, group=HEADS)
    learning_rate: float = slider("learning rate", 0.001, 0.2, default=0.05, log=True, group=HEADS)
    batch: int = slider("prompts per batch", 10, 5000, default=1000, log=True, group=HEADS)
    gate_steps: int = slider("steps at test time", 10, 5000, default=200, step=10, group=GATES)
    gate_rate: float = slider(
        "learning rate at test time", 0.001, 0.2, default=0.05, log=True, group=GATES
    )
    gate_prompts: int = slider("prompts at test time", 1, 5000, default=1000, log=True, group=GATES)
    seed: int = slider("seed", 0, 19, default=0, group=REPEATS)
    seeds: int = slider("seeds", 1, 5, default=1, group=REPEATS)

    def check(self) -> None:
        """Refuse lists that make no mixture, and what does not fit the memory: of every token of
        every row's batch what a layer leaves for its gradient, nine numbers, and as many of the
        batch itself; where tokens mix, a prompt is a single number, and what its tokens are drawn
        from is the most."""
        heads = len(mixture_of(self).means)
        prompts = max(self.batch, self.gate_prompts)
        rows = self.seeds * max(2, heads)
        numbers = rows * (self.n + 1) * prompts * 9 * (self.layers + 1)
        if self.prompts == "tokens":
            numbers = 6 * CHUNK * self.n + (heads + 1) * 8 * max(POOL, self.batch * self.seeds)
        device.check_memory(
            4 * numbers, f"batch {self.batch}, gate_prompts {self.gate_prompts}, n {self.n}"
        )


def mixture_of(config: Config) -> Distribution:
    """Return the mixture that a config spells out. Raises `BadSetting` where it spells none."""
    means = numbers("means", config.means, 1, MOST, -10.0, 10.0)
    variances = numbers("variances", config.variances, len(means), len(means), 0.01, 100.0)
    weights = shares("weights", config.weights, len(means))
    return Distribution(tuple(means), tuple(variances), tuple(weights))


@settings
class View:
    """What is drawn of the mixture's heads."""

    depth_shown: int = slider("layers of the model shown", 1, 6, default=6, at_most="layers")
    seed_shown: int = seed_shown_knob()


AUTHORS: dict[str, Any] = {
    "prompts": "components",
    "steps": 300,
    "learning_rate": 0.001,
    "gate_steps": 5000,
    "gate_rate": 0.001,
}

PRESETS = (
    Preset(
        "figures 9 and 10",
        "The authors' protocol",
        Config(**AUTHORS),
        "Each prompt comes from one component. The paper's order comes out: look at the rings.",
        "Figures",
        seeds=5,
    ),
    Preset(
        "trained longer",
        "Heads trained ten times as long",
        Config(**AUTHORS | {"steps": 3000, "learning_rate": 0.005}),
        "The heads learn ten times as long, at five times the rate; some are still not at their "
        "end. Does the order hold?",
        "Beyond the paper",
        seeds=3,
    ),
    Preset(
        "mixed tokens",
        "Every token from the mixture",
        Config(),
        "Another problem: no prompt looks like those of one component.",
        "Beyond the paper",
        seeds=5,
    ),
    Preset(
        "equal weights",
        "Mixed tokens, equal weights",
        Config(weights="1/3, 1/3, 1/3"),
        "Fewer tokens with small x: S varies less, and the floor is lower.",
        "Beyond the paper",
    ),
    Preset(
        "far apart",
        "Mixed tokens, far apart",
        Config(means="8, 0, -1", weights="0.1, 0.4, 0.5"),
        "A rare component with large x rules S: it varies widely, and the floor rises.",
        "Beyond the paper",
    ),
)

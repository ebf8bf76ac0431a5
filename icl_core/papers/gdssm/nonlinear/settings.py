"""The settings of the experiment on sines: which models are compared, how they are trained, what is
drawn of them."""

from dataclasses import dataclass

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import choice, settings, slider, text
from icl_core.contract.seeds import seed_shown_knob
from icl_core.machine import device
from icl_core.papers.gdssm.shared.settings import (
    MODEL,
    REPEATS,
    TASK,
    TRAINING,
    first_seed,
    number_of_seeds,
)
from icl_core.papers.gdssm.shared.typed_points import points

SIDE_BY_SIDE = 25  # of many seeds: more of them leave the cache
KINDS = {"construction": "the construction, rates trained", "trained": "trained freely"}
POINTS = (
    "-4.5:.14, -3.6:-.21, -2.8:-.39, -1.9:-.31, -.9:.04, 0:.34, .8:.39, 2.1:.02, 3.1:-.33, 4.4:-.31"
)


@dataclass(frozen=True)
class Variant:
    """A model of the comparison: its id in a run, its label and style, what embeds x, and what
    bends beside it."""

    id: str
    label: str
    colour: str
    dash: str = "solid"
    mlp: bool = False
    gate: bool = False
    state: bool = False  # an MLP on the state, as in A.3
    layers: str = ""  # "construction" or "trained"; else as the setting asks


VARIANTS = {
    variant.id: variant
    for variant in (
        Variant("linear", "linear", "layer 3", "dash", layers="construction"),
        Variant("linear trained", "linear, layers trained", "layer 6", "dash", layers="trained"),
        Variant(
            "state", "linear, MLP on the state", "layer 4", "dot", state=True, layers="construction"
        ),
        Variant("linear gate", "linear, gated", "layer 2", gate=True, layers="construction"),
        Variant(
            "linear gate trained",
            "linear, gated, layers trained",
            "layer 5",
            gate=True,
            layers="trained",
        ),
        Variant("mlp", "MLP", "layer 1", "dashdot", mlp=True),
        Variant("mlp gate", "MLP, gated", "trained", mlp=True, gate=True),
    )
}
FIGURE_4B = ("linear", "linear trained", "linear gate", "linear gate trained")
# the two models that are set against each other
BENT = "mlp gate"
STRAIGHT = "linear gate"
EMBEDDINGS = {variant.id: variant.label for variant in VARIANTS.values() if not variant.state}


def variant(id: str) -> Variant:
    """Return the variant of that id; one that the table does not know is called by its id and drawn
    plainly."""
    return VARIANTS.get(id, Variant(id, id, "gradient descent"))


@settings
class Config:
    """What is trained; Section 4.3, Figure 4 B, Appendices A.3 and A.7. Seven models, one after the
    other."""

    MAIN = ("features", "N", "layers", "seeds")

    ssm: str = choice(
        "GD-SSM layers behind the MLP",
        KINDS,
        default="construction",
        group=MODEL,
        help="behind the linear embedding both are trained",
    )
    layers: int = slider(
        "layers", 1, 3, default=1, group=MODEL, help="each takes a step of gradient descent"
    )
    features: int = slider("features of the embedding", 1, 20, default=10, group=MODEL)
    hidden: int = slider("hidden width of the MLPs", 4, 100, default=40, group=MODEL)
    N: int = slider("context pairs, N", 1, 50, default=10, group=TASK)
    batch: int = slider("tasks per batch", 16, 1024, default=128, step=16, group=TRAINING)
    steps: int = slider("steps per model", 10, 6000, default=1000, step=10, group=TRAINING)
    learning_rate: float = slider(
        "learning rate", 1e-4, 0.1, default=0.01, log=True, group=TRAINING, was="rate"
    )
    seed: int = first_seed()
    seeds: int = number_of_seeds()
    many: int = slider(
        "more seeds of the models of Figure 4 B",
        0,
        100,
        default=0,
        step=10,
        group=REPEATS,
        added=True,
        help="only the losses at their ends are kept, for a median",
    )

    def check(self) -> None:
        """Refuse what does not fit the memory: for every seed and token the hidden units, and the
        features once for every time that a state is applied."""
        side_by_side = max(self.seeds, min(self.many, SIDE_BY_SIDE))
        a_token = 3 * self.hidden + self.features * (4 + 4 * self.layers**2)
        counted = ("batch", "N", "features", "hidden", "layers", "seeds", "many")
        sizes = ", ".join(f"{name} {getattr(self, name)}" for name in counted)
        device.check_memory(4 * self.batch * (self.N + 1) * side_by_side * a_token, sizes)


@settings
class View:
    """What is drawn of the models, or asked of them."""

    snapshot: int = slider("training step", 0, 31, default=31)
    prompt: int = slider("prompt", 0, 99, default=0)
    seed_shown: int = seed_shown_knob()
    features_of: str = choice("features of", EMBEDDINGS, default="mlp")
    points: str = text(
        "points x:y", 400, default=POINTS, help="x from −5 to 5 is what the models were trained on"
    )

    def check(self) -> None:
        """Refuse points that are none."""
        points(self.points)


PRESETS = (
    Preset(
        "figure 4B",
        "Figure 4 B: one layer",
        Config(steps=4000),
        "Trained and constructed layers behind a linear embedding, and what an MLP embedding does.",
        "Figures",
        seeds=5,
    ),
    Preset(
        "several layers",
        "Figure 4 B: two layers",
        Config(layers=2, steps=4000),
        "Two layers, trained and constructed. With the right features a second step lowers the "
        "loss tenfold.",
        "Figures",
        seeds=5,
    ),
    Preset(
        "fifty seeds",
        "Figure 4 B over fifty seeds: one layer",
        Config(steps=4000, many=50),
        "Some seeds end far from the others. Fifty of them, each a dot, decide by their median.",
        "Figures",
    ),
    Preset(
        "fifty seeds, two layers",
        "Figure 4 B over fifty seeds: two layers",
        Config(layers=2, steps=4000, many=50),
        "Fifty seeds of two layers, trained and constructed.",
        "Figures",
    ),
    Preset(
        "trained",
        "An MLP over trained layers",
        Config(ssm="trained"),
        "Behind the MLP, too, the layers are trained freely. They need not become a step of "
        "gradient descent.",
        "Beyond the paper",
        seeds=5,
    ),
)

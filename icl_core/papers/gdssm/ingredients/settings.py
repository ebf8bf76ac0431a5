"""The settings of the experiment on ingredients: which parts are taken away, and what is drawn."""

from dataclasses import dataclass, replace

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import settings, slider, toggle
from icl_core.machine import device
from icl_core.papers.gdssm.shared.settings import (
    TASK,
    TRAINING,
    first_seed,
    number_of_seeds,
    tested_with,
)


@dataclass(frozen=True)
class Variant:
    """A layer with an ingredient taken away.

    id      its name in a run
    label   its name for people
    what    what is taken away, in a clause
    window  how many of the latest tokens the layer multiplies with each other
    reads   whether the state is multiplied with the window (C q) where it is read
    decay   the share of the state that is kept at each window; None if it is trained
    colour  of its curve and bar
    """

    id: str
    label: str
    what: str
    window: int = 3
    reads: bool = True
    decay: float | None = None
    colour: str = "trained"


VARIANTS = {
    variant.id: variant
    for variant in (
        Variant("all", "all of it", "nothing: x, y and the next x in a window"),
        Variant(
            "two", "window of 2", "the third token of the window", window=2, colour="layer 4"
        ),
        Variant(
            "one", "window of 1", "all products of two tokens", window=1, colour="layer 6"
        ),
        Variant(
            "fixed",
            "fixed read-out",
            "the product of the state with the query",
            reads=False,
            colour="layer 2",
        ),
        Variant(
            "forgets", "A = 0", "all that was kept, but for the last pair", decay=0.0,
            colour="layer 3",
        ),
        Variant("keeps", "A = 1", "the training of the decay", decay=1.0, colour="layer 5"),
    )
}  # fmt: skip


def variant(id: str) -> Variant:
    """Return the variant of that id; one that the table does not know is called by its id."""
    return VARIANTS.get(id, Variant(id, id, "not known"))


@settings
class Config:
    """What is trained: the layer of Section 3.2 and five others, each without one of its parts. All
    have one decay for the whole state."""

    MAIN = ("f", "N", "seeds")

    f: int = slider("features, f", 1, 20, default=10, group=TASK)
    N: int = slider("context pairs, N", 1, 40, default=10, group=TASK)
    batch: int = slider("tasks per batch", 16, 1024, default=256, step=16, group=TRAINING)
    steps: int = slider("steps", 10, 2000, default=300, step=10, group=TRAINING)
    learning_rate: float = slider(
        "learning rate", 1e-4, 0.2, default=0.02, log=True, group=TRAINING
    )
    seed: int = first_seed()
    seeds: int = number_of_seeds()

    def check(self) -> None:
        """Refuse what does not fit the memory: the windows of a batch, of each seed what is kept
        for the gradient, and the test set."""
        windows = 2 * self.N * (self.f + 3)
        trained = self.batch * windows * (10 + 8 * self.seeds)
        what = f"batch {self.batch}, N {self.N}, f {self.f}, seeds {self.seeds}"
        device.check_memory(4 * (trained + 2 * tested_with(self.f, self.N)), what)


@settings
class View:
    """What is drawn of the layers."""

    relative: bool = toggle("as a share of predicting zero", default=False)


PAPERS = Config()

PRESETS = (
    Preset(
        "paper size",
        "The key ingredients, f = N = 10",
        PAPERS,
        "Take the layer's parts away one by one: which of them cost the gain?",
        "Paper's setting",
        seeds=3,
    ),
    Preset(
        "classroom",
        "In class: f = 3, N = 5",
        replace(PAPERS, f=3, N=5),
        "Smaller tasks, which train in a moment.",
        seeds=3,
    ),
)

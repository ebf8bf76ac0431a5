"""The settings of the bigram task, and of the simplified transformer: of its training, or the
matrices that a visitor has chosen, by their digest."""

from collections.abc import Mapping
from typing import Any

from icl_core.contract.knobs import BadSetting, choice, document, settings, slider, toggle
from icl_core.machine import device
from icl_core.papers.birth.shared import own_matrices, own_text
from icl_core.papers.birth.shared.own_text import size_field, text_field
from icl_core.papers.birth.shared.task_knobs import (
    TASK,
    K_field,
    no_repeat_field,
    outputs_field,
    triggers_field,
)
from icl_core.training import loop

# groups of settings, as the page names them
MODEL = "the model"
TRAINING = "the training"
FREEZING = "freezing"
REPEATS = "repetition"

SCALES = {"paper": "N(0, 1/d), as the paper says", "code": "N(0, 1), as the authors' code"}
POSITIONS = {"in_context": "in-context positions", "all": "all positions"}
EVALUATIONS = 2, 30  # steps between evaluations at first, and how many of these
OPTIMISERS = {"adamw": "AdamW", "sgd": "SGD with momentum 0.9"}


@settings
class TaskConfig:
    """The bigram task with triggers (Section 3)."""

    triggers: str = triggers_field()
    K: int = K_field()
    outputs: str = outputs_field()
    text: str = text_field(TASK)
    N: int = size_field(65, TASK)
    T: int = slider("sequence length, T", 32, 256, default=64, step=32, group=TASK)
    no_repeat: bool = no_repeat_field()

    @property
    def alphabet(self) -> int:
        """The number of different characters in the text."""
        return own_text.alphabet(self)


def _matrices_field() -> Any:
    """Return the field `matrices` of a config: those trained here, or a visitor's own."""
    return document(
        "matrices", "trained ones", of="matrices", group=MODEL, fit=_fit, about=_about, added=True,
        help="or your own, from a safetensors file: they open like those of a trained run",
    )  # fmt: skip


def _fit(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields to set where matrices are chosen: the sizes that they have, the loss with
    which such matrices are trained, the task that they were trained on if it is known, and no more
    triggers than the sizes allow."""
    fields = {name: chosen[name] for name in own_matrices.DECIDED}
    if chosen["matrices"]:
        matrices = own_matrices.load(chosen["matrices"])
        fields = {**matrices.fields, **matrices.task}
        if not own_text.is_here(fields.get("text", "")):
            del fields["text"]
    # only the loss on all positions trains W_F's bigrams
    positions = "all" if fields["feed_forward"] else "in_context"
    return {**fields, "positions": positions, "K": own_text.fitting_K({**chosen, **fields})}


def _about(chosen: Mapping[str, Any]) -> str:
    """Say which matrices a visitor has chosen, and whether the task is what they were trained
    on."""
    matrices = own_matrices.load(chosen["matrices"])
    sentence = own_matrices.describe(matrices)[0]
    return f"{sentence} {own_matrices.other_task(matrices, chosen)}".rstrip()


def _check_matrices(config: Any) -> None:
    """Raise `BadSetting` for settings that are not those of the config's matrices, and `NotHere`
    where the matrices are not kept on this computer."""
    if not config.matrices:
        return
    for name, value in own_matrices.load(config.matrices).fields.items():
        if getattr(config, name) != value:
            raise BadSetting(
                f"{name} must be {value}, as your matrices have it, got {getattr(config, name)}"
            )


@settings
class Config(TaskConfig):
    """The simplified transformer and its training; Sections 3, 4.2 and 5, Appendix E. The paper's
    size is d = 128, T = 256, batches of 512."""

    MAIN = ("K", "d", "T", "layers", "seeds")

    matrices: str = _matrices_field()
    d: int = slider("width, d", 16, 512, default=128, step=16, group=MODEL)
    layers: int = slider(
        "layers",
        1,
        2,
        default=2,
        group=MODEL,
        help="a model of one layer cannot look at the previous character",
    )
    feed_forward: bool = toggle("linear feed-forward, W_F", default=False, group=MODEL)
    scale: str = choice("initial scale", SCALES, default="paper", group=MODEL, shown_if="trains")
    positions: str = choice(
        "loss on",
        POSITIONS,
        default="in_context",
        group=TRAINING,
        help="of your own matrices, what you trained them on",
    )
    optimiser: str = choice(
        "optimiser", OPTIMISERS, default="adamw", group=TRAINING, shown_if="trains",
        help="SGD has momentum 0.9 and weight decay 0.0001 (Appendix E), AdamW no decay",
    )  # fmt: skip
    learning_rate: float = slider(
        "learning rate",
        0.001,
        2.0,
        default=0.2,
        log=True,
        group=TRAINING,
        shown_if="trains",
        was="rate",
    )
    batch: int = slider(
        "sequences per batch", 16, 512, default=128, step=16, group=TRAINING, shown_if="trains"
    )
    steps: int = slider("steps", 10, 2000, default=300, step=10, group=TRAINING, shown_if="trains")
    freeze_W_K1: bool = toggle("freeze W_K¹", default=False, group=FREEZING, shown_if="trains")
    freeze_W_K2: bool = toggle("freeze W_K²", default=False, group=FREEZING, shown_if="trains")
    freeze_W_O2: bool = toggle("freeze W_O²", default=False, group=FREEZING, shown_if="trains")
    freeze_W_F: bool = toggle("freeze W_F", default=False, group=FREEZING, shown_if="trains")
    freeze_until: int = slider(
        "until step", 0, 2000, default=0, step=10, group=FREEZING, shown_if="trains"
    )
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS, shown_if="trains")
    seeds: int = slider("seeds", 1, 5, default=1, group=REPEATS, shown_if="trains")

    def check(self) -> None:
        """Refuse a task that the text does not allow, freezing beyond the last step, and what does
        not fit the memory."""
        own_text.check(self)
        _check_matrices(self)
        if self.freeze_until > self.steps:
            raise BadSetting(
                f"freeze_until must be at most steps, {self.steps}, got {self.freeze_until}"
            )
        needed = (
            memory(self.T, self.d, self.batch)
            + 4 * 4 * len(loop.evaluations(self.steps, *EVALUATIONS)) * self.d**2
            + 4 * 6 * (self.seeds - 1) * self.d**2  # the last matrices of the other seeds
        )
        device.check_memory(needed, f"batch {self.batch}, T {self.T}, d {self.d}")

    @property
    def trains(self) -> bool:
        """Whether anything is trained: nothing is where the matrices are the visitor's."""
        return not self.matrices

    @property
    def two_layers(self) -> bool:
        """Whether there is a W_K1."""
        return self.layers == 2

    @property
    def updates(self) -> int:
        """The number of steps that are trained."""
        return self.steps if self.trains else 0


def of_seed(config: Any, seed: int, *knobs: str) -> dict[str, Any]:
    """Return the settings of one of the trainings that `config` compares: `knobs`, which it hands
    on as they are, and its `seed`-th seed."""
    return {name: getattr(config, name) for name in knobs} | {"seed": (config.seed + seed) % 100}


def memory(T: int, d: int, batch: int) -> int:
    """Return an estimate of the bytes of one training: twenty T × T maps and streams of the
    sequences held at once, a third of them in the scratch memory that products keep for their
    shapes; the batch; the matrices with their optimiser's state.

    The snapshots of every evaluation, where they are kept, come on top.
    """
    at_once = max(1, 2**12 // T)
    return 4 * (20 * at_once * T * (T + d) + 16 * batch * T + 16 * d**2)

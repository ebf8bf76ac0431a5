"""The settings of a GD-SSM training: which task, which model, how it is trained."""

from typing import Any

from icl_core.contract.knobs import BadSetting, choice, settings, slider, toggle
from icl_core.machine import device

OPTIMISERS = {
    "ours": "Adam, cosine to zero",
    "authors": "as the authors: AdamW, two rates, warm-up",
}
TEST_SET = (2**15, 2**24)  # tasks at most, and numbers of x at most
# tasks at which sensitivities are taken: f^2 numbers a task, and their cosine differs little among
# tasks
DERIVED = 64
STARTS = {
    "random": "random weights",
    "construction": "the construction, one rate for all layers",
}
TASK = "the task"
MODEL = "the model"
TRAINING = "the training"
REPEATS = "repetition"
MODELS = {
    "1-D": "1-D: scalar labels, tokens [x y, next x]",
    "N-D": "N-D: vector labels, tokens x, y, x, y, …",
}
RECURRENCES = {
    "scalar": "one number",
    "row": "one for each row of the state",
    "full": "one for each entry",
}


def first_seed() -> Any:
    """Return the knob of the seed from which a run's seeds count."""
    return slider(
        "seed",
        0,
        99,
        default=0,
        group=REPEATS,
        help="of the tasks and of the first initial weights",
    )


def number_of_seeds() -> Any:
    """Return the knob of how many models a run trains, one a seed."""
    return slider(
        "seeds",
        1,
        5,
        default=1,
        group=REPEATS,
        help="initial weights that train side by side on the same tasks",
    )


@settings
class Config:
    """What is trained; Sections 3 and 4, Appendix A. The paper's size is f = N = 10; its batches
    hold 64 tasks."""

    MAIN = ("f", "N", "layers", "seeds")

    model: str = choice("model", MODELS, default="N-D", group=MODEL)
    recurrence: str = choice("recurrence, A", RECURRENCES, default="row", group=MODEL)
    layers: int = slider(
        "layers", 1, 4, default=1, group=MODEL,
        help="each takes a step of gradient descent; two and more read scalar labels as tokens x, "
             "[0, …, y], x, …",
    )  # fmt: skip
    skip: bool = toggle(
        "a skip of ours, C_t skip", default=False, group=MODEL,
        help="the paper's skip weights (Figure 3 C) are q; with two layers and more, ours leaves "
             "the raw query out",
    )  # fmt: skip
    penalty: float = slider(
        "L2 penalty λ, from two layers on",
        0.0,
        1.0,
        default=0.0,
        group=MODEL,
        help="on the implicit linear model",
    )
    tied: bool = toggle(
        "looped: all layers share their weights", default=False, group=MODEL, added=True,
        shown_if="several", help="the output of one layer is fed back to it (Appendix A.2)",
    )  # fmt: skip
    f: int = slider("features, f", 1, 40, default=10, group=TASK)
    N: int = slider("context pairs, N", 1, 100, default=10, group=TASK)
    r: float = slider(
        "scale of x, r", 0.1, 4.0, default=1.0, step=0.1, group=TASK, help="x is uniform on (−r, r)"
    )
    n_o: int = slider(
        "entries of y that are not zero, n_o (0: all f)", 0, 40, default=0, group=TASK,
        at_most="f", added=True, help="the others pad it to the length of x (footnote 3)",
    )  # fmt: skip
    batch: int = slider("tasks per batch", 16, 4096, default=256, step=16, group=TRAINING)
    optimiser: str = choice("optimiser", OPTIMISERS, default="ours", group=TRAINING)
    steps: int = slider(
        "steps", 10, 300_000, default=300, step=10, group=TRAINING, help="the paper: up to 300,000"
    )
    learning_rate: float = slider(
        "learning rate", 1e-4, 0.2, default=0.02, log=True, group=TRAINING, was="rate",
        help="as the authors train, the decays have half of it: 1e-4 and 2e-4",
    )  # fmt: skip
    start: str = choice("training starts at", STARTS, default="random", group=TRAINING, added=True)
    seed: int = first_seed()
    seeds: int = number_of_seeds()

    @property
    def labels(self) -> int:
        """How many numbers a label has."""
        return 1 if self.model == "1-D" else self.n_o or self.f

    @property
    def several(self) -> bool:
        """Whether there are more layers than one."""
        return self.layers > 1

    def check(self) -> None:
        """Refuse what the model does not have, and what does not fit the memory: in training the
        windows, and for every seed and every application of a state to a vector the products that
        automatic differentiation keeps; the test set; and sensitivities, taken with f copies of
        some tasks, and what moves with them. Of several layers all that half as much again: what
        they free leaves holes in the heap, in each run others."""
        if self.model == "1-D" and self.skip:
            raise BadSetting("skip must be off in the 1-D model, got on")
        # of Z but one row is asked for
        if self.model == "1-D" and self.several and self.recurrence != "scalar":
            raise BadSetting(
                "recurrence must be scalar with several layers and scalar labels, got "
                f"{self.recurrence}"
            )
        self._check_labels_and_start()
        if self.recurrence == "full" and (self.model == "1-D" or self.several):
            raise BadSetting(
                "recurrence must be scalar or row in the 1-D model and with several layers, got "
                "full"
            )
        applied = (2 * self.layers - 1) * (8 if self.recurrence == "full" else 4)
        trained = self.batch * self.N * (self.f + 3) * (20 + self.seeds * applied)
        tested = tested_with(self.f, self.N)
        derived = self.seeds * self.N * self.f * DERIVED * self.f * (18 if self.several else 4)
        numbers = trained + tested + derived
        sizes = (
            f"batch {self.batch}, N {self.N}, f {self.f}, layers {self.layers}, seeds {self.seeds}"
        )
        device.check_memory(numbers * (6 if self.several else 4), sizes)

    def _check_labels_and_start(self) -> None:
        """Refuse labels that the model does not read, and starts that are all alike."""
        if self.model == "1-D" and self.n_o > 0:
            raise BadSetting(f"n_o must be 0 with scalar labels, got {self.n_o}")
        if self.n_o > self.f:
            raise BadSetting(f"n_o must be at most f = {self.f}, got {self.n_o}")
        # other rows are asked for nothing
        if 0 < self.n_o < self.f and self.recurrence != "scalar":
            raise BadSetting(f"recurrence must be scalar where n_o < f, got {self.recurrence}")
        if self.start == "construction" and self.seeds > 1:
            raise BadSetting(
                f"seeds must be 1 from the construction, as all are alike, got {self.seeds}"
            )
        if self.start == "construction" and self.tied:
            raise BadSetting("start must be random with looped layers, got construction")


def tested_with(f: int, N: int) -> int:
    """Return how many numbers a test set takes: x, y, a product of the two, and W."""
    tasks = max(256, min(TEST_SET[0], TEST_SET[1] // (N * f)))
    return tasks * (3 * (N + 1) * f + f**2)

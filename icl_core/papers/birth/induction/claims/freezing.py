"""What is learned while some of the matrices are frozen (Figure 3)."""

from dataclasses import replace
from functools import partial

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.birth.induction.claims.section_5 import FIGURE_3, alone
from icl_core.papers.birth.induction.memory_formation import (
    at_last_step,
    at_the_thaw,
    before_thaw,
    gained,
)

# the settings in which two trainings of Figure 3 differ
SCHEDULE = ("steps", "freeze_W_K1", "freeze_W_K2", "freeze_W_O2", "freeze_until")


def frozen(*names: str) -> dict:
    """Return the settings of Figure 3 with the matrices `names` frozen until iteration 300, and no
    others."""
    return {
        **FIGURE_3,
        "freeze_W_K1": "W_K1" in names,
        "freeze_W_K2": "W_K2" in names,
        "freeze_W_O2": "W_O2" in names,
        "freeze_until": 300,
    }


either = partial(
    Claim,
    source="Section 5, Figure 3",
    at={**FIGURE_3, "freeze_W_O2": False, "freeze_until": 300},
    setting="one of W_K¹ and W_K² frozen, beside the reverse",
    at_least=0.05,
)
NOTHING_WITHOUT_OUTPUT = alone(
    id="nothing-without-W_O2",
    label="recall gained by W_K¹ and W_K² with W_O² frozen, as a share of that with nothing frozen",
    text="The key-query matrices learn nothing unless W_O² is learned first: what W_K² and early "
    "W_K¹ gain while it is frozen is less than a tenth of what they gain in as many steps with "
    "nothing frozen.",
    quote="training key-query matrices does not lead to any learning unless W_O² is learned first",
    at=frozen("W_O2"),
    at_most=0.0,
    tolerance=0.1,
)
OUTPUT_ALONE = alone(
    id="W_O2-alone",
    label="W_O² recall, trained alone",
    text="W_O² learns the right associations even when trained by itself.",
    quote="can learn the correct associations even when trained by itself",
    at=frozen("W_K1", "W_K2"),
    at_least=1.0,
    tolerance=0.1,
)
OUTPUT_DOES_NOT_SUFFICE = alone(
    id="W_O2-does-not-suffice",
    label="accuracy at the thaw with W_O² alone, less a single layer's",
    text="W_O² alone does not suffice: just before the key-query matrices are released, the model "
    "is right less often than a trained single layer.",
    quote="While such a model has poor prediction accuracy, it is nevertheless sufficient to "
    "recover the correct associations",
    at=frozen("W_K1", "W_K2"),
    at_most=0.0,
)
TOGETHER = alone(
    id="together-is-beneficial",
    label="accuracy at the thaw with nothing frozen, less the better of W_K¹ or W_K² frozen",
    text="Learning W_K¹ and W_K² together is better than with one of them frozen: after as many "
    "steps more predictions are right.",
    quote="yet learning them together seems beneficial",
    at={**FIGURE_3, "freeze_W_O2": False, "freeze_until": 300},
    setting="one of W_K¹ and W_K² frozen, beside the reverse and beside nothing frozen",
    at_least=0.1,
)
SECOND_EASIER = either(
    id="W_K2-easier-than-W_K1",
    label="W_K² without W_K¹, less the reverse",
    kind="paper",
    text="W_K² is easier to learn without W_K¹ than the reverse: just before the thaw it gets "
    "more of its pairs right than early W_K¹ does in the run where W_K² was frozen.",
    quote="the second layer is learned before the first, in the sense that W_K² is easier to learn "
    "when W_K¹ is frozen compared to the reverse",
)
SECOND_EASIER_BY_FREQUENCY = either(
    id="W_K2-easier-by-frequency",
    label="W_K² by frequency without W_K¹, less the reverse",
    kind="ours",
    text="Counted by frequency, too, W_K² is easier to learn without W_K¹ than the reverse.",
    source="not in the paper",
)


def measure(run: Run) -> list[Metric]:
    """Return what has been learned at the last evaluation before the thaw."""
    config = run.config
    evaluation = before_thaw(run)
    step = float(run["curve/step"][evaluation])
    if config.freeze_W_O2:
        free = _nothing_frozen(run)
        if free is None:
            return []
        # With W_O2 frozen a seed's gain is noise: it is divided by the mean gain without freezing.
        share = gained(run, step) / gained(free, step).mean()
        return [Metric.over_seeds(NOTHING_WITHOUT_OUTPUT, share)]
    if config.freeze_W_K1 and config.freeze_W_K2:
        recall = run["curve/recall_W_O2"][:, evaluation]
        lead = run["curve/accuracy"][:, evaluation] - run["baseline/one_layer"][0]
        return [
            Metric.over_seeds(OUTPUT_ALONE, recall),
            Metric.over_seeds(OUTPUT_DOES_NOT_SUFFICE, lead),
        ]
    if "opposite/step" not in run.tensors:
        return []
    return [
        _easier(run, SECOND_EASIER, "W_K2"),
        _easier(run, SECOND_EASIER_BY_FREQUENCY, "W_K2_weighted"),
        *_together_is_beneficial(run),
    ]


def _nothing_frozen(run: Run) -> Run | None:
    """Return the shipped run with the settings of a frozen one and as many seeds in which nothing
    is frozen; None if there is none at this size."""
    config = run.config
    schedule = {name: getattr(config, name) for name in SCHEDULE}
    for preset in ("order", "order, paper size"):
        free = run.shipped(preset)
        if free is None or free.config.seeds != config.seeds:
            continue
        if replace(free.config, **schedule) == config:
            return free
    return None


def _together_is_beneficial(run: Run) -> list[Metric]:
    """Return how much larger the accuracy is with nothing frozen than with the better one of W_K1
    and W_K2 frozen, at the end of the opposite training, the last step before the thaw."""
    free = _nothing_frozen(run)
    if free is None:
        return []
    step = float(run["opposite/step"][-1])
    own = at_last_step(run, "accuracy", step)  # [seeds]
    opposite = at_last_step(run, "accuracy", step, "opposite")  # [seeds]
    gain = at_last_step(free, "accuracy", step) - np.maximum(own, opposite)  # [seeds]
    return [Metric.over_seeds(TOGETHER, gain)]


def _easier(run: Run, claim: Claim, second: str) -> Metric:
    """Return by how much the recall `second` of W_K2 with W_K1 frozen exceeds that of early W_K1
    with W_K2 frozen, at equal steps, seed by seed."""
    recall_W_K2, recall_W_K1 = at_the_thaw(run, second, "W_K1_early")  # [seeds] each
    return Metric.over_seeds(claim, recall_W_K2 - recall_W_K1)

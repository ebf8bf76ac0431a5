"""What the three matrices store, and in which order, where all of them are trained and the loss
counts in context alone (Figure 3); the attention from which they begin; and what is learned while
some of the matrices are frozen."""

from dataclasses import replace
from functools import partial

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.figures import mean_of
from icl_core.papers.birth.induction import attention_scores
from icl_core.papers.birth.induction.claims.section_5 import (
    ALL_LEARN,
    FIGURE_3,
    alone,
    metric,
    over_seeds,
    recalled,
)
from icl_core.papers.birth.induction.load_run import (
    FIRST_BY_FREQUENCY,
    FIRST_OF,
    at_last_step,
    at_the_thaw,
    before_thaw,
    gained,
    over_training,
    top_down,
    weights_at,
)
from icl_core.papers.birth.shared import probes
from icl_core.papers.birth.shared.train import begun, task_of

SCORES_OF_THE_CODE = 4 / 3  # variance of a row's scores before training, embeddings N(0, 1)

initial = partial(
    Claim,
    kind="paper",
    source="Section 4.1",
    quote="attention scores at initialization are near-uniform",
)
RECALL = {
    name: recalled(
        id=f"recall-{name.replace('_early', '-early')}",
        panel="rows" if name == "W_K1_early" else "memories",
        label=f"{symbol} recall, worst seed",
        text=f"{symbol} stores most of its pairs{which}. The paper names no level.",
        at_least=0.5,
    )
    for name, symbol, which in (
        ("W_O2", "W_O²", ""),
        ("W_K2", "W_K²", ""),
        ("W_K1_early", "W_K¹ early", " of early positions"),
    )
}
FAITHFUL = alone(
    id="construction-is-faithful",
    panel="memories",
    label="least recall of W_O², W_K², W_K¹ early",
    text="Training finds the memories of the construction: W_O² and W_K² store at least half of "
    "the pairs that eq. 7 plants in them, and W_K¹ half of those of early positions, which are the "
    "ones that are used. The paper names no level.",
    source="Section 4.2",
    quote="we show in Section 5 that it is surprisingly faithful to the learned model",
    at=ALL_LEARN,
    at_least=0.5,
)
TOP_DOWN = alone(
    id="top-down",
    panel="memories",
    label="steps from W_O² to the earlier of W_K¹ early and W_K²",
    text="With nothing frozen, the output matrix is learned first: by the paper's recall probes it "
    "gets half of its pairs right before W_K¹ does, asked for early positions, and before W_K² "
    "does.",
    source="Section 1",
    quote="the model first finds the right output associations from the current token and from "
    "uniform attention patterns, then the attention heads learn to focus on the correct key-value "
    "pairs",
    at=ALL_LEARN,
    at_least=1.0,
)
TOP_DOWN_BY_FREQUENCY = recalled(
    id="top-down-by-frequency",
    panel="memories",
    label="steps from W_O² to the earlier of W_K¹ early and W_K² by frequency",
    text="The same with each character of W_K² counted as often as it occurs.",
    at=ALL_LEARN,
    at_least=1.0,
)
EARLY_FIRST = alone(
    id="early-positions-first",
    panel="rows",
    label="W_K¹ recall, early less late rows",
    text="W_K¹ learns early positions much faster than late ones: over the training, it gets more "
    "of its early rows right on average.",
    quote="fits previous token associations for early positions much faster than later positions",
    at_least=0.1,
)
EVEN_OUTPUT = alone(
    id="even-output-in-context",
    panel="score",
    label="W_O²: standard deviation of stored readings over their mean",
    text="Trained in context alone, without W_F, W_O² stores its pairs about evenly: on the first "
    "seed with a standard deviation of at most a third of the mean. Neither the caption nor the "
    "text says how the model of Figure 7 was trained; beside W_F see the experiment on the data.",
    source="Appendix E, Figure 7",
    quote="the diagonal for W_O² seems to be roughly uniform",
    at=ALL_LEARN,
    at_most=1 / 3,
)
UNIFORM_START = initial(
    id="near-uniform-start",
    label="evenness of the attention before training",
    text="With embeddings and matrices N(0, 1/d), attention before training is nearly uniform: the "
    "entropy of its rows is at least 95% of the largest.",
    at={"scale": "paper", "d": 128},
    at_least=0.95,
)
UNIFORM_START_OF_THE_CODE = initial(
    id="near-uniform-start-of-the-code",
    label="evenness of the attention before training, embeddings N(0, 1)",
    text="The same in the trainings of Section 5. Their embeddings are N(0, 1), as in the authors' "
    "code, and scores d / √3 times as large.",
    source="Section 5",
    quote="Recall that the attention weights are essentially uniform when W_K are at random "
    "initialization",
    at={"scale": "code", "d": 128},
    at_least=0.95,
)


def measure_memories(run: Run) -> list[Metric]:
    """Return the claims on the memories and on their order, and on the attention at the start."""
    recalls = [
        metric(run, claim, run[f"curve/recall_{name}"][:, -1].min())
        for name, claim in RECALL.items()
    ]
    return [*_order(run), *recalls, *_faithful(run), *_start(run)]


def _order(run: Run) -> list[Metric]:
    """Return how much earlier than the two others W_O2 is learned, how evenly it stores its pairs,
    and how much more of its early rows than of its late ones W_K1 gets right."""
    highest = [mean_of(run[f"curve/recall_{name}"]).max() for name in ("W_O2", *FIRST_OF)]
    unlearned = min(highest) < 0.5
    by_pairs = top_down(run)  # [seeds]
    by_frequency = top_down(run, FIRST_BY_FREQUENCY)  # [seeds]
    early = over_training(run, "recall_W_K1_early_rows")  # [seeds]
    late = over_training(run, "recall_W_K1_late_rows")  # [seeds]
    return [
        over_seeds(run, TOP_DOWN, by_pairs, more=unlearned),
        over_seeds(run, TOP_DOWN_BY_FREQUENCY, by_frequency, more=unlearned),
        *_even_output(run),
        over_seeds(run, EARLY_FIRST, early - late),
    ]


def _faithful(run: Run) -> list[Metric]:
    """Return the recall, after the training, of the memory that recalls least over seeds."""
    if not FAITHFUL.is_at(run.config):
        return []
    recalls = [run[f"curve/recall_{name}"][:, -1] for name in RECALL]  # [seeds] each
    return [over_seeds(run, FAITHFUL, min(recalls, key=np.mean))]


def _even_output(run: Run) -> list[Metric]:
    """Return how evenly W_O2 stores its pairs: the standard deviation of its right readings over
    their mean, by the matrices that the run holds, the first seed's."""
    if "final/W_O2" not in run.tensors:
        return []
    weights = weights_at(run, len(run.snapshot_steps) - 1)
    readings = probes.memory_scores("W_O2", weights, task_of(run.config)).matrix.diagonal()
    return [Metric(EVEN_OUTPUT, float(readings.std(correction=0) / readings.mean()))]


def _start(run: Run) -> list[Metric]:
    """Return how even the attention of the less even layer is before training, on held-out
    sequences."""
    config = run.config
    task = task_of(config)
    by_scale = {"paper": UNIFORM_START, "code": UNIFORM_START_OF_THE_CODE}
    evenness = []
    variances = []
    for index in range(config.seeds):
        weights, _ = begun(replace(config, seed=(config.seed + index) % 100, seeds=1))
        evenness.append(min(attention_scores.evenness(weights, task)))
        variances.append(max(attention_scores.score_variances(weights, task)))
    measured = Metric.over_seeds(by_scale[config.scale], np.array(evenness))
    if config.scale == "paper":
        return [measured]
    gaussian = attention_scores.evenness_of_gaussian(SCORES_OF_THE_CODE, config.T)
    reason = (
        f"Scores have a variance of 4/3 at every d (measured: {np.mean(variances):.2f}), for "
        "|x|² = 2d and the entries of W_K have a variance of 1/(3d). Gaussian scores of that "
        f"variance have an evenness of {gaussian:.3f} at T = {config.T}. With N(0, 1/d) the "
        "variance is 4/d²."
    )
    return [replace(measured, reason=reason)]


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
    panel="memories",
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
    panel="memories",
    label="W_O² recall, trained alone",
    text="W_O² learns the right associations even when trained by itself.",
    quote="can learn the correct associations even when trained by itself",
    at=frozen("W_K1", "W_K2"),
    at_least=1.0,
    tolerance=0.1,
)
OUTPUT_DOES_NOT_SUFFICE = alone(
    id="W_O2-does-not-suffice",
    panel="accuracy",
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
    panel="accuracy",
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
    panel="opposite",
    label="W_K² without W_K¹, less the reverse",
    kind="paper",
    text="W_K² is easier to learn without W_K¹ than the reverse: just before the thaw it gets "
    "more of its pairs right than early W_K¹ does in the run where W_K² was frozen.",
    quote="the second layer is learned before the first, in the sense that W_K² is easier to learn "
    "when W_K¹ is frozen compared to the reverse",
)
SECOND_EASIER_BY_FREQUENCY = either(
    id="W_K2-easier-by-frequency",
    panel="opposite",
    label="W_K² by frequency without W_K¹, less the reverse",
    kind="ours",
    text="Counted by frequency, too, W_K² is easier to learn without W_K¹ than the reverse.",
    source="not in the paper",
)


def measure_frozen(run: Run) -> list[Metric]:
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

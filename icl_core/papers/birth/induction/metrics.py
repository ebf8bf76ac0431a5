"""How a trained run is measured against the paper's claims."""

from dataclasses import replace

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.figures import mean_of
from icl_core.papers.birth.induction import attention_scores, claims
from icl_core.papers.birth.induction.load_run import weights_at
from icl_core.papers.birth.induction.memory_formation import (
    FIRST_BY_FREQUENCY,
    FIRST_OF,
    at_last_step,
    at_the_thaw,
    before_thaw,
    gained,
    given_back,
    half_step,
    half_way,
    over_training,
    top_down,
)
from icl_core.papers.birth.induction.settings import BOTH, FASTEST, ORDER, Config
from icl_core.papers.birth.shared import probes
from icl_core.papers.birth.shared.copying import copied_the_unlikely
from icl_core.papers.birth.shared.train import begun, task_of
from icl_core.statistics.trend import still_falling

# the settings in which two trainings of Figure 3 differ
SCHEDULE = ("steps", "freeze_W_K1", "freeze_W_K2", "freeze_W_O2", "freeze_until")
MEMORIES = {"W_O2": "W_O²", "W_K2": "W_K²", "W_K1_early": "W_K¹ early"}
OF_PRESET = {FASTEST: claims.CLASSROOM, ORDER: claims.CLASSROOM_ORDER, BOTH: claims.CLASSROOM}


def measure(run: Run) -> list[Metric]:
    """Return the measured claims that this run's setting can bear out, by the mean over seeds
    where the claim does not name the worst."""
    config = run.config
    if not config.trains:
        return _uploaded(run)
    if config.layers == 1:
        alone = float(run["evaluated/accuracy_error"][0])
        return [_over_seeds(run, claims.ONE_LAYER, run["evaluated/accuracy"], alone=alone)]
    if _freezes(config):
        return _frozen(run)
    if config.positions == "all":
        return [*_accuracy(run), *_together(run)]
    recalls = [
        _metric(run, claim, run[f"curve/recall_{name}"][:, -1].min())
        for name, claim in claims.RECALL.items()
    ]
    return [*_accuracy(run), *_order(run), *recalls, *_faithful(run), *_start(run)]


def _freezes(config: Config) -> bool:
    """Return whether a matrix is frozen at the beginning of the training."""
    frozen = config.freeze_W_K1 or config.freeze_W_K2 or config.freeze_W_O2
    return bool(config.freeze_until) and frozen


def _uploaded(run: Run) -> list[Metric]:
    """Return what matrices that were not trained here achieve: no claim speaks of them."""
    one_layer = run.config.layers == 1
    accuracy = float(run["evaluated/accuracy"][0])
    error = float(run["evaluated/accuracy_error"][0])
    metrics = [Metric(claims.ONE_LAYER if one_layer else claims.RANDOM, accuracy, error)]
    for name, claim in claims.RECALL.items():
        if f"curve/recall_{name}" not in run.tensors or (one_layer and name == "W_K1_early"):
            continue
        metrics.append(Metric(claim, float(run[f"curve/recall_{name}"][0, 0])))
    return metrics


def accuracy_at(run: Run, step: float, name: str = "accuracy") -> float:
    """Return the mean over seeds of an accuracy at a training step, interpolated linearly between
    two evaluations."""
    return float(np.interp(step, run["curve/step"], mean_of(run[f"curve/{name}"])))


def milestones(run: Run) -> dict[str, float]:
    """Return the training step at which each memory's recall, the mean over seeds, first is one
    half, if it ever is; and as "thaw" the step at which what was frozen is let go."""
    if not run.config.trains:
        return {}
    steps = {
        MEMORIES[name]: half_step(run, mean_of(run[f"curve/recall_{name}"]))
        for name in run.names("probes")
        if name in MEMORIES
    }
    if _freezes(run.config):
        steps["thaw"] = float(run.config.freeze_until)
    return {name: step for name, step in steps.items() if np.isfinite(step)}


def _metric(
    run: Run,
    claim: Claim,
    value: float,
    error: float | None = None,
    *,
    more: bool = True,
    reason: str = "",
) -> Metric:
    """Return the claim measured by `value`. Where it fails, `reason` says why, if this run has
    measured that; and where `more` training could change it, the metric says if the loss was still
    falling."""
    if claim.slack(float(value)) >= 0:
        return Metric(claim, float(value), error)
    unfinished = still_falling(run["batch/in_context_loss"]) if more else ""
    return Metric(claim, float(value), error, unfinished, reason)


def _over_seeds(
    run: Run, claim: Claim, values: np.ndarray, *, more: bool = True, alone: float | None = None
) -> Metric:
    """Return the claim measured by the mean of `values` [seeds]; see `_metric`."""
    metric = Metric.over_seeds(claim, values, alone)
    may_change = more and claim.slack(float(values.mean())) < 0
    unfinished = still_falling(run["batch/in_context_loss"]) if may_change else ""
    return replace(metric, unfinished=unfinished)


def _accuracy(run: Run) -> list[Metric]:
    """Return the claims on accuracy, measured by the worst seed's on the test set."""
    config = run.config
    of_accuracy = [claims.RANDOM if config.triggers == "random" else claims.FIXED]
    if config.positions == "in_context" and config.triggers == "random":
        of_accuracy.append(claims.NEAR_PERFECT)
    worst = int(run["evaluated/accuracy"].argmin())
    accuracy = float(run["evaluated/accuracy"][worst])
    error = float(run["evaluated/accuracy_error"][worst])
    fails = any(claim.slack(accuracy) < 0 for claim in of_accuracy)
    reason = where_it_errs(run) if fails else ""
    metrics = [_metric(run, claim, accuracy, error, reason=reason) for claim in of_accuracy]
    classroom = OF_PRESET.get(replace(config, seeds=1))  # as long a training as it has in class
    if classroom:
        metrics.append(Metric(classroom, accuracy, error))
    return metrics


def where_it_errs(run: Run) -> str:
    """Return, in words, where the first seed's final weights predict wrongly and where they look;
    empty if the run does not hold them."""
    if "final/W_O2" not in run.tensors:
        return ""
    readout = attention_scores.at_snapshot(run, len(run.snapshot_steps) - 1)
    ranges = attention_scores.errors_by_first(readout)
    first = next(iter(ranges))
    last = [name for name, (share, _) in ranges.items() if np.isfinite(share)][-1]
    return (
        f"In the first seed, {ranges[first][0]:.1%} of predictions are wrong where the trigger "
        f"first stood at positions {first}, {ranges[last][0]:.0%} where it first stood at {last}. "
        f"{attention_scores.in_words(readout, run.config)}"
    )


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
        _over_seeds(run, claims.TOP_DOWN, by_pairs, more=unlearned),
        _over_seeds(run, claims.TOP_DOWN_BY_FREQUENCY, by_frequency, more=unlearned),
        *_even_output(run),
        _over_seeds(run, claims.EARLY_FIRST, early - late),
    ]


def _faithful(run: Run) -> list[Metric]:
    """Return the recall, after the training, of the memory that recalls least over seeds."""
    if not claims.FAITHFUL.is_at(run.config):
        return []
    recalls = [run[f"curve/recall_{name}"][:, -1] for name in claims.RECALL]  # [seeds] each
    return [_over_seeds(run, claims.FAITHFUL, min(recalls, key=np.mean))]


def _even_output(run: Run) -> list[Metric]:
    """Return how evenly W_O2 stores its pairs: the standard deviation of its right readings over
    their mean, by the matrices that the run holds, the first seed's."""
    if "final/W_O2" not in run.tensors:
        return []
    weights = weights_at(run, len(run.snapshot_steps) - 1)
    readings = probes.memory_scores("W_O2", weights, task_of(run.config)).matrix.diagonal()
    return [Metric(claims.EVEN_OUTPUT, float(readings.std(correction=0) / readings.mean()))]


def _start(run: Run) -> list[Metric]:
    """Return how even the attention of the less even layer is before training, on held-out
    sequences."""
    config = run.config
    by_scale = {"paper": claims.UNIFORM_START, "code": claims.UNIFORM_START_OF_THE_CODE}
    evenness = []
    for index in range(config.seeds):
        weights, _ = begun(replace(config, seed=(config.seed + index) % 100, seeds=1))
        evenness.append(min(attention_scores.evenness(weights, task_of(config))))
    return [Metric.over_seeds(by_scale[config.scale], np.array(evenness))]


def _frozen(run: Run) -> list[Metric]:
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
        return [Metric.over_seeds(claims.NOTHING_WITHOUT_OUTPUT, share)]
    if config.freeze_W_K1 and config.freeze_W_K2:
        recall = run["curve/recall_W_O2"][:, evaluation]
        lead = run["curve/accuracy"][:, evaluation] - run["baseline/one_layer"][0]
        return [
            Metric.over_seeds(claims.OUTPUT_ALONE, recall),
            Metric.over_seeds(claims.OUTPUT_DOES_NOT_SUFFICE, lead),
        ]
    if "opposite/step" not in run.tensors:
        return []
    return [
        _easier(run, claims.SECOND_EASIER, "W_K2"),
        _easier(run, claims.SECOND_EASIER_BY_FREQUENCY, "W_K2_weighted"),
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
    return [Metric.over_seeds(claims.TOGETHER, gain)]


def _easier(run: Run, claim: Claim, second: str) -> Metric:
    """Return by how much the recall `second` of W_K2 with W_K1 frozen exceeds that of early W_K1
    with W_K2 frozen, at equal steps, seed by seed."""
    recall_W_K2, recall_W_K1 = at_the_thaw(run, second, "W_K1_early")  # [seeds] each
    return Metric.over_seeds(claim, recall_W_K2 - recall_W_K1)


def _together(run: Run) -> list[Metric]:
    """Return the claims on joint training, in which all positions count and W_F learns beside the
    induction head."""
    later = half_way(run, "in_context_loss") - half_way(run, "global_loss")  # [seeds]
    metrics = [_over_seeds(run, claims.GLOBAL_FIRST, later, more=False)]
    if run.config.feed_forward:
        lost, error = given_back(run["curve/recall_W_O2"])
        metrics.append(_over_seeds(run, claims.COMPETITION, lost, alone=error))
        risen, error = given_back(-run["curve/recall_kl_W_F"])
        metrics.append(_over_seeds(run, claims.COMPETITION_KL, risen, alone=error))
    if run.config.triggers == "random":
        metrics.append(_elsewhere(run))
        metrics += _copies(run)
    return metrics


def _copies(run: Run) -> list[Metric]:
    """Return how often the model copies against the bigrams, by the weights that the run holds: the
    first seed's."""
    if not claims.COPIES_THE_UNLIKELY.is_at(run.config):
        return []
    readout = attention_scores.at_snapshot(run, len(run.snapshot_steps) - 1)
    share, error = copied_the_unlikely(readout.right, readout.batch, task_of(run.config))
    return [Metric(claims.COPIES_THE_UNLIKELY, share, error)]


def _elsewhere(run: Run) -> Metric:
    """Return the accuracy lost on outputs of the law that the model was not trained on."""
    own = run.config.outputs
    claim = claims.UNIFORM_GENERALISES if own == "uniform" else claims.BIGRAM_DOES_NOT
    lost = run["curve/accuracy"][:, -1] - run[f"curve/accuracy_{other_law(own)}"][:, -1]
    return _over_seeds(run, claim, lost)


def other_law(outputs: str) -> str:
    """Return the law of outputs that is not trained on."""
    return "bigram" if outputs == "uniform" else "uniform"

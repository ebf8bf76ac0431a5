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
from icl_core.papers.birth.induction.settings import BOTH, FASTEST, ORDER
from icl_core.papers.birth.shared import probes
from icl_core.papers.birth.shared.train import begun, task_of
from icl_core.statistics.trend import still_falling

# what two trainings of Figure 3 differ in
SCHEDULE = ("steps", "freeze_W_K1", "freeze_W_K2", "freeze_W_O2", "freeze_until")
MEMORIES = {"W_O2": "W_O²", "W_K2": "W_K²", "W_K1_early": "W_K¹ early"}
OF_PRESET = {FASTEST: claims.CLASSROOM, ORDER: claims.CLASSROOM_ORDER, BOTH: claims.CLASSROOM}


def measure(run: Run) -> list[Metric]:
    """Return the claims that this run's setting can bear out, measured; over seeds the least
    favourable counts."""
    config = run.config
    if not config.trains:
        return _uploaded(run)
    if config.layers == 1:
        alone = float(run["evaluated/accuracy_error"][0])
        return [_over_seeds(run, claims.ONE_LAYER, run["evaluated/accuracy"], alone=alone)]
    if config.freeze_until and any(
        getattr(config, f"freeze_{name}") for name in ("W_K1", "W_K2", "W_O2")
    ):
        return _frozen(run)
    if config.positions == "all":
        return [*_accuracy(run), *_together(run)]
    recalls = [
        _metric(run, claim, run[f"curve/recall_{name}"][:, -1].min())
        for name, claim in claims.RECALL.items()
    ]
    return [*_accuracy(run), *_order(run), *recalls, *_start(run)]


def _uploaded(run: Run) -> list[Metric]:
    """Return what matrices that were not trained here achieve: no claim speaks of them."""
    accuracy, error = (
        float(run[f"evaluated/{name}"][0]) for name in ("accuracy", "accuracy_error")
    )
    known = {
        name: claim
        for name, claim in claims.RECALL.items()
        if f"curve/recall_{name}" in run.tensors
    }
    if run.config.layers == 1:
        known.pop("W_K1_early", None)
    recalls = [
        Metric(claim, float(run[f"curve/recall_{name}"][0, 0])) for name, claim in known.items()
    ]
    return [
        Metric(claims.RANDOM if run.config.layers == 2 else claims.ONE_LAYER, accuracy, error),
        *recalls,
    ]


def accuracy_at(run: Run, step: float, name: str = "accuracy") -> float:
    """Return the mean over seeds of an accuracy at a training step, which may lie between two
    evaluations."""
    return float(np.interp(step, run["curve/step"], mean_of(run[f"curve/{name}"])))


def milestones(run: Run) -> dict[str, float]:
    """Return the training step at which each memory first recalls one half of its pairs, the mean
    over seeds, if it does; and the step at which what was frozen is let go."""
    if not run.config.trains:
        return {}
    found = {
        MEMORIES[name]: half_step(run, mean_of(run[f"curve/recall_{name}"]))
        for name in run.names("probes")
        if name in MEMORIES
    }
    if run.config.freeze_until and any(
        getattr(run.config, f"freeze_{name}") for name in ("W_K1", "W_K2", "W_O2")
    ):
        found["thaw"] = float(run.config.freeze_until)
    return {name: step for name, step in found.items() if np.isfinite(step)}


def _metric(
    run: Run,
    claim: Claim,
    value: float,
    error: float | None = None,
    *,
    more: bool = True,
    reason: str = "",
) -> Metric:
    """Return the claim measured. Where it fails, `reason` says why, if this run has measured that;
    and where `more` training could change it, the training must have come to its end."""
    if claim.slack(float(value)) >= 0:
        return Metric(claim, float(value), error)
    return Metric(
        claim,
        float(value),
        error,
        still_falling(run["batch/in_context_loss"]) if more else "",
        reason,
    )


def _over_seeds(
    run: Run, claim: Claim, values: np.ndarray, *, more: bool = True, alone: float | None = None
) -> Metric:
    """Return the claim measured by the mean of `values` [seeds]; see `_metric`."""
    found = Metric.over_seeds(claim, values, alone)
    falls = more and claim.slack(float(values.mean())) < 0
    return replace(found, unfinished=still_falling(run["batch/in_context_loss"]) if falls else "")


def _accuracy(run: Run) -> list[Metric]:
    """Return the worst seed's accuracy on the test set."""
    config = run.config
    found = [claims.RANDOM if config.triggers == "random" else claims.FIXED]
    if config.positions == "in_context" and config.triggers == "random":
        found.append(claims.NEAR_PERFECT)
    worst = int(run["evaluated/accuracy"].argmin())
    measured = (
        float(run["evaluated/accuracy"][worst]),
        float(run["evaluated/accuracy_error"][worst]),
    )
    why = where_it_errs(run) if any(claim.slack(measured[0]) < 0 for claim in found) else ""
    classroom = OF_PRESET.get(replace(config, seeds=1))  # as long a training as it has in class
    metrics = [_metric(run, claim, *measured, reason=why) for claim in found]
    return [*metrics, *([Metric(classroom, *measured)] if classroom else [])]


def where_it_errs(run: Run) -> str:
    """Return why the accuracy is what it is, as far as the first seed's final weights tell."""
    if "final/W_O2" not in run.tensors:
        return ""
    found = attention_scores.at_snapshot(run, len(run.snapshot_steps) - 1)
    ranges = attention_scores.errors_by_first(found)
    first = next(iter(ranges))
    last = [name for name, (share, _) in ranges.items() if np.isfinite(share)][-1]
    return (
        f"In the first seed, {ranges[first][0]:.1%} of predictions are wrong where the trigger "
        f"first stood at positions {first}, {ranges[last][0]:.0%} where it first stood at {last}. "
        f"{attention_scores.in_words(found, run.config)}"
    )


def _order(run: Run) -> list[Metric]:
    """Return how W_O2 stands to the two others in time, and the early rows of W_K1 to the late
    ones."""
    each = top_down(run)  # [seeds]
    early, late = (over_training(run, f"recall_W_K1_{which}_rows") for which in ("early", "late"))
    unlearned = (
        min(mean_of(run[f"curve/recall_{name}"]).max() for name in ("W_O2", *FIRST_OF)) < 0.5
    )
    by_frequency = top_down(run, FIRST_BY_FREQUENCY)  # [seeds]
    return [
        _over_seeds(run, claims.TOP_DOWN, each, more=unlearned),
        _over_seeds(run, claims.TOP_DOWN_BY_FREQUENCY, by_frequency, more=unlearned),
        *_even_output(run),
        _over_seeds(run, claims.EARLY_FIRST, early - late),
    ]


def _even_output(run: Run) -> list[Metric]:
    """Return how evenly W_O2 stores its pairs, by the matrices that the run holds: the first
    seed's."""
    if "final/W_O2" not in run.tensors:
        return []
    weights = weights_at(run, len(run.snapshot_steps) - 1)
    readings = probes.memory_scores("W_O2", weights, task_of(run.config)).matrix.diagonal()
    return [Metric(claims.EVEN_OUTPUT, float(readings.std(correction=0) / readings.mean()))]


def _start(run: Run) -> list[Metric]:
    """Return how even the attention of the less even layer is before training, on held-out
    sequences."""
    scales = {"paper": claims.UNIFORM_START, "code": claims.UNIFORM_START_OF_THE_CODE}
    evenness = []
    for index in range(run.config.seeds):
        weights, _ = begun(replace(run.config, seed=(run.config.seed + index) % 100, seeds=1))
        evenness.append(min(attention_scores.evenness(weights, task_of(run.config))))
    return [Metric.over_seeds(scales[run.config.scale], np.array(evenness))]


def _frozen(run: Run) -> list[Metric]:
    """Return what has been learned at the last evaluation before the thaw."""
    config = run.config
    at = before_thaw(run)
    step = float(run["curve/step"][at])
    if config.freeze_W_O2:
        free = _nothing_frozen(run)
        if free is None:
            return []
        # the gain of a seed is noise where it is frozen, so the mean of the others divides it
        share = gained(run, step) / gained(free, step).mean()
        return [Metric.over_seeds(claims.NOTHING_WITHOUT_OUTPUT, share)]
    if config.freeze_W_K1 and config.freeze_W_K2:
        recalled = run["curve/recall_W_O2"][:, at]
        short = run["curve/accuracy"][:, at] - run["baseline/one_layer"][0]
        return [
            Metric.over_seeds(claims.OUTPUT_ALONE, recalled),
            Metric.over_seeds(claims.OUTPUT_DOES_NOT_SUFFICE, short),
        ]
    if "opposite/step" not in run.tensors:
        return []
    return [
        _easier(run, claims.SECOND_EASIER, "W_K2"),
        _easier(run, claims.SECOND_EASIER_BY_FREQUENCY, "W_K2_weighted"),
        *_together_is_beneficial(run),
    ]


def _nothing_frozen(run: Run) -> Run | None:
    """Return the shipped run that differs from a frozen one in that nothing is frozen, with as many
    seeds; None if there is none at this size."""
    config = run.config
    for preset in ("order", "order, paper size"):
        free = run.shipped(preset)
        if free is None or free.config.seeds != config.seeds:
            continue
        frozen = {name: getattr(config, name) for name in SCHEDULE}
        if replace(free.config, **frozen) == config:
            return free
    return None


def _together_is_beneficial(run: Run) -> list[Metric]:
    """Return how much more is right at the last common step before the thaw with nothing frozen."""
    free = _nothing_frozen(run)
    if free is None:
        return []
    step = float(run["opposite/step"][-1])
    # [seeds]
    one_frozen = np.maximum(
        at_last_step(run, "accuracy", step), at_last_step(run, "accuracy", step, "opposite")
    )
    more = at_last_step(free, "accuracy", step) - one_frozen
    return [Metric.over_seeds(claims.TOGETHER, more)]


def _easier(run: Run, claim: Claim, second: str) -> Metric:
    """At equal steps, the recall of W_K2 with W_K1 frozen less that of early W_K1 with W_K2 frozen,
    seed by seed."""
    found = at_the_thaw(run, second, "W_K1_early")
    return Metric.over_seeds(claim, found[0] - found[1])


def _together(run: Run) -> list[Metric]:
    """Return the claims on joint training: all positions count, W_F learns beside the induction
    head."""
    later = half_way(run, "in_context_loss") - half_way(run, "global_loss")  # [seeds]
    found = [_over_seeds(run, claims.GLOBAL_FIRST, later, more=False)]
    if run.config.feed_forward:
        for claim, curves in (
            (claims.COMPETITION, run["curve/recall_W_O2"]),
            (claims.COMPETITION_KL, -run["curve/recall_kl_W_F"]),
        ):
            lost, alone = given_back(curves)
            found.append(_over_seeds(run, claim, lost, alone=alone))
    if run.config.triggers == "random":
        found.append(_elsewhere(run))
        found += _copies(run)
    return found


def _copies(run: Run) -> list[Metric]:
    """Return how often the model copies against the bigrams, by the weights that the run holds: the
    first seed's."""
    if not claims.COPIES_THE_UNLIKELY.is_at(run.config):
        return []
    looked = attention_scores.at_snapshot(run, len(run.snapshot_steps) - 1)
    copied = attention_scores.copied_against(looked, task_of(run.config), likelier=10)
    return [Metric(claims.COPIES_THE_UNLIKELY, *copied)]


def _elsewhere(run: Run) -> Metric:
    """Accuracy lost on outputs of the law that the model was not trained on."""
    own = run.config.outputs
    claim = claims.UNIFORM_GENERALISES if own == "uniform" else claims.BIGRAM_DOES_NOT
    lost = run["curve/accuracy"][:, -1] - run[f"curve/accuracy_{other_law(own)}"][:, -1]
    return _over_seeds(run, claim, lost)


def other_law(outputs: str) -> str:
    """Return the law of outputs that is not trained on."""
    return "bigram" if outputs == "uniform" else "uniform"

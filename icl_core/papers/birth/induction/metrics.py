"""How a trained run is measured against the paper's claims."""

from dataclasses import replace

import numpy as np

from icl_core.experiment import Metric, Run
from icl_core.figures import mean_of
from icl_core.papers.birth.induction.claims import (  # fmt: skip
    ADAM,
    BIGRAM_DOES_NOT,
    CLASSROOM,
    COMPETITION,
    EARLY_FIRST,
    FIRST_WITHOUT_SECOND,
    FIXED,
    FORESEEN,
    GLOBAL_FIRST,
    LATE,
    NOTHING_WITHOUT_OUTPUT,
    ONE_LAYER,
    OUTPUT_ALONE,
    RANDOM,
    RANDOM_TOGETHER,
    RARE,
    RECALL,
    RISING,
    SECOND_FIRST,
    SECOND_FIRST_BY_FREQUENCY,
    SECOND_WITHOUT_FIRST,
    SHORT,
    TOP_DOWN,
    UNIFORM_GENERALISES,
    WAITS,
)
from icl_core.papers.birth.induction.presets import BOTH, FASTEST, ORDER

EXPECTED = {FASTEST: 0.98, ORDER: 0.95, BOTH: 0.98}  # accuracy of the classroom presets, every seed


def metrics(run: Run) -> list[Metric]:
    """The claims that this run's setting can bear out, measured; over seeds the least favourable counts."""
    config = run.config
    if config.layers == 1:
        return [Metric(ONE_LAYER, float(run["judged/accuracy"].mean()))]
    if config.freeze_until and any(getattr(config, f"freeze_{name}") for name in ("W_K1", "W_K2", "W_O2")):
        return _frozen(run)
    found = _accuracy(run)
    if config.positions == "all":
        return [*found, *_together(run)]
    reasons = {"W_O2": RARE, "W_K2": RARE, "W_K1_early": LATE}
    recalls = [
        Metric(replace(claim, reason=reasons[name]), float(run[f"curve/recall_{name}"][:, -1].min()))
        for name, claim in RECALL.items()
    ]
    return [*found, *recalls, *_order(run)]


def half_step(run: Run, name: str) -> float:
    """The training step at which `curve/name`, a mean over seeds, first passes one half; NaN if it never does."""
    passed = np.flatnonzero(mean_of(run[f"curve/{name}"]) >= 0.5)
    return float(run["curve/step"][passed[0]]) if len(passed) else float("nan")


def _accuracy(run: Run) -> list[Metric]:
    claim = RANDOM if run.config.triggers == "random" else FIXED
    if run.config.positions == "all" and run.config.triggers == "random":
        claim = RANDOM_TOGETHER
    worst = int(run["judged/accuracy"].argmin())
    measured = float(run["judged/accuracy"][worst]), float(run["judged/accuracy_error"][worst])
    wanted = EXPECTED.get(replace(run.config, seeds=1))
    classroom = [Metric(replace(CLASSROOM, predicted=wanted), *measured)] if wanted else []
    return [Metric(claim, *measured), *classroom]


def _order(run: Run) -> list[Metric]:
    """Gaps between the steps at which memories pass one half; one that never does counts from the last step."""
    names = ("W_O2", "W_K2", "W_K2_weighted", "W_K1_early", "W_K1")
    steps = [half_step(run, f"recall_{name}") for name in names]
    output, second, often, early, late = (float(run.config.steps) if np.isnan(step) else step for step in steps)
    adam = run.config.optimiser == "adamw"
    return [
        Metric(TOP_DOWN, second - output),
        Metric(replace(SECOND_FIRST, reason=ADAM if adam else WAITS), early - second),
        Metric(replace(SECOND_FIRST_BY_FREQUENCY, reason=ADAM if adam else SHORT), early - often),
        Metric(EARLY_FIRST, late - early),
    ]


def _frozen(run: Run) -> list[Metric]:
    config = run.config
    at = int(np.searchsorted(run["curve/step"], config.freeze_until, side="right")) - 1  # the last before the thaw
    value = {
        name: float(run[f"curve/{name}"][:, at].mean())
        for name in ("accuracy", "recall_W_O2", "recall_W_K2", "recall_W_K1_early")
    }
    if config.freeze_W_O2:
        return [Metric(NOTHING_WITHOUT_OUTPUT, value["accuracy"] - float(run["baseline/repeat"][0]))]
    if config.freeze_W_K1 and config.freeze_W_K2:
        return [Metric(OUTPUT_ALONE, value["recall_W_O2"])]
    if config.freeze_W_K1:
        return [Metric(replace(SECOND_WITHOUT_FIRST, reason=RARE), value["recall_W_K2"])]
    return [Metric(FIRST_WITHOUT_SECOND, value["recall_W_K1_early"])]


def _together(run: Run) -> list[Metric]:
    """The claims on joint training: all positions count, W_F learns beside the induction head."""
    recall = run["curve/recall_W_O2"].mean(axis=0)
    gained, lost = _half_way(run, "global_loss"), _half_way(run, "in_context_loss")
    reason = FORESEEN if run.config.outputs == "bigram" else ""
    found = [Metric(replace(GLOBAL_FIRST, reason=reason), lost - gained)]
    if run.config.feed_forward:
        rising = recall[-1] >= recall.max()
        claim = replace(COMPETITION, reason=RISING) if rising else COMPETITION
        found.append(Metric(claim, float(recall.max() - recall[-1])))
    if run.config.triggers == "random":
        uniform, bigram = (float(run[f"curve/accuracy_{law}"][:, -1].mean()) for law in ("uniform", "bigram"))
        on_uniform = run.config.outputs == "uniform"
        found.append(
            Metric(
                UNIFORM_GENERALISES if on_uniform else BIGRAM_DOES_NOT, (uniform - bigram) * (1 if on_uniform else -1)
            )
        )
    return found


def _half_way(run: Run, name: str) -> float:
    """The step at which a loss has gone half of the way from its first value to its least."""
    loss = run[f"curve/{name}"].mean(axis=0)
    return float(run["curve/step"][np.flatnonzero(loss <= (loss[0] + loss.min()) / 2)[0]])

"""How a trained run is measured against the paper's claims."""

from dataclasses import replace
from functools import partial

import numpy as np

from icl_core.experiment import Claim, Metric, Run
from icl_core.figures import mean_of
from icl_core.papers.birth.induction import claims
from icl_core.papers.birth.induction.settings import BOTH, FASTEST, ORDER
from icl_core.trend import still_falling

MEMORIES = {"W_O2": "W_O²", "W_K2": "W_K²", "W_K1_early": "W_K¹"}
OF_PRESET = {FASTEST: claims.CLASSROOM, ORDER: claims.CLASSROOM_ORDER, BOTH: claims.CLASSROOM}


def metrics(run: Run) -> list[Metric]:
    """The claims that this run's setting can bear out, measured; over seeds the least favourable counts."""
    config = run.config
    if config.layers == 1:
        accuracy, error = run["evaluated/accuracy"], run["evaluated/accuracy_error"]
        return [_metric(run, claims.ONE_LAYER, accuracy.mean(), _seeds_error(accuracy) or float(error[0]))]
    if config.freeze_until and any(getattr(config, f"freeze_{name}") for name in ("W_K1", "W_K2", "W_O2")):
        return [_frozen(run)]
    if config.positions == "all":
        return [*_accuracy(run), *_together(run)]
    recalls = [_metric(run, claim, run[f"curve/recall_{name}"][:, -1].min()) for name, claim in claims.RECALL.items()]
    return [*_accuracy(run), *recalls, *_order(run)]


def accuracy_at(run: Run, step: float, name: str = "accuracy") -> float:
    """The mean over seeds of an accuracy at a training step, which may lie between two evaluations."""
    return float(np.interp(step, run["curve/step"], mean_of(run[f"curve/{name}"])))


def half_step(run: Run, curve: np.ndarray, never: float = np.nan) -> float:
    """The training step at which a curve [evaluations] first passes one half, or `never`."""
    passed = np.flatnonzero(curve >= 0.5)
    return float(run["curve/step"][passed[0]]) if len(passed) else never


def milestones(run: Run) -> dict[str, float]:
    """The training step at which each memory first recalls one half of its pairs, the mean over seeds; if it does."""
    found = {MEMORIES[name]: half_step(run, mean_of(run[f"curve/recall_{name}"])) for name in run.names("probes")
             if name in MEMORIES}  # fmt: skip
    return {name: step for name, step in found.items() if np.isfinite(step)}


def _metric(
    run: Run, claim: Claim, value: float, error: float | None = None, *, more: bool = True, reason: str = ""
) -> Metric:
    """The claim measured. Where it fails, `reason` says why, if this run has measured that; and where `more` training
    could change it, the training must have come to its end."""
    if claim.slack(float(value)) >= 0:
        return Metric(claim, float(value), error)
    return Metric(claim, float(value), error, still_falling(run["batch/in_context_loss"]) if more else "", reason)


def _seeds_error(values: np.ndarray) -> float | None:
    """The standard error of the mean of a value a seed; None for a single seed."""
    return float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else None


def _accuracy(run: Run) -> list[Metric]:
    """The worst seed's accuracy on the test set."""
    random = claims.RANDOM_TOGETHER if run.config.positions == "all" else claims.RANDOM
    claim = random if run.config.triggers == "random" else claims.FIXED
    worst = int(run["evaluated/accuracy"].argmin())
    measured = float(run["evaluated/accuracy"][worst]), float(run["evaluated/accuracy_error"][worst])
    classroom = OF_PRESET.get(replace(run.config, seeds=1))  # as long a training as it has in class
    return [_metric(run, claim, *measured), *([Metric(classroom, *measured)] if classroom else [])]


def _order(run: Run) -> list[Metric]:
    """Gaps between the steps at which memories pass one half."""
    often, alike = (half_step(run, mean_of(run[f"curve/{name}"])) for name in ("recall_W_K2_weighted", "recall_W_K2"))
    rare = f"Rare characters come last: counted by frequency W_K² passes one half at step {often:.0f}, not {alike:.0f}."
    return [
        _gap(run, claims.TOP_DOWN, "W_O2", "W_K2"),
        _gap(run, claims.SECOND_FIRST, "W_K2", "W_K1_early", rare if often < alike else ""),
        _gap(run, claims.SECOND_FIRST_BY_FREQUENCY, "W_K2_weighted", "W_K1_early"),
        _gap(run, claims.EARLY_FIRST, "W_K1_early", "W_K1"),
    ]


def _gap(run: Run, claim: Claim, first: str, second: str, reason: str = "") -> Metric:
    """Steps from one memory's half to another's, of the mean curves; the error is that of the single seeds' gaps."""
    early, late = (run[f"curve/recall_{name}"] for name in (first, second))
    reached = partial(half_step, run, never=run.config.steps)
    value = reached(mean_of(late)) - reached(mean_of(early))
    each = np.array([reached(b) - reached(a) for a, b in zip(early, late, strict=True)])
    never = min(mean_of(early).max(), mean_of(late).max()) < 0.5
    return _metric(run, claim, value, _seeds_error(each), more=never, reason=reason)


def _frozen(run: Run) -> Metric:
    """What has been learned at the last evaluation before the thaw."""
    config = run.config
    at = int(np.searchsorted(run["curve/step"], config.freeze_until, side="right")) - 1

    def mean(name: str) -> float:
        return float(run[f"curve/{name}"][:, at].mean())

    if config.freeze_W_O2:
        above = mean("accuracy") - float(run["baseline/repeat"][0])
        return Metric(claims.NOTHING_WITHOUT_OUTPUT, above, mean("accuracy_error"))
    if config.freeze_W_K1 and config.freeze_W_K2:
        return Metric(claims.OUTPUT_ALONE, mean("recall_W_O2"))
    if config.freeze_W_K1:
        found, often = mean("recall_W_K2"), mean("recall_W_K2_weighted")
        rare = f"Rare characters are missing: counted by frequency it is {often:.2f}."
        failed = claims.SECOND_WITHOUT_FIRST.slack(found) < 0 <= claims.SECOND_WITHOUT_FIRST.slack(often)
        return Metric(claims.SECOND_WITHOUT_FIRST, found, reason=rare if failed else "")
    return Metric(claims.FIRST_WITHOUT_SECOND, mean("recall_W_K1_early"))


def _together(run: Run) -> list[Metric]:
    """The claims on joint training: all positions count, W_F learns beside the induction head."""
    recall = run["curve/recall_W_O2"]
    later = _half_way(run, "in_context_loss") - _half_way(run, "global_loss")
    found = [_metric(run, claims.GLOBAL_FIRST, later, more=False)]
    if run.config.feed_forward:
        lost = recall.mean(axis=0).max() - recall.mean(axis=0)[-1]
        found.append(_metric(run, claims.COMPETITION, lost, _seeds_error(recall.max(axis=1) - recall[:, -1])))
    if run.config.triggers == "random":
        found.append(_elsewhere(run))
    return found


def _elsewhere(run: Run) -> Metric:
    """Accuracy lost on outputs of the law that the model was not trained on."""
    claim, other = {
        "uniform": (claims.UNIFORM_GENERALISES, "bigram"), "bigram": (claims.BIGRAM_DOES_NOT, "uniform")
    }[run.config.outputs]  # fmt: skip
    lost = run["curve/accuracy"][:, -1] - run[f"curve/accuracy_{other}"][:, -1]
    return _metric(run, claim, lost.mean(), _seeds_error(lost))


def _half_way(run: Run, name: str) -> float:
    """The step at which a loss has gone half of the way from its first value to its least."""
    loss = run[f"curve/{name}"].mean(axis=0)
    return float(run["curve/step"][np.flatnonzero(loss <= (loss[0] + loss.min()) / 2)[0]])

"""The numbers in words.md, and which answers are right."""

from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.words import Reading, Words
from icl_core.papers.gdssm.shared.captions import EXAMPLE
from icl_core.papers.gdssm.states.load_run import (
    batches_over_one_step,
    channels_over_gated,
    found_both_pairs,
    layer_loss,
    layer_share,
    over_one_step,
    place,
    trained_at_step,
    trained_channels,
    trained_decay,
    tuned_of,
    two_over_one_step,
)
from icl_core.papers.gdssm.states.settings import Config, View

DRIFT = 0.5  # of which the beats speak, and the title where the run has none


def _loss(id: str) -> Reading:
    """Return the reading of a rule's loss as written, over that of one step."""
    return lambda run, view: float(over_one_step(run)[place(run, id)])


def _left(id: str) -> Reading:
    """Return the reading of the share of the loss that a rule leaves after all pairs."""
    return lambda run, view: float(run["tokens/share"][place(run, id), -1])


def _batch_size(run: Run, view: Any) -> int:
    return min(view.pairs_a_batch, run.config.N)


def _of_batches(run: Run, size: int) -> float:
    return float(batches_over_one_step(run)[size - 1])


def _drift_at(run: Run, drift: float) -> int:
    """Return the place of a drift among those of the run."""
    return int(np.abs(run["drift/at"] - drift).argmin())


def _saved(run: Run, drift: float, with_decay: str, without: str) -> float:
    """Return the share of its loss that a decay saves a rule at a drift."""
    share = run["drift/share"][:, _drift_at(run, drift)]
    return float(1 - share[place(run, with_decay)] / share[place(run, without)])


def _decay_at_half(run: Run, view: Any) -> float:
    return float(run["drift/decay"][place(run, "decayed"), _drift_at(run, DRIFT)])


def _better(run: Run, view: Any) -> int:
    ratio = over_one_step(run)[place(run, "delta")]
    return 0 if ratio > 1.02 else 1 if ratio > 0.98 else 2


def _batches(run: Run, view: Any) -> int:
    ratio = batches_over_one_step(run)
    inner = ratio[1:-1]
    if not len(inner) or (inner.min() > ratio[0] and inner.max() < ratio[-1]):
        return 1
    return 0 if inner.min() < ratio[0] else 2


def _gates(run: Run, view: Any) -> int:
    decay = _decay_at_half(run, view)
    return 0 if decay > 0.99 else 1 if decay > 0.6 else 2


def _over_unit(id: str) -> Reading:
    """Return the reading of a trained layer's loss over that of the delta rule with unit keys."""

    def over(run: Run, view: Any) -> float:
        return float((layer_loss(run, id) / run["evaluated/trained"][place(run, "unit")]).mean())

    return over


def _channels(which: int) -> Reading:
    """Return the reading of the mean trained decay of columns that drift, or that stay."""
    return lambda run, view: float(np.mean([pair[which] for pair in trained_channels(run)]))


def _today(run: Run, view: Any) -> int:
    ratios = [_over_unit(id)(run, view) for id in ("kda", "product")]
    return int(np.argmin(ratios)) if min(ratios) < 0.98 else 2


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        # at the step shown
        "step": lambda run, view: run.step(view),
        "delta_trained": lambda run, view: float(
            trained_at_step(run, view).mean(1)[place(run, "delta")]
        ),
        # losses as written, over that of one step of gradient descent
        "delta": _loss("delta"),
        "unit": _loss("unit"),
        "squares": _loss("squares"),
        "two_steps": lambda run, view: two_over_one_step(run),
        # shares of the loss of predicting zero
        "sum_left": _left("sum"),
        "delta_left": _left("delta"),
        # batches, over one step
        "batch_size": _batch_size,
        "half": lambda run, view: run.config.N // 2,
        "of_batch_size": lambda run, view: _of_batches(run, _batch_size(run, view)),
        "of_batches_of_one": lambda run, view: _of_batches(run, 1),
        "of_batches_of_half": lambda run, view: _of_batches(run, run.config.N // 2),
        # how far the delta rule stays from a step on all pairs
        "imitated_at_any_rate": lambda run, view: float(run["imitation/fixed"].min()),
        "imitated_with_factor": lambda run, view: float(run["imitation/scaled"][-1]),
        # under drift: that of the run where it has one, else one of a half
        "drift_shown": lambda run, view: run["drift/at"][_drift_at(run, run.config.drift or DRIFT)],
        "gate_saves_shown": lambda run, view: _saved(
            run, run.config.drift or DRIFT, "gated", "unit"
        ),
        "gate_saves": lambda run, view: _saved(run, DRIFT, "gated", "unit"),
        "decay_saves": lambda run, view: _saved(run, DRIFT, "decayed", "sum"),
        "decay_at_half": _decay_at_half,
        # of trained layers
        "kda": _over_unit("kda"),
        "one_pair": _over_unit("product"),
        "two_pairs_save": lambda run, view: (
            1 - layer_share(run, "product-two") / _left("unit")(run, view)
        ),
        "found": lambda run, view: int(found_both_pairs(run).sum()),
        "half_saved": lambda run, view: float(1 - channels_over_gated(run).mean()),
        "decays_drifting": _channels(0),
        "decays_staying": _channels(1),
        # of the sum, at the drift of the run
        "best_decay": lambda run, view: tuned_of(run, "decayed")["decay"],
        "trained_decay": lambda run, view: float(trained_decay(run, "decayed").mean()),
    },
    right={"better": _better, "today": _today, "batches": _batches, "gates": _gates},
    example=EXAMPLE,
)

"""The numbers in words.md, and which answers are right."""

from dataclasses import replace
from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import first_from
from icl_core.contract.words import Reading, Words
from icl_core.papers.gdssm.layer import grafted
from icl_core.papers.gdssm.layer.accumulated_state import held, is_curvature, pairs_read
from icl_core.papers.gdssm.layer.losses import (
    CASES,
    COUNTED,
    above,
    at_scale,
    case_of,
    off_closed_form,
    watched_off,
    worse_than_zero,
)
from icl_core.papers.gdssm.layer.settings import Config, View
from icl_core.papers.gdssm.shared import closed_forms, train
from icl_core.papers.gdssm.shared.captions import EXAMPLE
from icl_core.papers.gdssm.shared.load_run import COUNTS, compared, row_of

ALIKE = 0.05  # a state this near to the gradient is the gradient


def headline(run: Run, view: Any) -> str:
    """Return what you see: how much of the gain of gradient descent over predicting zero the model
    has, at the step shown."""
    return WORDS.text(f"headline {_headline_case(run, view)}", run, view)


def _headline_case(run: Run, view: Any) -> str:
    if grafted.in_title(run, view):
        return "replaced"
    away, _ = above(run, view)
    if abs(away) < COUNTS:
        return "equal"
    if away < 0:
        return "below"
    return "no gain" if _gain(run, view) <= 0 else "gain"


def _gain(run: Run, view: Any) -> float:
    """Return how far the loss has come from that of predicting zero to the construction's."""
    away, zero = above(run, view)
    return 1 - away / zero


def _off(run: Run, view: Any) -> float:
    """Return how far the state is from the gradient after the pairs that the view asks for."""
    return held(run, view).off


def _becomes(run: Run) -> float | None:
    """Return the snapshot from which on the state after all pairs stays the gradient."""
    alike = [_off(run, View(snapshot=index)) < ALIKE for index in range(len(run.snapshot_steps))]
    return first_from(run.snapshot_steps, alike)


def _early(run: Run, view: Any) -> int:
    off = _off(run, view)
    return 0 if off < ALIKE else 1 if off < 0.5 else 2


def _loss_at_scale(run: Run, view: Any) -> float:
    return at_scale(run, view)[0]


def _zero_at_scale(run: Run, view: Any) -> float:
    return closed_forms.zero_loss(run.config.f, view.alpha * run.config.r)


def _scaled(run: Run, view: Any) -> int:
    loss = _loss_at_scale(run, view)
    zero = _zero_at_scale(run, view)
    return 2 if loss > 1.05 * zero else 1 if loss > 0.95 * zero else 0


def _crossing(run: Run, view: Any) -> int:
    """Return 0 if the trained model is nowhere worse than predicting zero, 1 if it is so at every
    scale, and 2 if from some scale on."""
    scale = worse_than_zero(run)
    return 0 if np.isnan(scale) else 1 if scale <= run["sweep/alpha"][0] else 2


def _text(name: str) -> Reading:
    """Return the reading of a text that other texts hold."""
    return lambda run, view: WORDS.text(name, run, view)


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        # what is shown
        "step": lambda run, view: run.step(view),
        "shown_seed": lambda run, view: row_of(run, view) + 1,
        "finished": lambda run, view: run.finished,
        "pairs_read": pairs_read,
        "curvature": is_curvature,
        # the kind of layers
        "counted": lambda run, view: COUNTED[run.config.layers],
        "many_layers": lambda run, view: run.config.layers > 2,
        "case": lambda run, view: CASES.index(case_of(run.config)),
        "penalised": lambda run, view: run.config.several and run.config.penalty > 0,
        "vectors": lambda run, view: run.config.model == "N-D",
        "state_turned": lambda run, view: not run.config.several and run.config.model == "1-D",
        "decays_differ": lambda run, view: run.config.recurrence == "row",
        "from_construction": lambda run, view: run.config.start == "construction",
        # the state, beside the gradient
        "off": _off,
        # the loss at the step shown, beside the construction's
        "standing": lambda run, view: compared(above(run, view)[0]),
        "below": lambda run, view: -above(run, view)[0],
        "gain": _gain,
        "counts": lambda run, view: COUNTS,
        "gradient_descent": _text("gradient descent"),
        "zero_loss": lambda run, view: float(run["baseline/zero"][0]),
        # the tasks on which it is watched
        "watched": lambda run, view: train.count(run.config, train.WATCHED),
        "levels": lambda run, view: WORDS.text(f"levels of {case_of(run.config)}", run, view),
        "level_off": lambda run, view: watched_off(run),
        "level_known": lambda run, view: np.isfinite(watched_off(run)),
        # after replacements
        "replaced": grafted.in_title,
        "loss_known": grafted.is_known,
        "loss_before": lambda run, view: grafted.loss(run, grafted.as_trained(view)),
        "loss_after": grafted.loss,
        "loss_of_formula": lambda run, view: grafted.loss(run, replace(view, one_Q="constructed")),
        # on tasks of another scale
        "loss_at_scale": _loss_at_scale,
        "zero_at_scale": _zero_at_scale,
        "expected_at_scale": lambda run, view: train.expected(run.config, view.alpha),
        "known_at_scale": lambda run, view: np.isfinite(train.expected(run.config, view.alpha)),
        "closed_form": lambda run, view: bool(np.isfinite(run["sweep/closed"]).all()),
        "off_closed_form": lambda run, view: off_closed_form(run),
        "crossing": _crossing,
        "worse_from": lambda run, view: worse_than_zero(run),
        "worse": _text("worse than zero"),
        # as the authors train
        "authors_training": _text("as the authors train"),
        "half_rate": lambda run, view: run.config.learning_rate / 2,
        "weight_decay": lambda run, view: train.DECAY,
        "warm_up": lambda run, view: train.WARM_UP,
    },
    of_config={"vectors": lambda config: config.model == "N-D"},
    at={"becomes": _becomes},
    right={"early": _early, "scale": _scaled},
    done={"graft": lambda view: view.one_Q == "zero"},
    example=EXAMPLE,
)

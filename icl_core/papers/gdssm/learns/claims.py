"""What a run says of width, and what is found here of it; the paper does not speak of it."""

from functools import partial
from typing import Any

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.contract.statistics import standard_error
from icl_core.papers.gdssm.learns.run import OWN
from icl_core.papers.gdssm.learns.settings import settings_of
from icl_core.papers.gdssm.shared.sequence_models import model, training_end
from icl_core.papers.gdssm.shared.sequence_models.training_end import NEAR


def ratios(run: Run, id: str) -> np.ndarray:
    """Return a model's final losses over one step's, [seeds, widths]; infinite where it
    diverged."""
    return run["evaluated/loss"][:, run.names("models").index(id)] / training_end.levels(run)[1]


def widths(run: Run) -> np.ndarray:
    """Return the widths over 2f + N + 1, [widths]."""
    return np.array([setting.hidden / setting.base for setting in settings_of(run.config)])


def base_place(run: Run) -> int:
    """Return the place of the width that is nearest to 2f + N + 1."""
    return int(np.abs(np.log(widths(run))).argmin())


def place_shown(run: Run, view: Any) -> int:
    """Return the place of the width whose curves the view shows; also of a run that is still
    going."""
    return {"narrowest": 0, "base": base_place(run), "widest": -1}[view.shown]


def curve(run: Run, id: str, place: int) -> np.ndarray | None:
    """Return a model's losses [seeds, evaluations] at the width at `place`; None where there are
    none, yet or at all."""
    width = settings_of(run.config)[place].hidden
    losses = run.tensors.get(f"curve/{id}" if id == OWN else f"curve/{id} {width}")
    return None if losses is None else np.asarray(losses)


def unfinished(run: Run, ids: list[str], place: int) -> str:
    """Say which of some models, at one width, cannot be told to be far from one step, and why.
    Empty if all can."""
    reasons = [(id, training_end.undecided(run, curve(run, id, place))) for id in ids]
    return " ".join(f"{model(id).label}: {why}" for id, why in reasons if why)


ours = partial(Claim, kind="ours", source="not in the paper, which gives no widths of the others")
BUILT = {
    "widths": "1/2, 3/4, 1, 3/2, 2",
    "models": "all",
    "norm": "authors",
    "learning_rate": 3e-3,
    "bias": (False, True),
}
SMALL = {"model": "N-D", "f": 3, "N": 5, **BUILT, "seeds": range(3, 6)}
TWO_LAYERS = ("linear-2", "softmax-2")
GIVEN = {"model": "1-D", "f": 10, "N": 10, **BUILT, "seeds": range(3, 6)}

NARROW = ours(
    id="half-the-width-is-too-narrow",
    panel="width",
    label="f = 3, half of 2f + N + 1: best two-layer transformer is above one step by",
    text=(
        "With half of 2f + N + 1, which is 2f at f = 3 and N = 5, no transformer of two layers "
        "reaches one step. (All widths share one rate.)"
    ),
    at=SMALL,
    at_least=0.05,
)
WIDE = ours(
    id="the-full-width-suffices",
    panel="width",
    label="f = 3, at 2f + N + 1: best two-layer transformer is above one step by",
    text="With 2f + N + 1 a transformer of two layers reaches one step.",
    at=SMALL,
    at_most=0.05,
)
PRODUCTS = ours(
    id="too-narrow-for-the-step",
    panel="width",
    label="1-D, half of 2f + N + 1: linear transformer, one layer, is above one step by",
    text=(
        "Where the products are given, the linear transformer of one layer does not reach one "
        "step with half of 2f + N + 1, which is less than the 2f + 2 that the step takes when it "
        "is written down. (All widths share one rate.)"
    ),
    at=GIVEN,
    at_least=0.05,
)

ALL = (NARROW, WIDE, PRODUCTS)


def measure(run: Run) -> list[Metric]:
    """Measure the models at the narrowest width, and at 2f + N + 1; what was not trained is left
    out."""
    ids = run.names("models")
    if run.config.model == "1-D":
        return [_best(run, PRODUCTS, ["linear-1"], 0)] if "linear-1" in ids else []
    two = [id for id in TWO_LAYERS if id in ids]
    return [_best(run, NARROW, two, 0), _best(run, WIDE, two, base_place(run))] if two else []


def _best(run: Run, claim: Claim, ids: list[str], place: int) -> Metric:
    """Measure the best of some models at a width over one step, less one, as a mean over seeds;
    undecided where one that is not near might have come there."""
    off = min((ratios(run, id)[:, place] - 1 for id in ids), key=np.mean)  # [seeds]
    error = standard_error(off) if np.isfinite(off).all() else None
    undecided = "" if off.mean() <= NEAR - 1 else unfinished(run, ids, place)
    return Metric(claim, float(off.mean()), error, undecided, count=len(off))

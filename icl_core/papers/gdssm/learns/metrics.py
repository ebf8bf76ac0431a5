"""How far from one step the models are at some widths."""

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.gdssm.learns.claims import NARROW, PRODUCTS, WIDE
from icl_core.papers.gdssm.learns.load_run import base_place, ratios, unfinished
from icl_core.papers.gdssm.shared.sequence_models.training_end import NEAR
from icl_core.statistics.over_seeds import standard_error

TWO_LAYERS = ("linear-2", "softmax-2")


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

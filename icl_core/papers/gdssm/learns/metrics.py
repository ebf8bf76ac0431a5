"""How far from one step the models are at some widths."""

import numpy as np

from icl_core.experiment import Claim, Metric, Run
from icl_core.papers.gdssm.learns.claims import NARROW, PRODUCTS, WIDE
from icl_core.papers.gdssm.learns.read_run import NEAR, base_place, ratios, unfinished, widths

TWO_LAYERS = ("linear-2", "softmax-2")


def metrics(run: Run) -> list[Metric]:
    """At the narrowest width, and the best from 2f + N + 1 on; what was not trained is left out."""
    held, wide = run.names("models"), list(range(base_place(run), len(widths(run))))
    if run.config.model == "1-D":
        return [_best(run, PRODUCTS, ["linear-1"], [0])] if "linear-1" in held else []
    two = [id for id in TWO_LAYERS if id in held]
    return [_best(run, NARROW, two, [0]), _best(run, WIDE, two, wide)] if two else []


def _best(run: Run, claim: Claim, ids: list[str], places: list[int]) -> Metric:
    """The best of some models and widths over one step, less one, as a mean over seeds; undecided where a loss that
    falls on could change the verdict."""
    found = {(id, place): ratios(run, id)[:, place] for id in ids for place in places}  # [seeds] each
    best = min(found, key=lambda each: found[each].mean())
    off = found[best] - 1
    error = float(off.std(ddof=1) / len(off) ** 0.5) if len(off) > 1 and np.isfinite(off).all() else None
    said = " ".join(filter(None, (unfinished(run, ids, place) for place in places)))
    return Metric(claim, float(off.mean()), error, "" if off.mean() <= NEAR - 1 else said)

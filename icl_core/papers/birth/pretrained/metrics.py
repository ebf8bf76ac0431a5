"""What the claims are measured by: means over five draws, of the same heads."""

import numpy as np

from icl_core.contract.experiment import Metric, Run
from icl_core.papers.birth.pretrained import claims
from icl_core.papers.birth.pretrained.load_run import chance, half_losses, place_of
from icl_core.papers.birth.pretrained.settings import SMOLLM2

STRONGEST = 4  # heads of which direct copying is averaged


def measure(run: Run) -> list[Metric]:
    """Return all claims measured; none of a planted model, about which nothing is claimed."""
    if run.config.model != SMOLLM2:
        return []
    first, second = half_losses(run)  # (draws,) each
    at = run["ablation/heads"].tolist().index(int(run["ablation/group"]))
    strongest = run["ablation/strongest"][:, at]  # (draws, halves)
    random = run["ablation/random"][:, at]
    best = run["best/recall"][:, run["best/offset"].tolist().index(int(run["pairs/offset"]))]
    values = {
        claims.IN_CONTEXT: first - second,
        claims.NEEDED: strongest[:, 1] - random[:, 1],
        claims.FIRST_HALF: strongest[:, 0] - first,
        claims.PAIR: best / chance(run),
        claims.OTHERS: _others(run) / chance(run),
        claims.USED: _used(run),
        claims.CONSTRUCTED: run["best/constructed"] - best,
        claims.DIRECTLY: run["copy/directly"][:, :STRONGEST].mean(1),
        claims.THROUGH: run["copy/says"][:, run.names("moved").index("strongest")],
    }
    return [Metric.over_seeds(claim, each, None) for claim, each in values.items()]


def _used(run: Run) -> np.ndarray:
    """Return in each draw how much less attention on what followed the induction head of the best
    pair has without its previous-token head."""
    first, second = run.names("best")
    layer, number = place_of(run, second)
    whole = run["heads/scores"][:, run.names("measures").index("followers"), layer, number]
    row = run.names("previous").index(first)
    return whole - run["patch/followers"][:, row, run.names("readers").index(second)]


def _others(run: Run) -> np.ndarray:
    """Return in each draw the median, over all previous-token heads but that of the best pair, of
    the recall with the best induction head."""
    rows = [
        index for index, name in enumerate(run.names("previous")) if name != run.names("best")[0]
    ]
    recalls = np.nan_to_num(run["pairs/recall"][:, rows])  # no later head: nothing recalled
    return np.median(recalls.max(2), axis=1)

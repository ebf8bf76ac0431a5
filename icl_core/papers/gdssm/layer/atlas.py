"""The atlas of GD-SSMs: how many features and pairs, how many layers, how many decays; and what it
shows."""

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from icl_core.contract.experiment import Atlas, Claim, Metric
from icl_core.papers.gdssm.layer.claims import FLOOR, REACHES
from icl_core.papers.gdssm.layer.settings import LAYER, Config

mapped = partial(Claim, kind="ours", source="not in the paper, whose size is f = N = 10")
EVERYWHERE = mapped(
    id="one-step-everywhere",
    label="one layer: farthest from one step in the atlas",
    text="With 3 to 20 features, 5 to 40 pairs and every kind of decay, one layer trained for 300 "
    "steps is as good as one step of gradient descent with the best rate, within a hundredth: f = "
    "N = 10 is nothing special.",
    setting="the atlas: 48 runs of one layer, one seed each",
    at_most=0.01,
)
SLOWER = mapped(
    id="third-layer-slower",
    label="three layers: growth of their loss above the floor with N",
    text="Trained as briefly, three layers fall behind the best three steps, the more so the "
    "longer the prompt: what they lose in loss grows as a power of N, which is fitted over the "
    "atlas with f as a second factor. (It counts from 5% for twice the pairs.)",
    setting="the atlas: 32 runs of three layers, one seed each",
    at_least=math.log2(1.05),
)


def findings(measured: Sequence[tuple[Config, Mapping[str, float]]]) -> list[Metric]:
    """Return how far one layer is from one step wherever it was trained, and how three layers fall
    behind."""
    one = [abs(values[REACHES.id]) for config, values in measured if config.layers == 1]
    three = [(config, values[FLOOR.id]) for config, values in measured if config.layers == 3]
    logs = np.log([[config.N, config.f, lost] for config, lost in three if lost > 0])
    design = np.column_stack([logs[:, :2], np.ones(len(logs))])
    fit, (residual,), *_ = np.linalg.lstsq(design, logs[:, 2])
    error = np.sqrt(np.linalg.inv(design.T @ design)[0, 0] * residual / (len(logs) - 3))
    return [Metric(EVERYWHERE, max(one)), Metric(SLOWER, float(fit[0]), float(error))]


ATLAS = Atlas(
    ((LAYER, ("f=3,5,10,20", "N=5,10,20,40", "layers=1,2,3", "recurrence=scalar,row,full")),),
    findings,
)
CLAIMS = (EVERYWHERE, SLOWER)

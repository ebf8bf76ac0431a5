"""Trains a layer, and asks of it beyond its loss what no view should have to compute: tasks of another scale (Figures
1 D and 2 D), and the construction on the tasks that the curves are watched on."""

import numpy as np

from icl_core import device
from icl_core.experiment import Progress
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import closed_forms, train
from icl_core.papers.gdssm.shared.read_run import model_of
from icl_core.papers.gdssm.shared.settings import Config

ALPHAS = np.array([0.1, 0.3, 0.5, 0.7, 0.85, 1.0, 1.15, 1.3, 1.41, 1.55, 1.7, 2.0, 2.5, 3.0])
SWEPT = (2**14, 2**21)  # tasks at most, and numbers of x at most, at every scale


def run(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train and evaluate as in `train.run`; then `sweep/alpha` [scales]; `sweep/trained` [seeds, scales],
    `sweep/constructed`, `sweep/closed` (NaN where there is no closed form) and `sweep/zero` [scales];
    `watched/constructed` [1]."""
    made = train.run(config, progress)
    trained, constructed = (model_of(config, made, prefix).to(device.device()) for prefix in ("final/", "constructed/"))
    both, tasks = models.joined(trained, constructed), train.held_out(config, SWEPT)
    swept = np.stack([models.losses(both, tasks.times(float(alpha))) for alpha in ALPHAS], 1)  # (seeds + 1, scales)
    watched = train.held_out(config, train.WATCHED)
    return {
        **made,
        "sweep/alpha": ALPHAS,
        "sweep/trained": swept[:-1],
        "sweep/constructed": swept[-1],
        "sweep/closed": np.array([train.expected(config, alpha) for alpha in ALPHAS]),
        "sweep/zero": np.array([closed_forms.zero_loss(config.f, alpha * config.r) for alpha in ALPHAS]),
        "watched/constructed": models.losses(constructed, watched),
    }

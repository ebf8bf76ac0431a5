"""What a finished training is asked beyond its loss, computed in the run so that no view has to: tasks of another
scale (Figures 1 D and 2 D), and the construction on the tasks that the curves are watched on."""

import numpy as np

from icl_core import device
from icl_core.experiment import Tensors
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import closed_forms
from icl_core.papers.gdssm.shared import train as learning
from icl_core.papers.gdssm.shared.read_run import model_of
from icl_core.papers.gdssm.shared.settings import Config

ALPHAS = np.array([0.1, 0.3, 0.5, 0.7, 0.85, 1.0, 1.15, 1.3, 1.41, 1.55, 1.7, 2.0, 2.5, 3.0])
SWEPT = (2**14, 2**21)  # tasks at most, and numbers of x at most, at every scale


def sweeps(config: Config, made: Tensors) -> dict[str, np.ndarray]:
    """Of a training's tensors: `scale/alpha` [scales]; `scale/trained` [seeds, scales], `scale/constructed`,
    `scale/closed` (NaN where there is no closed form) and `scale/zero` [scales]; `watched/constructed` [1]."""
    trained, constructed = (model_of(config, made, prefix).to(device.device()) for prefix in ("final/", "constructed/"))
    tasks = learning.held_out(config, SWEPT)
    scaled = [tasks.times(float(alpha)) for alpha in ALPHAS]
    watched = learning.held_out(config, learning.WATCHED)
    return {
        "scale/alpha": ALPHAS,
        "scale/trained": np.stack([models.losses(trained, each) for each in scaled], 1),
        "scale/constructed": np.stack([models.losses(constructed, each)[0] for each in scaled]),
        "scale/closed": np.array([learning.expected(config, alpha) for alpha in ALPHAS]),
        "scale/zero": np.array([closed_forms.zero_loss(config.f, alpha * config.r) for alpha in ALPHAS]),
        "watched/constructed": models.losses(constructed, watched),
    }


def crossing(alpha: np.ndarray, losses: np.ndarray, zero: np.ndarray) -> float:
    """The scale from which on a loss is above that of predicting zero, by interpolation; the first scale if it is
    above everywhere, NaN if nowhere."""
    above = losses / zero - 1
    if (above > 0).all():
        return float(alpha[0])
    beyond = np.flatnonzero((above[1:] > 0) & (above[:-1] <= 0))
    if not len(beyond):
        return float("nan")
    i = beyond[-1]
    return float(alpha[i] + (alpha[i + 1] - alpha[i]) * -above[i] / (above[i + 1] - above[i]))

"""Measures the claims on a finished run of heads on a Gaussian mixture."""

import numpy as np

from icl_core.contract.experiment import Metric, Run
from icl_core.papers.memformers.mixture import claims


def measure(run: Run) -> list[Metric]:
    """Both kinds of head with gates and with Γ learned too, on the same fresh prompts; and what
    gates pick."""
    linear, gated = (_last(run, each) for each in ("linear/gated", "lfom/gated"))  # [seeds]
    if run.config.prompts == "tokens":
        heads = _last(run, "lfom/head_scalar") - _last(run, "linear/head_scalar")  # [seeds, H]
        return [
            Metric.over_seeds(claims.TOKENS_ALIKE, gated - linear),
            Metric(claims.SAME_HEADS, float(np.abs(heads.mean(0)).max())),
        ]
    return [
        Metric.over_seeds(claims.LINEAR_WINS, gated - linear),
        Metric.over_seeds(claims.OVERCOME, _last(run, "lfom/adapted") - linear),
        Metric.over_seeds(claims.TURNS, gated - linear),
        Metric(
            claims.ONE_HOT,
            max(float(np.abs(_above(run, "one_hot", kind)).max()) for kind in run.names("kinds")),
        ),
        _worst(run),
    ]


def _worst(run: Run) -> Metric:
    """Gates learned for one component against its head, of the kind and component where they are
    worst."""
    every = np.concatenate(
        [_above(run, "picked", kind) for kind in run.names("kinds")], 1
    )  # [seeds, kinds × M]
    return Metric.over_seeds(claims.PICKS, every[:, every.mean(0).argmax()])


def _above(run: Run, what: str, kind: str) -> np.ndarray:
    """How far something of the deepest heads is above the head at home, in log-loss: [seeds, M]."""
    found = run[f"{what}/{kind}"]
    return np.log(found if what == "picked" else found[:, -1]) - np.log(run[f"head/{kind}"][:, -1])


def _last(run: Run, method: str) -> np.ndarray:
    """The log-loss of the deepest models."""
    return np.log(run[f"evaluated/{method}"][:, -1])

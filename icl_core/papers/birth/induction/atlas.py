"""The atlas of induction heads: how wide, how many triggers, how long, how many layers; and how
wide they must be."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from icl_core.contract.experiment import Atlas, Claim, Metric
from icl_core.papers.birth.induction.claims import RECALL
from icl_core.papers.birth.induction.settings import FASTEST, Config

mapped = partial(
    Claim, kind="ours", source="not in the paper, whose width is 128",
    setting="the atlas: 36 runs of two layers, d = 16 to 128, one seed each",
)  # fmt: skip
HALF = mapped(
    id="output-half-width", label="width at which W_O² recalls one half",
    text="W_O² recalls half of its 65 pairs from a width on that is no larger than theory's for "
         "as many random pairs, 24. The width is where a line through the logit of recall against "
         "log d passes zero.",
    at_most=24.0,
)  # fmt: skip
WIDER = mapped(
    id="attention-half-width", label="width for half of W_K², over that of W_O²",
    text="W_K² needs more width than W_O² to recall half of its pairs: it reads them through "
         "layer 1, with the noise of everything else that is in the stream.",
    at_least=1.0,
)  # fmt: skip
CLAIMS = (HALF, WIDER)


def findings(measured: Sequence[tuple[Config, Mapping[str, float]]]) -> list[Metric]:
    """Return the widths at which the memories of two layers recall one half."""
    (first, first_error), (second, second_error) = (
        _half(measured, RECALL[name].id) for name in ("W_O2", "W_K2")
    )
    of_ratio = np.hypot(first_error, second_error)  # both are errors of log d
    widths = np.exp([first, second - first])
    return [
        Metric(HALF, widths[0], widths[0] * first_error),
        Metric(WIDER, widths[1], widths[1] * of_ratio),
    ]


def _half(
    measured: Sequence[tuple[Config, Mapping[str, float]]], claim: str
) -> tuple[float, float]:
    """Return the log of the width at which a recall passes one half, and its error: a line through
    log d against the logit of recall, of the runs that recall some and not all."""
    points = [
        (config.d, values[claim]) for config, values in measured if 0 < values.get(claim, 0) < 1
    ]
    width, recall = np.array(points).T
    line, spread = np.polyfit(np.log(recall / (1 - recall)), np.log(width), 1, cov=True)
    return float(line[1]), float(spread[1, 1] ** 0.5)


ATLAS = Atlas(((FASTEST, ("d=16,32,64,128", "K=1,3,5", "T=32,64,128", "layers=1,2")),), findings)

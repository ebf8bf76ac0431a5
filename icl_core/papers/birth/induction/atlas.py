"""The atlas of induction heads, over width, number of triggers, length and number of layers; and
how wide they must be."""

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
    """Return the width at which W_O2 recalls one half of its pairs, and the ratio of W_K2's to it,
    from the metrics of every run of the atlas, by claim."""
    output, output_error = _half(measured, RECALL["W_O2"].id)
    key, key_error = _half(measured, RECALL["W_K2"].id)
    ratio_error = np.hypot(output_error, key_error)  # both are errors of log d
    # In one call: np.exp may round an array and a number differently.
    width, ratio = np.exp([output, key - output])
    return [
        Metric(HALF, width, width * output_error),
        Metric(WIDER, ratio, ratio * ratio_error),
    ]


def _half(
    measured: Sequence[tuple[Config, Mapping[str, float]]], claim: str
) -> tuple[float, float]:
    """Return the log of the width at which a recall passes one half, and its standard error.

    It is where a line of log d against the logit of recall has the logit 0; the line is fitted to
    the runs that recall some pairs and not all.
    """
    points = [
        (config.d, values[claim]) for config, values in measured if 0 < values.get(claim, 0) < 1
    ]
    width, recall = np.array(points).T  # (runs,) each
    logit = np.log(recall / (1 - recall))
    line, covariance = np.polyfit(logit, np.log(width), 1, cov=True)
    return float(line[1]), float(covariance[1, 1] ** 0.5)


ATLAS = Atlas(((FASTEST, ("d=16,32,64,128", "K=1,3,5", "T=32,64,128", "layers=1,2")),), findings)

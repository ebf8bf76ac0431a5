"""What the atlases' findings measure: planted laws come back, and a bound that theory gives is
theory's."""

from dataclasses import replace

import numpy as np
import pytest

from icl_core.papers.birth.induction import atlas as birth
from icl_core.papers.birth.induction.settings import FASTEST
from icl_core.papers.birth.shared.expected_recall import recalled
from icl_core.papers.gdssm.layer import atlas as gdssm
from icl_core.papers.gdssm.layer.settings import LAYER
from icl_core.papers.memformers.methods.claims import atlas as memformers


def by_claim(metrics):
    return {metric.claim.id: metric for metric in metrics}


def test_a_planted_width_of_half_recall_is_found_without_runs_that_recall_all_or_nothing():
    def recall(d, half):
        return 1.0 if d > 100 else 1 / (1 + (half / d) ** 3)

    runs = [
        (replace(FASTEST, d=d), {"recall-W_O2": recall(d, 20), "recall-W_K2": recall(d, 50)})
        for d in (16, 32, 64, 128)
    ]
    metrics = by_claim(birth.findings(runs))
    assert metrics["output-half-width"].value == pytest.approx(20, rel=1e-3)
    assert metrics["attention-half-width"].value == pytest.approx(2.5, rel=1e-3)


def test_the_bound_on_the_width_is_theorys():
    shares = [float(recalled(d, np.ones(FASTEST.N)).mean()) for d in (16, 32)]
    logits = np.log(shares) - np.log1p(-np.array(shares))
    half = np.exp(np.interp(0, logits, np.log([16, 32])))
    assert birth.HALF.bound == pytest.approx(half, abs=0.5)


def test_a_planted_power_of_n_is_found_and_the_worst_single_layer_counts():
    runs = [
        (replace(LAYER, f=f, N=N, layers=3), {"reaches-floor": 1e-3 * N**1.5 / f})
        for f in (3, 10)
        for N in (5, 10, 40)
    ]
    runs += [(replace(LAYER, N=N), {"nd-reaches-gd": gap}) for N, gap in ((5, 0.001), (10, -0.02))]
    metrics = by_claim(gdssm.findings(runs))
    assert metrics["third-layer-slower"].value == pytest.approx(1.5, rel=1e-6)
    assert metrics["one-step-everywhere"].value == 0.02


def test_the_condition_number_is_where_the_gap_passes_zero_in_the_dimension_where_that_is_last():
    # d = 5: half way, in the logarithm
    gaps = {5: {4.0: 1.0, 16.0: -1.0}, 10: {4.0: 0.5, 16.0: -1.5}}
    runs = [
        (replace(memformers.SHAPED, d=d, condition=condition, layers=layers), {"beats-cgd": gap})
        for d, row in gaps.items() for condition, gap in row.items() for layers in (4, 6)
    ]  # fmt: skip
    (metric,) = memformers.findings(runs)
    assert metric.value == pytest.approx(8.0)

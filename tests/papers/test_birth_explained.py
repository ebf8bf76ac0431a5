"""The score of an explanation, where it is known: a model that is its construction, and one that is
nothing."""

import pytest
import torch

from icl_core.papers.birth.induction import beside_construction
from icl_core.papers.birth.shared.accuracy import share
from icl_core.papers.birth.shared.construction import construct
from icl_core.papers.birth.shared.model import initialise
from icl_core.papers.birth.shared.task import make_task, sample


def constructed():
    task = make_task(T=64)
    weights = initialise(65, 256, 64, torch.Generator().manual_seed(1), "paper", False)
    return construct(weights, task), task


def test_a_model_that_is_its_construction_is_explained_whole():
    weights, task = constructed()
    batch = sample(task, 32, torch.Generator().manual_seed(0))
    own = beside_construction.logits_of(weights, batch)
    right = share(own.argmax(-1) == batch.targets, batch.in_context)[0]
    models = beside_construction.models(weights, task)
    exact = [*weights.trained(), beside_construction.TOGETHER]
    assert list(models) == [*exact, beside_construction.CLEANED]
    for name in exact:
        for matrix, W in weights.trained().items():
            tolerance = 1e-4 * float(W.abs().max())
            torch.testing.assert_close(models[name][matrix], W, rtol=1e-4, atol=tolerance)
        logits = beside_construction.logits_of(models[name], batch)
        score = beside_construction._compared(own, logits, batch, right)
        assert score.accuracy == pytest.approx(1, abs=0.01)
        assert score.logits == pytest.approx(1, abs=0.01)


def test_logits_count_up_to_one_factor_and_noise_explains_nothing():
    weights, task = constructed()
    batch = sample(task, 32, torch.Generator().manual_seed(0))
    own = beside_construction.logits_of(weights, batch)
    assert beside_construction._compared(own, 3 * own, batch, 1.0).logits == pytest.approx(1)
    noise = torch.randn(own.shape, generator=torch.Generator().manual_seed(2))
    assert beside_construction._compared(own, noise, batch, 1.0).logits < 0.01
    assert beside_construction._compared(own, torch.zeros_like(own), batch, 1.0).logits == 0

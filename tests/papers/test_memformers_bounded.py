"""Theorem 5.1 on prompts whose loss is bounded: what is drawn, and that its excess vanishes."""

import numpy as np
import pytest
import torch

from icl_core import registry
from icl_core.contract.experiment import Run
from icl_core.papers.memformers.learned import claims, train
from icl_core.papers.memformers.learned.settings import Config, model_of
from tests.recorder import Recorder


def test_vectors_have_length_root_d_and_the_identity_as_covariance():
    generator = torch.Generator().manual_seed(0)
    vectors = train.on_sphere((5, 200_000), 0, generator)
    assert torch.allclose(vectors.norm(dim=0), torch.tensor(5.0**0.5))
    covariance = vectors @ vectors.T / vectors.shape[1]
    assert torch.allclose(covariance, torch.eye(5), atol=0.02)


def test_a_prompt_has_examples_of_one_length_and_seeds_have_prompts_of_their_own():
    batch = train.BoundedBatches(model_of(Config(prompts="spheres", seeds=2), 10)).at(0)
    traces = batch.S.diagonal(dim1=1, dim2=2).sum(-1)  # [seeds, prompts]
    assert torch.allclose(traces, torch.tensor(5.0))
    assert not torch.equal(batch.S[0], batch.S[1])
    alone = train.BoundedBatches(model_of(Config(prompts="spheres", seed=1), 10)).at(0)
    assert torch.equal(alone.S[0], batch.S[1])


@pytest.mark.long
def test_the_excess_vanishes_where_the_loss_is_bounded():
    config = Config(prompts="spheres", layers=2, sizes="30, 300, 1000", steps=300, seeds=3)
    experiment = registry.experiment("memformers.learned")
    run = Run(config, experiment.run(config, Recorder()))
    metrics = {metric.claim.id: metric for metric in experiment.metrics(run)}
    assert set(metrics) == {claims.RISK_VANISHES.id}
    value = metrics[claims.RISK_VANISHES.id].value
    assert value is not None and value < -0.5
    assert (run["endless/loss"][:, None] < run["evaluated/loss"]).all()
    assert np.isfinite(run["baseline/cg_train"]).all()
    for drawing in experiment.drawings:
        assert drawing.panel(run, experiment.view()).title

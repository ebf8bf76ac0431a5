"""The construction's experiment as a whole: several embeddings, each with its own trained model,
and its drawings."""

import numpy as np
import pytest

from icl_core.contract.experiment import Run
from icl_core.papers.birth.constructed import EXPERIMENT
from icl_core.papers.birth.constructed import run as construction
from icl_core.papers.birth.constructed.claims import measure
from icl_core.papers.birth.constructed.evaluation import at_d, shares_closed
from icl_core.papers.birth.constructed.settings import Config, View
from icl_core.papers.birth.shared import train
from tests.recorder import Interrupted, Recorder

SMALL = {"d": 64, "T": 32, "seeds": 2}


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Widths and held-out sequences: enough for what is asserted."""
    monkeypatch.setattr(construction, "WIDTHS", (32,))
    monkeypatch.setattr(construction, "SEQUENCES", 32)
    monkeypatch.setattr(train, "WATCHED", 16)
    monkeypatch.setattr(train, "EVALUATED", 16)


@pytest.mark.long
def test_each_embedding_is_compared_with_the_model_trained_on_it():
    config = Config(**SMALL, beside=50)
    run = Run(config, construction.compute(config, Recorder()))
    assert run["sweep/accuracy_kept"].shape == (2, 2)
    assert run["sweep/width"].tolist() == [32, 64]
    trained = run["beside/accuracy"]
    assert trained.shape == (2,) and trained[0] != trained[1]
    constructed = at_d(run, "accuracy_kept")
    closed = shares_closed(run)["W_O2"] * (trained - constructed)
    np.testing.assert_allclose(closed, run["alone/accuracy_W_O2"] - constructed, atol=1e-6)
    first = construction.compute(Config(**{**SMALL, "seeds": 1}, beside=50), Recorder())
    assert np.array_equal(run["sweep/accuracy_stream"][:1], first["sweep/accuracy_stream"])
    assert np.array_equal(run["final/W_K2"], first["final/W_K2"])
    drawn_and_measured(run)


def test_with_bigrams_the_global_loss_stands_beside_the_accuracy():
    config = Config(**SMALL, feed_forward=True)
    run = Run(config, construction.compute(config, Recorder()))
    assert np.isfinite(run["sweep/global_loss_kept"]).all()
    assert "beside/accuracy" not in run.tensors
    expected = pytest.approx(at_d(run, "global_loss_kept"), rel=1e-3)
    assert run["reads/global_loss_stream"] == expected
    assert 2 < float(run["baseline/bigrams_loss"][0]) < 3
    drawn_and_measured(run)


def drawn_and_measured(run: Run) -> None:
    assert all(metric.error is None or metric.error >= 0 for metric in measure(run))
    assert EXPERIMENT.headline(run, View()).endswith(".")
    for drawing in EXPERIMENT.drawings:
        if drawing.applies(run.config):
            assert drawing.draw(run, View()).title


@pytest.mark.long
def test_a_resumed_construction_equals_an_uninterrupted_one():
    config = Config(d=32, T=32, beside=50)
    whole = construction.compute(config, Recorder())
    recorder = Recorder(stop=20)
    with pytest.raises(Interrupted):
        construction.compute(config, recorder)
    resumed = construction.compute(config, Recorder(saved=recorder.saved))
    for name, array in whole.items():
        assert np.array_equal(array, resumed[name], equal_nan=True), name

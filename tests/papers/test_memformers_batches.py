"""Few prompts: many batches of them, and a Memformer learned from batches of every size."""

from dataclasses import replace

import numpy as np
import pytest

from icl_core.contract.experiment import Run
from icl_core.contract.knobs import BadSetting
from icl_core.papers.memformers.learned import claims, draw
from icl_core.papers.memformers.learned.claims import lead, measure
from icl_core.papers.memformers.learned.settings import BATCH_SIZES, Config, View, model_of
from icl_core.papers.memformers.methods.settings import FEW
from icl_core.papers.memformers.methods.settings import Config as Methods

SIZES = [1, 3, 10, 30, 100, 300, 1000]
# planted leads, at every size: on the batch's own prompts, and on fresh ones
OWN = [-9.0, -5, -3, -2, -1, -0.5, -0.2]
FRESH = [3.0, 3, 2, 2, 1, 0.4, -0.1]


def run_of(own: list[float], fresh: list[float], spread: float = 0.0) -> Run:
    """A run whose method is ahead of conjugate gradient by planted log-losses, in five seeds."""
    config = Config(memory="memformer full", seeds=5, **BATCH_SIZES)
    turns = spread * np.linspace(-1, 1, 5)[:, None]  # [seeds, 1]
    logs = {
        "evaluated/train": 1.0 + np.array(own) + turns,
        "evaluated/loss": 0.5 + np.array(fresh) + turns,
        "baseline/cg_train": np.full((5, 7), 1.0),
    }
    tensors = {name: np.exp(log_losses)[..., None] for name, log_losses in logs.items()}
    tensors["baseline/cg"] = np.exp(np.array([0.5]))
    tensors["size/prompts"] = np.array(SIZES)
    return Run(config, tensors)


def test_a_planted_lead_is_found():
    run = run_of(OWN, FRESH, spread=0.01)
    for computed, planted in zip(lead(run), (OWN, FRESH), strict=True):
        np.testing.assert_allclose(computed.mean(0), planted, atol=1e-6)
    title = draw.against_cg(run, View()).title
    assert title == "Ahead of CGD on its own prompts at every N, on fresh ones from 1000 on"


def test_a_lead_within_two_errors_is_not_told():
    run = run_of([-9.0, -3, -0.1, 1, 1, 1, 1], [3.0] * 7, spread=0.5)
    title = draw.against_cg(run, View()).title
    assert title == "Ahead of CGD on its own prompts up to N = 3, on fresh ones at no N"


def test_the_claims_on_batch_sizes_are_those_of_the_planted_run():
    run = run_of(OWN, FRESH, spread=0.01)
    deep = {name: array.repeat(4, -1) for name, array in run.tensors.items() if array.ndim == 3}
    deep["evaluated/median"] = deep["evaluated/loss"]
    deep |= {f"endless/{name}": np.ones((5, 4)) for name in ("loss", "median")}
    run = Run(run.config, {**run.tensors, **deep})
    values = {metric.claim.id: metric.value for metric in measure(run)}
    assert values[claims.FULL_LEADS_ON_OWN.id] == pytest.approx(0.2, abs=1e-6)
    assert values[claims.BEHIND_ON_FRESH.id] == pytest.approx(0.4, abs=1e-6)
    assert claims.SCALAR_LEAD_ENDS.id not in values


def test_the_memformer_of_a_batch_size_is_that_of_figure_6():
    config = Config(memory="memformer scalar", **BATCH_SIZES)
    model = model_of(config, 10)
    figure_6 = replace(FEW, batch=10)
    for name in ("variant", "preconditioner", "batches", "batch", "learning_rate", "schedule"):
        assert getattr(model, name) == getattr(figure_6, name)
    assert (model.coordinates, model.initial) == (FEW.coordinates, FEW.initial)
    assert (model.clip, model.beta_2, model.objective) == (FEW.clip, FEW.beta_2, FEW.objective)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (lambda: Config(memory="memformer full", prompts="spheres"), "gaussian"),
        (lambda: Methods(seeds=121, batch=10), "seeds"),
        (lambda: Config(sizes="1,2,3,4,5,6,7,8"), "sizes"),
    ],
)
def test_what_cannot_be_asked_for(config, message):
    with pytest.raises(BadSetting, match=message):
        config()


def test_many_batches_of_few_prompts_can():
    assert Methods(seeds=120, batch=100, batches="fixed").seeds == 120

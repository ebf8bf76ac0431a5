"""The layer without its parts: against the package's own layer, a recurrence that is written out,
and closed forms."""

import itertools

import numpy as np
import pytest
import torch

from icl_core.contract.experiment import Run
from icl_core.papers.gdssm import ingredients
from icl_core.papers.gdssm.ingredients import claims, model, train
from icl_core.papers.gdssm.ingredients.model import loss_share
from icl_core.papers.gdssm.ingredients.settings import VARIANTS, Config, View
from icl_core.papers.gdssm.shared import closed_forms, layer_nd
from icl_core.papers.gdssm.shared.layer_nd import LayerND
from icl_core.papers.gdssm.shared.task import interleaved, sample, windows
from tests.drawn import without_nan
from tests.recorder import short_run

CONFIG = Config(f=3, N=4, batch=16, steps=10, seeds=2)


@pytest.fixture(autouse=True, scope="module")
def few():
    """Few tasks to evaluate on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "TEST_SET", 2**10)
        patch.setattr(train, "WATCHED", 2**8)
        yield


def tasks_of(count: int, f: int = 3, N: int = 4):
    return sample(f, N, count, torch.Generator().manual_seed(5)).to(torch.float64)


def test_with_all_of_it_it_is_the_papers_layer():
    weights = model.initial(CONFIG, VARIANTS["all"], [1, 2]).to(torch.float64)
    assert weights.q is not None
    same = LayerND(weights.a[:, None, None], weights.Q, weights.q, weights.beta)
    C = windows(interleaved(tasks_of(9)))
    torch.testing.assert_close(model.forward(weights, C), layer_nd.attention(same, C))


@pytest.mark.parametrize("id", VARIANTS)
def test_the_prediction_is_that_of_the_recurrence(id):
    variant = VARIANTS[id]
    tasks = tasks_of(7)
    weights = model.initial(CONFIG, variant, [3]).to(torch.float64)
    C = model.windows_of(tasks, variant)
    assert C.shape[:3] == (4 if variant.window == 3 else 10 - variant.window, variant.window, 3)
    predicted = model.forward(weights, C)[0]
    for task in range(7):
        Z = torch.zeros(3, 3, dtype=torch.float64)
        for window in C[..., task]:  # (k, f): the rows are the tokens
            Z = weights.a[0] * Z + window.T @ weights.Q[0] @ window
        last = C[-1, ..., task].T @ weights.q[0] if weights.q is not None else weights.r[0]  # type: ignore[index]
        torch.testing.assert_close(predicted[:, task], weights.beta[0] * Z @ last)


@pytest.mark.parametrize("id", VARIANTS)
@pytest.mark.parametrize(("f", "N"), [(3, 5), (4, 2)])
def test_the_closed_form_is_the_constructions_loss(id, f, N):
    """On 100,000 tasks, at the rate that is best on them."""
    config = Config(f=f, N=N)
    variant = VARIANTS[id]
    tasks = sample(f, N, 100_000, torch.Generator().manual_seed(1))
    zero = float(tasks.y[-1].square().mean()) / 2
    gain = train._best_gain(config, variant, tasks) / zero
    assert gain == pytest.approx(1 - loss_share(config, variant), abs=0.006)
    whole = closed_forms.best_loss(f, N) / closed_forms.zero_loss(f)
    if id in ("all", "keeps"):
        assert loss_share(config, variant) == pytest.approx(whole)
    else:
        assert loss_share(config, variant) > whole


@pytest.mark.parametrize("id", ["one", "fixed"])
def test_no_product_of_such_a_layer_knows_the_label(id):
    """Each of the products that the prediction can be made of, window by window, is uncorrelated
    with the query's label; of the whole layer one is not."""
    tasks = tasks_of(60_000, f=2, N=2)
    label = tasks.y[-1]  # (f, tasks)

    def correlation(variant) -> float:
        C = model.windows_of(tasks, variant)
        ends = C[-1] if variant.reads else torch.ones(1, 2, C.shape[-1], dtype=torch.float64)
        values = []
        for window in C:
            for left, right, end in itertools.product(window, window, ends):
                product = left * (right * end).sum(0)
                size = float(product.square().mean() * label.square().mean()) ** 0.5
                values.append(abs(float((product * label).mean())) / size)
        return float(np.max(values))

    assert correlation(VARIANTS[id]) < 0.02
    assert correlation(VARIANTS["all"]) > 0.2


def test_a_given_decay_is_not_trained():
    tasks = sample(3, 4, 8, torch.Generator())
    for id, decay in (("forgets", 0.0), ("keeps", 1.0), ("all", None)):
        weights = model.initial(CONFIG, VARIANTS[id], [0, 1])
        gradients, _ = train.gradient(weights, VARIANTS[id], tasks)
        assert "Q" in gradients
        assert ("a" in gradients) == (decay is None)
        assert decay is None or (weights.a == decay).all()


def test_a_run_is_drawn_measured_and_told():
    run = short_run(train.compute, CONFIG)
    for view in (View(), View(relative=True)):
        without_nan(ingredients.EXPERIMENT, run, view)
        assert ingredients.EXPERIMENT.headline(run, view).endswith(".")
    measured = {metric.claim.id: metric for metric in ingredients.claims.measure(run)}
    assert set(measured) == {claim.id for claim in ingredients.EXPERIMENT.claims}
    zero, one = (float(run[f"baseline/{name}"][0]) for name in ("zero", "one"))
    best = max((zero - run[f"evaluated/{id}"].min()) / (zero - one) for id in ("one", "fixed"))
    assert measured["key-ingredients"].value == pytest.approx(best, abs=1e-6)
    assert claims.gain_left(run, "all").shape == (2,)
    for tensors in ({n: a for n, a in run.tensors.items() if n[:5] in ("curve", "names")}, {}):
        for drawing in ingredients.EXPERIMENT.drawings:
            if drawing.live:
                assert drawing.draw(Run(CONFIG, tensors, finished=False), View()).title

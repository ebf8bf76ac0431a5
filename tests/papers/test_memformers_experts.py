"""Heads with gates: what they equal, what is learned of them, and the Gaussian
mixture's prompts."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from icl_core.contract.experiment import STAGE, Panel, Run
from icl_core.contract.settings_io import numbers, shares
from icl_core.in_context_regression import grams
from icl_core.papers.memformers import mixture, variances
from icl_core.papers.memformers.mixture import heads, protocol, token_heads
from icl_core.papers.memformers.mixture import settings as gaussians
from icl_core.papers.memformers.mixture.settings import mixture_of
from icl_core.papers.memformers.shared import experts, first_order, test_set
from icl_core.papers.memformers.shared.experts import Heads
from icl_core.papers.memformers.shared.task import Batch, integrated
from icl_core.papers.memformers.variances import settings as scales
from icl_core.papers.memformers.variances import train
from icl_core.papers.memformers.variances.train import heads_at
from tests.drawn import checked
from tests.parameters import first_is_short
from tests.recorder import Interrupted, Recorder

MIXTURE = gaussians.Config(layers=2, steps=20, gate_steps=10, gate_prompts=20, batch=20, n=6)
TINY = {
    "variances": scales.Config(
        layers=2, steps=20, gate_steps=10, gate_prompts=20, unseen="0.5", variances="1, 2", d=3, n=6
    ),
    "mixture": MIXTURE,
    "components": replace(MIXTURE, prompts="components", learning_rate=0.01),
}
EXPERIMENTS = {
    "variances": variances.EXPERIMENT,
    "mixture": mixture.EXPERIMENT,
    "components": mixture.EXPERIMENT,
}
ONE_COMPONENT = {
    "seeds": 2,
    "means": "3",
    "variances": "0.01",
    "weights": "1",
    "gate_prompts": 1,
    "layers": 1,
}
ODD = {
    "variances": {
        "seeds": 2,
        "rotations": "own",
        "variances": "0.01, 100",
        "start": "zeros",
        "gate_prompts": 1,
    },
    "mixture": ONE_COMPONENT,
    "components": ONE_COMPONENT,
}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Fewer prompts to evaluate on: what is tested here does not depend on how many."""
    for name in ("WATCHED", "PROMPTS"):
        monkeypatch.setattr(test_set, name, test_set.BLOCK)
    monkeypatch.setattr(train, "FEWER", test_set.BLOCK)
    monkeypatch.setattr(heads, "POOL", 2**12)
    monkeypatch.setattr(token_heads, "FRESH", token_heads.BLOCK)
    monkeypatch.setattr(protocol, "PICKED_STEPS", 10)


def expert_heads(seeds=2, H=3, L=3, d=4, seed=0) -> Heads:
    generator = torch.Generator().manual_seed(seed)
    A = torch.eye(d) + 0.1 * torch.randn(seeds, H, L, d, d, generator=generator)
    return Heads(0.4 * torch.eye(L) + 0.1 * torch.randn(seeds, H, L, L, generator=generator), A)


def batch_for(d=4, n=20, prompts=200, seeds=2) -> Batch:
    S = grams(d, n, prompts, torch.Generator().manual_seed(1))
    return Batch(S.expand(seeds, -1, -1, -1), integrated(S).target.expand(seeds, -1, -1, -1))


def test_a_gate_that_picks_a_head_is_that_head():
    every = expert_heads()
    for h in range(3):
        picked = experts.table(torch.eye(3)[h].expand(2, 3), every.Gamma, every.A)
        alone = experts.table(torch.ones(2, 1), every.Gamma[:, h : h + 1], every.A[:, h : h + 1])
        torch.testing.assert_close(picked, alone)


def test_equal_heads_with_gates_that_sum_to_one_are_one_head():
    one = expert_heads(H=1)
    gates = torch.tensor([[0.2, 0.5, 0.3], [2.0, -1.5, 0.5]])
    three = experts.table(gates, one.Gamma.expand(-1, 3, -1, -1), one.A.expand(-1, 3, -1, -1, -1))
    torch.testing.assert_close(three, experts.table(torch.ones(2, 1), one.Gamma, one.A))


def test_no_gradient_of_the_future_is_used():
    every = expert_heads()
    above = replace(every, Gamma=every.Gamma + torch.ones(3, 3).triu(1))
    gates = torch.ones(2, 3)
    torch.testing.assert_close(
        experts.table(gates, every.Gamma, every.A), experts.table(gates, above.Gamma, above.A)
    )


@pytest.mark.parametrize("variance", [0.1, 3.5, 50.0])
def test_a_head_moved_to_another_variance_is_itself_with_the_right_gate(variance):
    config = scales.Config(variances="1, 2", seeds=2, layers=3)
    draw = partial(torch.randn, generator=torch.Generator().manual_seed(0))
    learned = [{"A": draw(2, 1, 3, 5, 5), "Gamma": draw(2, 3, 3)} for _ in range(2)]
    for h, own in enumerate((1.0, 2.0)):
        only = torch.eye(2)[h].expand(2, 2)
        home = heads_at(config, learned, own, 0)
        moved = heads_at(config, learned, variance, 0)
        at_home = experts.table(only, home.Gamma, home.A)
        gated = experts.table(only * own / variance, moved.Gamma, moved.A)
        torch.testing.assert_close(at_home, gated, rtol=1e-5, atol=1e-5)


def test_adapting_finds_a_planted_scalar():
    eye = torch.eye(4).expand(2, 1, 1, 4, 4)
    alone = Heads(torch.ones(2, 1, 1, 1), eye / 7)
    batch = batch_for()
    S = batch.S[0]
    best = float(S.diagonal().sum() / S.square().sum())  # least |I − r S|²
    adapted = experts.adapt(alone, batch, 200, False, torch.ones(2, 1))
    torch.testing.assert_close(adapted.gates, torch.full((2, 1), 7 * best), rtol=1e-3, atol=0)


@pytest.mark.parametrize("scale", first_is_short([1e3, 1e-3, 1.0]))
def test_adapting_lowers_the_loss_whatever_the_scale(scale):
    batch = batch_for()
    every = expert_heads()
    every = replace(every, A=every.A * scale)
    for start in experts.starts(every).values():
        adapted = experts.adapt(every, batch, 60, False, start)
        assert (adapted.losses[-1] < adapted.losses[0]).all()
        assert torch.isfinite(adapted.gates).all()
    both = experts.adapt(every, batch, 60, True, experts.starts(every)["even"])
    assert both.losses[-1].sum() < adapted.losses[-1].sum()
    assert not both.Gamma.equal(every.Gamma)


def test_one_scalar_takes_the_head_that_loses_least():
    good = expert_heads(H=1)
    bad = expert_heads(H=1, seed=3)
    both = Heads(
        torch.cat([bad.Gamma * 0.01, good.Gamma], 1),
        torch.cat([bad.A[..., [0]] * torch.ones(4), good.A], 1),
    )
    scalars, gates = experts.one_scalar(both, batch_for(), 60)
    assert (gates != 0).tolist() == [[False, True]] * 2
    assert gates[:, 1].equal(scalars[:, 1])
    alone = experts.adapt(good, batch_for(), 60, False, torch.ones(2, 1))
    torch.testing.assert_close(scalars[:, 1:], alone.gates)


@pytest.mark.parametrize(
    "text, message",
    [
        ("one, two", "x must be numbers from 0 to 10, got 'one'"),
        ("1, nan", "x must be numbers from 0 to 10, got 'nan'"),
        ("1, 1/0", "x must be numbers from 0 to 10, got '1/0'"),
        ("1, inf", "x must be numbers from 0 to 10, got 'inf'"),
        ("1, 2, 3, 4", "x must be 1 to 3 numbers, got 4"),
        ("", "x must be 1 to 3 numbers, got 0"),
        ("1, 11", "x must be numbers from 0 to 10, got '11'"),
        ("-1", "x must be numbers from 0 to 10, got '-1'"),
    ],
)
def test_lists_that_are_none_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        numbers("x", text, 1, 3, 0.0, 10.0)


def test_lists_are_read():
    assert numbers("x", " 1;2 ,3e-1 ", 1, 3, 0.0, 10.0) == [1.0, 2.0, 0.3]
    assert shares("x", "1/3 1/3 1/3", 3) == [1 / 3] * 3
    with pytest.raises(ValueError, match=r"x must sum to 1, got 0\.9"):
        shares("x", "0.5, 0.4", 2)
    with pytest.raises(ValueError, match="x must be 2 numbers, got 1"):
        shares("x", "1", 2)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"variances": "0, 1, 2"}, "variances must be numbers from 0.01 to 100, got '0'"),
        ({"variances": "1, 2"}, "variances must be 3 numbers, got 2"),
        ({"weights": "0.2, 0.3, 0.6"}, "weights must sum to 1, got 1.1"),
        ({"weights": "1.2, 0.3, -0.5"}, "weights must be numbers from 0 to 1, got '1.2'"),
        ({"means": "1, 2, 3, 4, 5"}, "means must be 1 to 4 numbers, got 5"),
    ],
)
def test_mixtures_that_are_none_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        gaussians.Config(**changes)


def test_variances_that_are_none_are_refused():
    with pytest.raises(ValueError, match=r"unseen must be numbers from 0\.01 to 100, got '0'"):
        scales.Config(unseen="0")
    with pytest.raises(ValueError, match="variances must be 1 to 4 numbers, got 0"):
        scales.Config(variances=" ")


def test_tokens_have_the_moments_of_the_mixture():
    law = mixture_of(gaussians.Config())
    x = heads.tokens(law, (400_000,), torch.Generator().manual_seed(0)).double()
    mean = sum(w * m for w, m in zip(law.weights, law.means, strict=True))
    for power, expected in ((1, mean), (2, law.second), (4, law.fourth)):
        powers = x**power
        assert abs(float(powers.mean()) - expected) < 4 * float(powers.std()) / 400_000**0.5


def test_components_are_as_frequent_as_their_weights():
    config = gaussians.Config(
        means="-10, 0, 10", variances="0.01, 0.01, 0.01", weights="0.2, 0, 0.8"
    )
    x = heads.tokens(mixture_of(config), (100_000,), torch.Generator().manual_seed(0))
    for mean, weight in ((-10, 0.2), (0, 0.0), (10, 0.8)):
        share = float(((x - mean).abs() < 1).double().mean())
        assert abs(share - weight) <= 4 * (weight * (1 - weight) / 100_000) ** 0.5


def test_prompts_are_means_of_squares():
    law = mixture_of(gaussians.Config())
    S = heads.sample_prompts(law, 20, 50_000, torch.Generator().manual_seed(0)).double()
    expected = (law.fourth - law.second**2) / law.second**2 / 20
    assert abs(float(S.mean()) - 1) < 4 * float(S.std()) / 50_000**0.5
    assert float(S.var()) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("kind", heads.KINDS)
def test_gradient_in_one_dimension_is_autograds(kind):
    config = replace(TINY["mixture"], layers=3)
    rows = heads.rows_of(config, kind, 3)
    start = heads.variants.initial(rows, torch.Generator().manual_seed(0))
    parameters = {name: tensor + 0.1 for name, tensor in start.items()}
    gradient, measures = heads.problem(config, rows, parameters, heads.Batches(config)).gradient(0)
    batch = heads.Batches(config).at(0)
    leaves = {name: tensor.clone().requires_grad_() for name, tensor in parameters.items()}
    table = heads.variants.table(leaves, rows, torch.ones(rows.seeds, 1, 1))
    error = batch.target[:, 0, 0]
    gradients = []
    for layer in range(3):
        gradients.append(batch.S[:, 0, 0] * error)
        error = error - sum(table[:, layer, j, None] * gradients[j] for j in range(layer + 1))
    loss = error.square().mean(-1)
    loss.log().sum().backward()
    np.testing.assert_allclose(measures["loss"], loss.detach(), rtol=1e-4)
    for name, leaf in leaves.items():
        torch.testing.assert_close(gradient[name], leaf.grad, rtol=1e-3, atol=1e-5)


def test_rows_of_a_batch_have_their_own_distributions():
    config = replace(TINY["mixture"], seeds=2, batch=1000, n=20)
    S = heads.Batches(config).at(0).S[:, 0, 0]
    assert S.shape == (8, 1000)
    spread = S.std(-1).view(2, 4)
    laws = [*mixture_of(config).components, mixture_of(config)]
    expected = torch.tensor([(law.fourth / law.second**2 - 1) / 20 for law in laws]).sqrt()
    torch.testing.assert_close(spread, expected.expand(2, 4), rtol=0.15, atol=0)
    assert not S[0].equal(S[4])


def test_a_linear_model_in_one_dimension_is_a_product():
    rows = heads.rows_of(gaussians.Config(), "linear", 2)
    parameters = {"A": torch.tensor([0.5, 0.8]).view(1, 1, 2, 1, 1)}
    S = torch.tensor([0.3, 1.0, 2.0]).view(1, 1, 1, 3)
    table = heads.variants.table(parameters, rows, torch.ones(1, 1, 1))
    losses = first_order.expected_losses(table, S)
    torch.testing.assert_close(losses[0], ((1 - 0.5 * S) * (1 - 0.8 * S)).flatten().square())


@pytest.mark.parametrize("name", first_is_short(TINY))
def test_a_run_repeats_and_resumes_bit_for_bit(name):
    experiment = EXPERIMENTS[name]
    config = TINY[name]
    whole = experiment.run(config, Recorder())
    again = [experiment.run(config, Recorder())]
    for stop in (13, 31):
        recorder = Recorder(stop)
        with pytest.raises(Interrupted):
            experiment.run(config, recorder)
        again.append(experiment.run(config, Recorder(saved=recorder.saved)))
        draw_live(experiment, Run(config, recorder.seen, finished=False))
    for tensors in again:
        assert tensors.keys() == whole.keys()
        for key, array in whole.items():
            assert np.array_equal(array, tensors[key], equal_nan=True), key


def draw_live(experiment, run):
    for drawing in experiment.drawings:
        if drawing.live:
            check(drawing.draw(run, experiment.view()))


def check(panel: Panel):
    assert panel.title and len(panel.caption) > 40 and panel.figure is not None
    checked(panel.figure)
    assert "nan" not in (panel.title + panel.note).lower()


@pytest.mark.parametrize("odd", first_is_short([True, False]))
@pytest.mark.parametrize("name", TINY)
def test_everything_is_drawn_and_measured(name, odd):
    experiment = EXPERIMENTS[name]
    config = replace(TINY[name], **(ODD[name] if odd else {}))
    run = Run(config, experiment.run(config, Recorder()))
    assert experiment.cost(config) > 0
    assert experiment.headline(run, experiment.view()).endswith(".")
    for metric in experiment.metrics(run):
        assert metric.value is not None and np.isfinite(metric.value), metric
    knobs = {knob: 5 for drawing in experiment.drawings for knob in drawing.knobs}
    for view in (experiment.view(), experiment.view(**knobs)):
        for drawing in experiment.drawings:
            if drawing.applies(config):
                panel = drawing.draw(run, view)
                check(panel)
                assert drawing.place == STAGE or (panel.data is not None and len(panel.data))


def test_the_table_is_the_iteration_that_it_stands_for():
    head = expert_heads(H=1, L=2)
    batch = batch_for()
    S = batch.S.permute(0, 3, 1, 2)  # [seeds, prompts, d, d]
    w_star = batch.target.permute(0, 3, 1, 2)
    A = head.A[:, 0, :, None]  # [seeds, L, 1, d, d]
    Gamma = head.Gamma[:, 0, :, :, None, None, None]
    first = A[:, 0] @ S @ w_star
    w_1 = Gamma[:, 0, 0] * first
    w_2 = w_1 + Gamma[:, 1, 0] * first + Gamma[:, 1, 1] * (A[:, 1] @ S @ (w_star - w_1))
    table = experts.table(torch.ones(2, 1), head.Gamma, head.A)
    error = first_order.errors(table, batch.S, batch.target)
    torch.testing.assert_close(error, (w_star - w_2).permute(0, 2, 3, 1), rtol=1e-4, atol=1e-4)


def test_the_authors_gates_move_by_their_rate_and_no_further():
    config = scales.Config(
        rotations="own", protocol="authors", steps=20, start="zeros", gate_steps=30,
        gate_prompts=100, learner="authors", layers=2,
    )  # fmt: skip
    run = Run(config, variances.EXPERIMENT.run(config, Recorder()))
    largest = float(np.abs(run["gate/value"]).max())
    assert 0 < largest <= 1.05 * 30 * scales.AUTHORS_RATE
    assert run["gate/triangle"].shape == (1, 6, 2, 2)
    assert run["depth/gated"].shape == run["depth/met"].shape == (1, 3, 2)
    np.testing.assert_array_equal(run["depth/gated"][:, :, -1], run["evaluated/gated"][:, :3])
    by_batch = run["evaluated/batches"]  # [seeds, V, batches], with queries of their own
    assert by_batch.shape == (1, 6, test_set.BLOCK // 1000)
    np.testing.assert_allclose(by_batch.mean(-1), run["evaluated/gated"], rtol=0.15)
    for drawing in variances.EXPERIMENT.drawings:
        assert drawing.panel(run, scales.View()).title
    assert (run["gate/triangle"][:, :, 0, 1] == 0).all()

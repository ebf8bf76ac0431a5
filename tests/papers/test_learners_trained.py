"""Models that papers train as learners of one prompt: each answers as in its own experiment, and
linear ones by ⟨ŵ, x⟩."""

import numpy as np
import pytest
import torch

from icl_core import registry
from icl_core.contract.experiment import CannotDraw, Run
from icl_core.in_context_regression import learner_table
from icl_core.in_context_regression.home import Home, sample
from icl_core.in_context_regression.learner_table import BY_ID
from icl_core.in_context_regression.untrained import least_squares, sums, weights
from icl_core.papers.gdssm.shared import any_layer, gradient_descent
from icl_core.papers.gdssm.shared.sequence_models import all_models
from icl_core.papers.gdssm.shared.sequence_models.settings import Setting
from icl_core.papers.gdssm.shared.task import Tasks
from icl_core.papers.learners.shared import references
from icl_core.papers.learners.trained import constructions, load_run, own_prompt, train
from icl_core.papers.learners.trained.settings import Config, View
from icl_core.papers.memformers import learners as memformers
from icl_core.papers.memformers.shared import first_order

HOME = Home(3, 6, 0.3, "narrow", False, "white", 4.0)
LEARNERS = registry.trained_learners()


def prompt():
    prompts = sample(HOME, 7, torch.Generator().manual_seed(0))
    return prompts.x.float(), prompts.y.float(), prompts.query.float()


def one_number_labels(x, y, query):
    """The prompts as tasks of the GD-SSM, whose labels are f numbers: y and zeros."""
    labels = torch.zeros(7, 3, 7)
    labels[:-1, 0] = y
    return Tasks(torch.cat([x, query[None]]), labels)


def perturbed(learner):
    """Its first weights, moved off where they begin."""
    generator = torch.Generator().manual_seed(1)
    return {
        name: tensor + 0.1 * torch.randn(tensor.shape, generator=generator)
        for name, tensor in learner.initial(3, 6, 0).items()
    }


def test_papers_declare_learners_of_one_name_each():
    declared = [paper.name for paper in registry.papers().values() if paper.learners]
    assert {"memformers", "gdssm"} <= set(declared)
    assert len({learner.id for learner in LEARNERS.values()}) == len(LEARNERS) >= 12


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=lambda learner: learner.id)
def test_a_learner_begins_alike_and_answers_every_prompt_by_itself(learner):
    x, y, query = prompt()
    model = perturbed(learner)
    again = learner.initial(3, 6, 0)
    for name, tensor in learner.initial(3, 6, 0).items():
        assert torch.equal(tensor, again[name])
    answers = learner.predict(model, 3, 6, x, y, query)
    assert answers.shape == (7,)
    alone = learner.predict(model, 3, 6, x[..., :1], y[:, :1], query[:, :1])
    torch.testing.assert_close(alone, answers[:1], atol=1e-5, rtol=1e-4)


def test_widths_are_those_of_the_weights():
    """A transformer's embedding of positions, and the S5's state, have as many columns."""
    assert LEARNERS["linear-steps"].width(3, 6) == LEARNERS["gd-ssm-1"].width(3, 6) == 3
    width = LEARNERS["softmax-2"].width(3, 6)
    assert width == 2 * 3 + 6 + 1
    shapes = [tensor.shape for tensor in LEARNERS["softmax-2"].initial(3, 6, 0).values()]
    assert sum(width in shape for shape in shapes) > len(shapes) / 2


@pytest.mark.parametrize("id", ["linear-steps", "memformer"])
def test_a_linear_learner_answers_by_its_weights(id):
    learner = LEARNERS[id]
    x, y, query = prompt()
    model = perturbed(learner)
    implied = learner.weights(model, 3, 6, x, y)
    answers = learner.predict(model, 3, 6, x, y, query)
    torch.testing.assert_close((implied * query).sum(0), answers, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("remembers", [False, True])
def test_a_linear_transformer_answers_as_in_its_own_experiment(remembers):
    """The iteration of the Memformers' experiments, with S⁺ b for w*."""
    learner = LEARNERS["memformer" if remembers else "linear-steps"]
    x, y, _ = prompt()
    model = {name: tensor.double() for name, tensor in perturbed(learner).items()}
    S, b = sums(x.double(), y.double()[:, None], 6, every=False)
    target = least_squares(S[0], b[0].transpose(0, 1))  # [d, 1, prompts]
    A = model["A"]
    gamma = model["Gamma"].tril() if remembers else torch.eye(len(A), dtype=A.dtype)
    blocks = gamma[:, :, None, None] * A[None]  # [L, L, d, d]: layer, past layer
    table = blocks.permute(0, 2, 1, 3).reshape(1, 3 * len(A), 3 * len(A))
    expected = target[:, 0] - first_order.errors(table, S, target[None])[0, :, 0]
    own = memformers.weights(model, 3, 6, x.double(), y.double())
    torch.testing.assert_close(own, expected, atol=1e-8, rtol=1e-8)


@pytest.mark.parametrize("id", ["gd-ssm-1", "gd-ssm-2", "mamba", "softmax-2"])
def test_a_sequence_model_answers_as_in_its_own_experiment(id):
    x, y, query = prompt()
    model = perturbed(LEARNERS[id])
    setting = Setting(model="N-D", f=3, N=6, bias=True)
    own = {learner.model.id: learner for learner in all_models.learners(setting)}
    expected = own[id].predict(model, one_number_labels(x, y, query))[0, 0]
    torch.testing.assert_close(LEARNERS[id].predict(model, 3, 6, x, y, query), expected)


def test_a_constructed_gd_ssm_is_one_step():
    x, y, query = prompt()
    tasks = one_number_labels(x, y, query)
    layer = any_layer.constructed(all_models.Layer("N-D", "row", 1, f=3, N=6), tasks)
    answers = LEARNERS["gd-ssm-1"].predict(layer.tensors(), 3, 6, x, y, query)
    step = gradient_descent.accumulated(tasks)[-1, 0]  # ∑ y x, [f, prompts]
    ratio = answers / (step * query).sum(0)
    torch.testing.assert_close(ratio, ratio[:1].expand(7), rtol=1e-4, atol=1e-6)


def constructed_steps(rate, beta, covariance):
    """The weights of a linear transformer that is the heavy ball along a matrix."""
    layers = torch.arange(4)
    power = (layers[:, None] - layers).clamp(min=0)
    gamma = (beta ** power.double()).tril()
    return {"A": (rate * covariance).expand(4, -1, -1), "Gamma": gamma}


@pytest.mark.parametrize("id", ["linear-steps", "memformer"])
def test_a_linear_transformer_can_be_its_construction(id):
    learner = LEARNERS[id]
    rule, steps = learner.construction
    prompts = sample(HOME, 7, torch.Generator().manual_seed(0))
    settings = {"rate": 0.4} if rule == "gd-sigma" else {"rate": 0.4, "beta": 0.3}
    whitening = torch.diag(1 / HOME.eigenvalues()) if rule == "gd-sigma" else torch.eye(3).double()
    model = constructed_steps(0.4, settings.get("beta", 0.0), whitening)
    own = memformers.weights(model, 3, 6, prompts.x, prompts.y)
    expected = weights(BY_ID[rule], prompts, settings, HOME, steps, every=False)[0]
    torch.testing.assert_close(own, expected)


@pytest.mark.long
def test_constructions_are_tuned_for_the_prompts_of_the_run(run):
    """No other rate of the sum leaves less of the prompts on which it was tuned."""
    home = run.config.home
    rule = constructions.of_run(run)["gd-ssm-1"]
    assert (rule.id, rule.name) == ("sum", "one step")
    prompts = sample(home, constructions.TUNED_ON, references.stream(0, run.config.seed))
    rate = rule.settings["rate"]

    def mean_error(rate):
        settings = {"rate": rate}
        errors = learner_table.exact_errors(BY_ID["sum"], prompts, settings, home, 1, every=False)
        return float(errors.mean())

    assert mean_error(rate) < min(mean_error(0.9 * rate), mean_error(1.1 * rate))
    beside = constructions.beside(run)
    assert set(beside) == {"linear-steps", "memformer", "gd-ssm-1"}
    assert all(0 <= row.distance < 3 for row in beside.values())


@pytest.fixture
def run(monkeypatch):
    config = Config(n=3, steps=20, batch=16)
    monkeypatch.setattr(train, "TESTED_ON", 40)
    monkeypatch.setattr(train, "TUNED_ON", 40)
    monkeypatch.setattr(constructions, "TESTED_ON", 40)
    few = {id: LEARNERS[id] for id in ("linear-steps", "memformer", "gd-ssm-1", "s5")}
    monkeypatch.setattr(registry, "trained_learners", lambda: few)
    results = {
        id: train._train(config, learner, {}, lambda *state: None) for id, learner in few.items()
    }
    monkeypatch.setattr(train.phases, "run", lambda *arguments: results)
    return Run(config, train.compute(config, None))


def test_a_short_run_is_measured_and_drawn(run):
    experiment = registry.experiment("learners.trained")
    metrics = {metric.claim.id: metric for metric in experiment.metrics(run)}
    assert metrics["linear-steps-do-not-bend"].value < 1e-5
    for snapshot in (0, len(run.snapshot_steps) - 1):
        view = View(snapshot=snapshot)
        assert experiment.headline(run, view)
        for drawing in experiment.drawings:
            drawing.panel(run, view)
    assert np.isfinite(run["snapshot/reference"]).all()


def test_answers_at_a_query_of_the_visitors_own(run):
    view = View(points="1 0: 2; 0 1: -1", query="2 -1")
    answered = own_prompt.answered(run, view)
    np.testing.assert_allclose(answered.w, [2, -1], atol=1e-9)  # two pairs are met exactly
    linear = [id for id in answered.answers if LEARNERS[id].weights is not None]
    assert linear
    for id in linear:
        by_weights = answered.trained[id] @ answered.query
        assert answered.answers[id] == pytest.approx(by_weights, abs=1e-5)
    x = torch.tensor([[1.0, 0.0], [0.0, 1.0]])[..., None]
    y = torch.tensor([[2.0], [-1.0]])
    query = torch.tensor([[2.0], [-1.0]])
    for id, answer in answered.answers.items():
        alone = LEARNERS[id].predict(load_run.trained_weights(run, LEARNERS[id]), 2, 3, x, y, query)
        assert answer == pytest.approx(float(alone), abs=1e-5)
    assert (own_prompt.answered(run, View()).query == 1).all()


@pytest.mark.long
@pytest.mark.parametrize("text", ["1", "1 2 3"])
def test_a_query_of_another_length_is_refused(run, text):
    with pytest.raises(CannotDraw, match="must have 2 features"):
        own_prompt.answered(run, View(query=text))


@pytest.mark.parametrize("text", ["one two", "1 1001", "1 2 3 4 5 6 7 8 9"])
def test_a_query_that_is_none_is_refused(text):
    with pytest.raises(ValueError, match="your own query must be"):
        View(query=text)


def test_sizes_that_take_hours_are_refused():
    with pytest.raises(ValueError, match="from 1 to 5"):
        Config(d=8)

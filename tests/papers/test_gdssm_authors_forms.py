"""What was added to the models as their authors build them: a bias in the read-in and read-out,
heads, layers, S5's norm over tasks and tokens; and what a bias lets a model see."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_core.contract.experiment import Run, names
from icl_core.contract.knobs import BadSetting
from icl_core.contract.settings_io import to_stored
from icl_core.papers.gdssm import comparison
from icl_core.papers.gdssm.comparison import exact
from icl_core.papers.gdssm.comparison.draw.seen import BLIND, answer_changes
from icl_core.papers.gdssm.comparison.settings import PRESETS
from icl_core.papers.gdssm.learns.settings import Config as Widths
from icl_core.papers.gdssm.learns.settings import settings_of
from icl_core.papers.gdssm.shared.sequence_models import MODELS, train
from icl_core.papers.gdssm.shared.sequence_models.all_models import learners
from icl_core.papers.gdssm.shared.sequence_models.authors.parts import HEADS, Shape
from icl_core.papers.gdssm.shared.sequence_models.settings import Config
from icl_core.papers.gdssm.shared.task import Tasks, loss
from tests.papers.test_gdssm_baselines import generator

BASELINES = {model.id: model for model in MODELS.values() if model.baseline}
RECURRENT = [id for id, model in BASELINES.items() if not model.attends]


def parameters_of(id, layers=None, **more):
    """Return those of one seed, float64, with biases and shifts that are not those of the start."""
    model = BASELINES[id]
    shape = Shape(4, 12, layers or model.layers, 11, True, **more)
    p = model.authors.parameters(shape, [generator(3)])
    noise = generator(8)
    return {
        name: tensor[0].double() + 0.1 * torch.randn(tensor[0].shape, generator=noise)
        for name, tensor in p.items()
    }


def forms(id, p, heads=HEADS):
    """The parallel and the recurrent form, of tokens of three tasks."""
    tokens = torch.randn(3, 11, 4, generator=generator(), dtype=torch.float64)
    more = {"heads": heads} if BASELINES[id].attends else {}
    module = BASELINES[id].authors
    return module.forward(p, tokens, **more), module.recur(p, tokens, **more), tokens


@pytest.mark.parametrize("heads", [1, 8])
@pytest.mark.parametrize("id", BASELINES)
def test_with_a_bias_and_other_heads_both_forms_agree(id, heads):
    p = parameters_of(id, heads=heads, bias=True)
    parallel, recurrent, _ = forms(id, p, heads)
    torch.testing.assert_close(parallel, recurrent, rtol=0, atol=1e-11)
    shifted = p | {"b_out": p["b_out"] + 1}
    torch.testing.assert_close(forms(id, shifted, heads)[0], parallel + 1, rtol=0, atol=1e-11)
    without = {name: tensor for name, tensor in p.items() if name != "b_in"}
    assert (forms(id, without, heads)[0] - parallel).abs().max() > 1e-3


@pytest.mark.parametrize("id", RECURRENT)
def test_several_layers_run_token_by_token_as_in_parallel(id):
    p = parameters_of(id, layers=3)
    parallel, recurrent, tokens = forms(id, p)
    torch.testing.assert_close(parallel, recurrent, rtol=0, atol=1e-11)
    last = BASELINES[id].authors.forward(p, tokens, last=True)
    torch.testing.assert_close(last, parallel[:, -1:], rtol=0, atol=1e-12)


@pytest.mark.parametrize("id", RECURRENT)
def test_more_layers_change_no_weight_of_the_first(id):
    module = BASELINES[id].authors
    shallow, deep = (
        module.parameters(Shape(4, 12, layers, 11, True), [generator(3)]) for layers in (1, 2)
    )
    assert all(torch.equal(shallow[name], deep[name]) for name in shallow)
    further = deep.keys() - shallow.keys()
    assert len(further) == len(shallow) - 2  # without W_in and W_out
    assert all(name.startswith("further.") and deep[name].shape[1] == 1 for name in further)
    biased = module.parameters(Shape(4, 12, 1, 11, True, bias=True), [generator(3)])
    assert all(torch.equal(shallow[name], biased[name]) for name in shallow)
    bound = float(biased["b_in"].abs().max())
    assert 0 < bound <= 4**-0.5 and not biased["b_out"].any()


def test_s5s_norm_over_tasks_and_tokens_is_that_of_its_code():
    p = parameters_of("s5", layers=2, whole=True)
    parallel, recurrent, tokens = forms("s5", p)  # the same statistics in both
    torch.testing.assert_close(parallel, recurrent, rtol=0, atol=1e-11)
    u = tokens @ p["W_in"]
    expected = torch.nn.functional.batch_norm(
        u.flatten(0, 1), None, None, p["whole_norm"], p["whole_shift"], training=True, eps=1e-5
    )
    module = BASELINES["s5"].authors
    torch.testing.assert_close(module.seen(p, u).flatten(0, 1), expected, rtol=0, atol=1e-12)
    alone = module.forward(p, tokens[:1])
    assert (alone - parallel[:1]).abs().max() > 1e-3  # it depends on the tasks beside it


def test_only_s5_has_another_norm_in_its_code():
    config = Config(f=2, N=2)
    pairs = zip(learners(config), learners(replace(config, norm="code")), strict=True)
    for ours, code in pairs:
        same = ours.initial([0]).keys() == code.initial([0]).keys()
        assert same == (ours.model.id != "s5")


def test_a_third_of_the_rate_is_for_all_layers_of_a_state_space():
    learner = next(
        learner for learner in learners(Config(f=2, N=2, layers=2)) if learner.model.id == "mamba"
    )
    slow = {name for name in learner.initial([0]) if name in learner.slow}
    state_space = {"log_A", "D", "b_Δ"}
    assert slow == state_space | {f"further.{name}" for name in state_space}
    assert learner.layers == 2


def test_new_knobs_leave_the_keys_of_old_settings():
    assert not {"bias", "heads", "layers", "curriculum", "dense"} & to_stored(Config()).keys()
    assert to_stored(Config(bias=True))["bias"] is True
    assert "bias" not in to_stored(Widths())
    assert settings_of(Widths(bias=True))[0].bias
    plain = Config(form="plain", bias=True, heads="8", layers=3)
    assert (plain.bias, plain.heads, plain.layers) == (False, "4", 1)


def test_rates_go_further_with_a_bias():
    assert Config().rates == (1e-3, 3e-3, 1e-2)
    assert Config(bias=True).rates == Config(form="plain").rates == (1e-3, 3e-3, 1e-2, 3e-2)


def test_a_head_needs_a_hidden_number_of_its_own():
    assert Config(f=2, N=3, heads="8").hidden == 8
    with pytest.raises(BadSetting, match="heads must be at most the 7 hidden numbers, got 8"):
        Config(f=2, N=2, heads="8")


# The order of the tasks, and a loss at every x


@pytest.mark.parametrize(
    "f, stages",
    [(1, [1]), (2, [2]), (3, [2, 3]), (4, [2, 4]), (5, [2, 4, 5]), (10, [2, 4, 6, 8, 10])],
)
def test_a_curriculum_has_equal_stages_in_the_first_quarter(f, stages):
    config = Config(f=f, curriculum=True)
    steps = 960
    active = [config.active(step, steps) for step in range(steps)]
    assert list(dict.fromkeys(active)) == stages
    early = [active.count(stage) for stage in stages[:-1]]
    assert len(set(early)) <= 1 and sum(early) == (steps // 4 if early else 0)
    assert {Config(f=f).active(step, steps) for step in range(steps)} == {f}


def test_in_a_stage_the_other_features_are_zero():
    config = Config(f=5, N=3)
    few, whole = (train.tasks(config, 4, generator(), active) for active in (2, None))
    assert not few.x[:, 2:].any() and torch.equal(few.x[:, :2], whole.x[:, :2])
    assert few.y.abs().min() > 0  # W has all its rows


@pytest.mark.parametrize("form", ["authors", "plain"])
@pytest.mark.parametrize("model", ["1-D", "N-D"])
def test_a_loss_at_every_x_is_that_of_all_beginnings_of_a_prompt(model, form):
    config = Config(model=model, f=2, N=3, form=form, parameters=1000)
    batch = train.tasks(config, 5, generator())
    for learner in learners(config):
        weights = learner.initial([0, 1])
        predictions = learner.predict_all(weights, batch)
        assert predictions.shape == (2, 3, *batch.y.shape[1:]), learner.model.id
        for pairs in (1, 2, 3):
            beginning = Tasks(batch.x[: pairs + 1], batch.y[: pairs + 1])
            alone = learner.predict(weights, beginning)
            torch.testing.assert_close(predictions[:, pairs - 1], alone, rtol=1e-4, atol=1e-6)
        _, measured = train.gradient(learner, weights, batch, dense=True)
        expected = torch.stack([loss(predictions[:, t], batch.y[t + 1]) for t in range(3)]).mean(0)
        assert np.allclose(measured["loss"], expected, rtol=1e-5), learner.model.id


# What each can see


def test_without_a_bias_a_norm_hides_the_size_of_y_and_with_it_nothing_does():
    config = Config()
    without, biased = (answer_changes(config, bias) for bias in (False, True))
    blind = {id for id, change in without.items() if change < BLIND}
    assert blind == {"s5", "mamba", "gated-delta"}
    assert min(change for id, change in without.items() if id not in blind) > 0.05
    assert min(biased.values()) > 0.01
    bare = answer_changes(replace(config, norm="none"), False)
    assert min(bare.values()) > 0.05


def test_the_panel_names_the_blind():
    ids = [learner.model.id for learner in learners(Config())]
    tensors = {"names/models": names(ids), "names/baselines": names(ids[2:])}
    tensors |= {f"size/{name}": np.ones(len(ids)) for name in ("layers", "parameters", "width")}
    run = Run(Config(), tensors | {"evaluated/loss": np.ones((1, len(ids)))})
    drawing = next(learner for learner in comparison.EXPERIMENT.drawings if learner.name == "seen")
    panel = drawing.draw(run, None)
    assert panel.title == "Without a bias 3 of 8 models cannot see how large y is"
    assert "S5, Mamba and gated delta network lie at the left" in panel.caption
    assert len(panel.data) == 8 and not drawing.applies(Config(form="plain"))


# What holds exactly


def test_no_term_of_one_layer_of_linear_attention_is_correlated_with_the_label():
    for f in (1, 3, 10):
        assert exact.of_linear_attention(f) < 1e-12
        assert exact.of_linear_model(f, True) < 1e-12 > exact.of_linear_model(f, False)
    x, y, query, label = exact.signed_tasks(3)
    two_layers = torch.einsum("si,sj,sk->sijk", y, x, query)  # y xᵀ x_q, which a step needs
    assert exact.correlation(two_layers, label) > 0.999


def test_a_trained_term_by_term_sum_is_what_plain_linear_attention_gives():
    """The terms that are enumerated span the model's answer: by least squares on many tasks."""
    config = Config(f=2, N=1, form="plain", parameters=1000)
    learner = next(learner for learner in learners(config) if learner.model.id == "linear-1")
    batch = train.tasks(config, 400, generator())
    answer = learner.predict(learner.initial([0]), batch)[0].T.double()  # (tasks, f)
    ones = torch.ones(400, 1, dtype=torch.float64)
    tokens = (batch.x[0], batch.y[0], batch.x[1])
    x, y, query = (torch.cat([token.T.double(), ones], 1) for token in tokens)
    terms = [torch.einsum("si,sj,sk->sijk", t, t, query).flatten(1) for t in (x, y, query)]
    spanned = torch.cat(terms, 1)
    fitted = spanned @ torch.linalg.lstsq(spanned, answer, driver="gelsd").solution
    assert float((fitted - answer).norm() / answer.norm()) < 1e-5


def test_an_s5s_state_holds_no_more_directions_than_it_has_numbers():
    assert exact.share_held_by_s5(10, 31, 21) == pytest.approx(62 / 210, abs=1e-12)
    assert exact.share_held_by_s5(1, 30, 3) == 1.0  # a state with room for all of it


def test_presets_with_a_bias_differ_in_the_new_knobs_alone():
    by_name = {preset.name: preset for preset in PRESETS}
    for name, of, more in (
        ("N-D, bias", "N-D", {"bias": True}),
        ("1-D, bias", "1-D", {"bias": True}),
        (
            "Figure 6, with a curriculum",
            "paper size",
            {"bias": True, "curriculum": True, "dense": True, "steps": 10_000},
        ),
    ):
        assert by_name[name].config == replace(by_name[of].config, **more)

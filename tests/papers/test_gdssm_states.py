"""The experiment on update rules: exact losses against prompts, best settings against their
neighbours, windows that are the rules, changed prompts."""

import numpy as np
import pytest
import torch

from icl_core.in_context_regression import rules
from icl_core.in_context_regression.recent_learners import beginning
from icl_core.in_context_regression.recent_rules import RECENT
from icl_core.in_context_regression.rules import KALMAN, RULES, SQUARES
from icl_core.papers.gdssm.shared import closed_forms
from icl_core.papers.gdssm.shared.sequence_models.all_models import learners
from icl_core.papers.gdssm.shared.sequence_models.settings import Setting
from icl_core.papers.gdssm.shared.task import sample
from icl_core.papers.gdssm.shared.transformations import departures, response_to_sizes
from icl_core.papers.gdssm.states import expected, recent, recent_layers, window
from icl_core.papers.gdssm.states.recent_layers import LAYERS

SINGLE = [rule for rule in RULES.values() if rule is not SQUARES]
F = 3
N = 4
DRIFT = 0.3


@pytest.mark.parametrize("drift", [0.0, DRIFT])
@pytest.mark.parametrize("rule", SINGLE, ids=lambda rule: rule.id)
def test_the_recursion_of_two_numbers_is_the_mean_over_prompts(rule, drift):
    settings = {"rate": 0.4, "decay": 0.8, "gain": 0.9}
    settings = {name: settings[name] for name in (*rule.settings, "gain")}
    generator = torch.Generator().manual_seed(3)
    x = 2 * torch.rand(N, F, 20_000, generator=generator, dtype=torch.float64) - 1
    over_prompts = expected.traced_over_prompts(rule, settings, x, drift)
    assert np.allclose(expected.traced(rule, settings, F, N, drift), over_prompts, atol=0.01)


def test_moments_are_those_of_tasks_that_drift():
    tasks = window.draw(F, N, 40_000, torch.Generator().manual_seed(5), DRIFT)
    settings = expected.tuned(RULES["gated"], F, N, DRIFT)
    state = rules.after(RULES["gated"], tasks.x[:-1], tasks.y[:-1], settings)
    answer = settings["gain"] * rules.predict(RULES["gated"], state, tasks.x[-1], settings)
    share = (answer - tasks.y[-1]).square().mean() / tasks.y[-1].square().mean()
    in_closed_form = expected.traced(RULES["gated"], settings, F, N, DRIFT)[-1]
    assert share == pytest.approx(in_closed_form, rel=0.02)


@pytest.mark.parametrize(("f", "pairs"), [(10, 10), (10, 20), (3, 5)])
def test_exact_values_without_drift(f, pairs):
    q = f - 1 + closed_forms.KAPPA
    shares = {
        rule.id: expected.traced(rule, expected.tuned(rule, f, pairs), f, pairs)[-1]
        for rule in SINGLE
    }
    assert shares["sum"] == pytest.approx(expected.one_step(f, pairs))
    assert shares["decayed"] == pytest.approx(expected.one_step(f, pairs))
    assert shares["delta"] == pytest.approx((1 - 1 / q) ** pairs)
    assert shares["unit"] == pytest.approx((1 - 1 / f) ** pairs)
    assert shares["gated"] == pytest.approx(shares["unit"])
    assert shares["longhorn"] == pytest.approx(shares["unit"], rel=1e-3)


@pytest.mark.parametrize("rule", SINGLE, ids=lambda rule: rule.id)
def test_no_neighbour_of_the_best_settings_is_better(rule):
    best = expected.tuned(rule, F, N, DRIFT)
    least = expected.traced(rule, best, F, N, DRIFT)[-1]
    for name in best:
        for factor in (0.95, 1.05):
            other = {**best, name: best[name] * factor}
            assert expected.traced(rule, other, F, N, DRIFT)[-1] >= least - 1e-9


def test_the_best_gate_is_what_w_keeps_of_itself():
    settings = expected.tuned(RULES["gated"], F, N, DRIFT)
    share = expected.kept(DRIFT)
    assert settings == pytest.approx({"rate": 1.0, "decay": share, "gain": share}, abs=1e-3)


def test_no_rule_is_better_than_the_kalman_filter():
    x = expected.prompts(F, N)
    floor = expected.traced_over_prompts(KALMAN, {"drift": DRIFT}, x, DRIFT)[-1]
    ((settings, least),) = expected.of_squares(x, [DRIFT])
    losses = [
        expected.traced_over_prompts(rule, expected.tuned(rule, F, N, DRIFT), x, DRIFT)[-1]
        for rule in SINGLE
    ]
    assert floor < min([least, *losses])
    assert expected.traced_over_prompts(SQUARES, settings, x, DRIFT)[-1] == pytest.approx(least)


def test_batches_in_closed_form_are_those_of_prompts():
    rate, share = expected.in_batches(F, N, 3)
    generator = torch.Generator().manual_seed(4)
    x = 2 * torch.rand(N, F, 40_000, generator=generator, dtype=torch.float64) - 1
    W = rules.in_batches(x, x, 3, rate)  # of y = x, so that W should be the identity
    error = W - torch.eye(F, dtype=torch.float64)[:, :, None]
    assert share == pytest.approx(float(error.square().sum((0, 1)).mean()) / F, abs=0.005)
    ends = [expected.in_batches(F, N, batch)[1] for batch in (1, N)]
    delta = expected.tuned(RULES["delta"], F, N)
    assert ends[0] == pytest.approx(expected.traced(RULES["delta"], delta, F, N)[-1])
    assert ends[1] == pytest.approx(expected.one_step(F, N))


def test_a_delta_rule_of_small_rate_is_a_step_on_all_pairs():
    x = expected.prompts(F, N)
    delta = expected.tuned(RULES["delta"], F, N)
    far = [expected.imitation(RULES["delta"], delta, x, shrunk, True) for shrunk in (0.1, 0.01)]
    assert far[1] == pytest.approx(far[0] / 10, rel=0.1)
    assert expected.imitation(RULES["delta"], delta, x, 0.01, False) > 0.9


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_a_constructed_window_is_the_rule(rule):
    settings = {"rate": 0.4, "decay": 0.9, "ridge": 0.1, "gain": 0.8}
    tasks = sample(F, N, 50, torch.Generator().manual_seed(0))
    built = window.constructed(rule, settings)
    state = rules.after(rule, tasks.x[:-1], tasks.y[:-1], settings)
    answer = 0.8 * rules.predict(rule, state, tasks.x[-1], settings)
    assert torch.allclose(window.predict(rule, built, tasks)[0], answer, atol=1e-5)
    assert torch.allclose(window.as_written(rule, built)["window"][0], torch.eye(3))


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_what_a_rule_cannot_tell_apart_is_normalised_away(rule):
    settings = {"rate": 0.4, "decay": 0.9, "ridge": 0.1, "gain": 0.8}
    weights = window.constructed(rule, settings)
    moved = {**weights, "key": -3 * weights["key"], "value": 2 * weights["value"]}
    adds = rule.id in ("sum", "decayed")
    moved["query"] = weights["query"] / (-6 if adds else -2 / 3)
    if rule.id in ("delta", "longhorn"):
        by_log = rule.id == "longhorn"
        moved["rate"] = moved["rate"] - np.log(9) if by_log else moved["rate"] / 9
    if rule.id == "squares":
        moved["ridge"] = moved["ridge"] + np.log(9)
    tasks = sample(F, N, 50, torch.Generator().manual_seed(0))
    answers = window.predict(rule, weights, tasks)
    assert torch.allclose(answers, window.predict(rule, moved, tasks), atol=1e-5)
    normalised = window.as_written(rule, moved)
    for name, quantity in window.as_written(rule, weights).items():
        assert torch.allclose(quantity, normalised[name], atol=1e-5), name


def predictor(rule, settings):
    def predict(tasks):
        state = rules.after(rule, tasks.x[:-1], tasks.y[:-1], settings)
        return rules.predict(rule, state, tasks.x[-1], settings)

    return predict


def test_symmetries_of_the_rules():
    tasks = sample(F, N, 50, torch.Generator().manual_seed(0)).to(torch.float64)
    settings = {"rate": 0.4, "decay": 0.8, "ridge": 0.1}
    shares = {id: departures(predictor(rule, settings), tasks) for id, rule in RULES.items()}
    for row in shares.values():
        assert max(row["label size"], row["rotation"], row["label rotation"]) < 1e-12
    assert shares["sum"]["covariate size"] == pytest.approx(1.0)
    assert shares["unit"]["covariate size"] < 1e-12 < shares["delta"]["covariate size"]
    assert shares["sum"]["order"] < 1e-12
    assert min(shares[id]["order"] for id in ("decayed", "delta", "unit", "squares")) > 0.01
    still = departures(predictor(SQUARES, {**settings, "decay": 1.0}), tasks)
    assert still["order"] < 1e-12


@torch.no_grad()
def test_models_that_norm_each_token_are_blind_to_the_size_of_labels():
    config = Setting(model="N-D", f=3, N=5)
    tasks = sample(3, 5, 64, torch.Generator().manual_seed(0))
    change = {}
    for learner in learners(config):
        weights = learner.initial([0])
        change[learner.model.id] = response_to_sizes(
            lambda tasks, learner=learner, weights=weights: learner.predict(weights, tasks)[0],
            tasks,
        )
    blind = {"s5", "mamba", "gated-delta"}
    assert {id for id, share in change.items() if share < 1e-3} == blind


# recent rules


VARIANTS = {
    name: (rule, given | {key: recent_start[key] for key in searched})
    for name, (rule, searched, given) in recent.VARIANTS.items()
    for recent_start in [beginning(rule.id, searched, F, F / 3)]
}


@pytest.mark.parametrize("drift", [0.0, DRIFT])
@pytest.mark.parametrize("name", ["unit", "gated", "delta"])
def test_losses_over_prompts_are_those_of_the_recursion(name, drift):
    rule, settings = VARIANTS[name]
    x = 2 * torch.rand(N, F, 20_000, generator=torch.Generator().manual_seed(3)).double() - 1
    kept = torch.full((F,), (1 - drift**2) ** 0.5).double()
    computed = float(recent.loss(rule, x, settings, kept))
    numbers = {key: float(value) for key, value in settings.items()}
    u = expected.mean_steps(rule, np.array(numbers["rate"]), F)
    m, xi = expected.recursion(u, N, drift, numbers.get("decay", 1.0))
    assert computed == pytest.approx(float(1 - xi[-1] ** 2 / m[-1]), abs=0.01)


@pytest.mark.parametrize("name", ["kda", "rwkv7", "product", "titans", "ttt", "omega"])
def test_losses_are_those_of_tasks_whose_columns_drift(name):
    """The same loss by drawing W, in which the first columns alone drift."""
    rule, settings = VARIANTS[name]
    generator = torch.Generator().manual_seed(4)
    count = 30_000
    x = 2 * torch.rand(N + 1, F, count, generator=generator).double() - 1
    drift = torch.tensor([0.6] * (F - 1) + [0.0]).double()[:, None]
    w = torch.randn(F, count, generator=generator).double()
    labels = []
    for key in x[:-1]:
        labels.append((w * key).sum(0))
        fresh = torch.randn(F, count, generator=generator).double()
        w = (1 - drift.square()).sqrt() * w + drift * fresh
    state = rules.after(rule, x[:-1], torch.stack(labels)[:, None], settings)
    learned = rules.matrix(rule, state, settings)[0]
    gain = (learned * w).sum() / learned.square().sum()
    share = float((w - gain * learned).square().mean())
    kept = (1 - drift.square()).sqrt()[:, 0]
    assert share == pytest.approx(float(recent.loss(rule, x[:-1], settings, kept)), rel=0.02)


def test_the_kalman_filter_knows_which_columns_drift():
    """It is the conditional mean where every column has a drift of its own."""
    x = torch.randn(6, 3, 1, generator=torch.Generator().manual_seed(1)).double()
    drift = torch.tensor([0.4, 0.0, 0.7]).double()
    c = (1 - drift.square()).sqrt()
    place = torch.arange(6)
    between = c ** (place[:, None] - place).abs()[..., None]
    labels = torch.einsum("nd,md,nmd->nm", x[..., 0], x[..., 0], between)
    with_next = c ** (6 - place)[:, None] * x[..., 0]
    wanted = torch.linalg.solve(labels, with_next)
    v = rules.coefficients(KALMAN, x, {"drift": drift})
    assert torch.allclose(v[..., 0], wanted, atol=1e-6)


@pytest.fixture(scope="module")
def where_some_drift():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recent, "DRIFTS", (0.0, 0.5))
        yield recent.computed(3, 8)


def test_no_recent_rule_is_better_than_the_kalman_filter(where_some_drift):
    for kind in ("all", "half"):
        losses = where_some_drift[f"recent/{kind}"]
        assert (losses[:-1] > losses[-1] - 1e-6).all()


def test_more_settings_are_no_worse(where_some_drift):
    """Over prompts that were not tuned on, hence with a margin."""
    ids = list(recent.VARIANTS)
    for kind in ("all", "half"):
        losses = dict(zip(ids, where_some_drift[f"recent/{kind}"], strict=False))
        for more, less in (("gated", "unit"), ("kda", "gated"), ("rwkv7", "kda")):
            assert (losses[more] < losses[less] + 0.003).all(), (more, less)
        assert (losses["titans"] < losses["delta"] + 0.003).all()


def test_channels_forget_what_drifts(where_some_drift):
    everywhere, half = where_some_drift["recent/decays"]
    np.testing.assert_allclose(everywhere[1], 0.75**0.5, atol=0.01)
    assert half[1][-1] > 0.97 > 0.93 > half[1][:-1].max()
    np.testing.assert_allclose(everywhere[0], 1, atol=0.01)


def test_momentum_is_worth_nothing(where_some_drift):
    """Nor is it at any other rate and momentum than those that the search has found."""
    ids = list(recent.VARIANTS)
    for kind in ("all", "half"):
        losses = dict(zip(ids, where_some_drift[f"recent/{kind}"], strict=False))
        np.testing.assert_allclose(losses["momentum"], losses["delta"], rtol=0.005)
    x = expected.prompts(3, 8)
    kept = torch.full((3,), 0.75**0.5).double()
    rule = recent.VARIANTS["titans"][0]

    def least(beta):
        rates = torch.linspace(0.2, 1.4, 25).tolist()
        tried = [{"rate": rate, "beta": beta, "decay": 1.0} for rate in rates]
        return min(float(recent.loss(rule, x, settings, kept)) for settings in tried)

    assert least(0.0) < least(0.1) < least(0.3)


# recent rules as layers


CHANNELS = torch.tensor([0.9, 0.7, 1.0], dtype=torch.float64)
RATES = torch.tensor([0.8, 0.6], dtype=torch.float64)


def written(layer, decays):
    """A layer's settings of the construction, with two rates where it takes two steps."""
    settings = {"rates": RATES[: len(layer.takes)]}
    return settings | ({"decays": decays} if layer.decays else {})


def answers(rule, tasks, settings):
    state = rules.after(rule, tasks.x[:-1], tasks.y[:-1], settings)
    return rules.predict(rule, state, tasks.x[-1], settings)


def constructed_answers(layer, settings, tasks, gain=1.0):
    weights = recent_layers.constructed(layer, settings, gain)
    # weights are stored in float32; the layer is the same in double
    exact = {name: weight.double() for name, weight in weights.items()}
    exact |= {name: setting[None] for name, setting in settings.items()}
    return recent_layers.predict(layer, exact, tasks)[0]


def in_float64():
    return sample(F, N, 50, torch.Generator().manual_seed(0)).to(torch.float64)


@pytest.mark.parametrize(
    ("id", "decays", "rule", "its"),
    [
        ("kda", CHANNELS, RECENT["kda"], {"rate": 0.8, "decays": CHANNELS}),
        ("kda-half", CHANNELS, RECENT["kda"], {"rate": 0.8, "decays": CHANNELS}),
        ("gated-half", CHANNELS[:1], RULES["gated"], {"rate": 0.8, "decay": 0.9}),
        # two steps on a pair are one, at 1 − (1 − 0.8) (1 − 0.6)
        ("product", None, RULES["unit"], {"rate": 0.92}),
    ],
)
def test_a_constructed_layer_is_its_rule(id, decays, rule, its):
    layer = LAYERS[id]
    tasks = in_float64()
    answer = constructed_answers(layer, written(layer, decays), tasks)
    torch.testing.assert_close(answer, answers(rule, tasks, its), atol=1e-12, rtol=1e-12)


def test_with_the_older_pair_first_deltaproduct_is_its_rule():
    layer = recent_layers.Layer("older", "older first", pairs=2, takes=(1, 0))
    tasks = in_float64()
    answer = constructed_answers(layer, {"rates": RATES[[0, 0]]}, tasks)
    wanted = answers(RECENT["product"], tasks, {"rate": 0.8, "reach": 2.0})
    torch.testing.assert_close(answer, wanted, atol=1e-12, rtol=1e-12)
    # steps on a pair follow each other: all but the last are the delta rule at 1 − (1 − b)²
    rates = 0.96, 0.8
    first = rules.after(RULES["unit"], tasks.x[: N - 1], tasks.y[: N - 1], {"rate": rates[0]})
    last = RULES["unit"].update(first, tasks.x[N - 1], tasks.y[N - 1], {"rate": rates[1]})
    by_hand = rules.predict(RULES["unit"], last, tasks.x[-1], {})
    torch.testing.assert_close(answer, by_hand, atol=1e-12, rtol=1e-12)


def test_with_the_newer_pair_first_deltaproduct_goes_back():
    """By a loop over one task."""
    layer = LAYERS["product-two"]
    tasks = in_float64()
    x, y = (of[..., 0].numpy() for of in (tasks.x, tasks.y))
    W = np.zeros((F, F))
    for t in range(N):
        for rate, pair in zip(RATES.numpy(), (t, t - 1), strict=True):
            if pair >= 0:
                k = x[pair] / np.linalg.norm(x[pair])
                W = W @ (np.eye(F) - rate * np.outer(k, k)) + rate * np.outer(
                    y[pair] / np.linalg.norm(x[pair]), k
                )
    answer = constructed_answers(layer, {"rates": RATES}, tasks, gain=0.5)[:, 0]
    np.testing.assert_allclose(answer.numpy(), 0.5 * W @ x[-1], atol=1e-12)


@pytest.mark.parametrize("layer", LAYERS.values(), ids=lambda layer: layer.id)
def test_coefficients_of_a_layer_are_its_answers(layer):
    """The form in which it is tuned, and the one in which it is trained."""
    tasks = in_float64()
    settings = written(layer, CHANNELS[: layer.channels(F)])
    v = recent_layers.coefficients(layer, tasks.x[:-1], settings)
    W = torch.einsum("top,tip->oip", tasks.y[:-1], v)
    answer = constructed_answers(layer, settings, tasks)
    torch.testing.assert_close(answer, rules.applied(W, tasks.x[-1]), atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("layer", LAYERS.values(), ids=lambda layer: layer.id)
def test_tuned_layers_lose_on_tasks_what_is_said(layer, monkeypatch):
    monkeypatch.setattr(expected, "PROMPTS", (2**14, 2**22))
    settings, gain, share = recent_layers.tuned(layer, F, 5, 0.0)
    drift = layer.drift(F, 0.0)
    tasks = window.draw(F, 5, 40_000, torch.Generator().manual_seed(6), drift)
    weights = recent_layers.constructed(layer, settings, gain)
    error = (recent_layers.predict(layer, weights, tasks)[0] - tasks.y[-1]).square().mean()
    assert float(error / tasks.y[-1].square().mean()) == pytest.approx(share, rel=0.03)
    drifting = recent.half_of(F).numpy() > 0
    if layer.id == "kda-half":
        decays = settings["decays"].numpy()
        assert decays[drifting].max() < 0.95 < 0.98 < decays[~drifting].min()


def test_columns_drift_as_fast_as_is_said_and_others_stay():
    drift = torch.tensor([0.6, 0.0, 0.0])
    tasks = window.draw(3, 2, 60_000, torch.Generator().manual_seed(7), drift)
    for feature, kept in ((0, 0.8), (1, 1.0), (2, 1.0)):
        x, y = tasks.x[:, feature], tasks.y
        product = (y[0] * x[0] * y[1] * x[1]).mean() / x.square().mean() ** 2
        assert float(product) == pytest.approx(kept, abs=0.06)

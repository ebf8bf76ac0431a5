"""Recent update rules against plain loops over one prompt in float64, against what they turn into,
and, where fla-core is installed, against its plain recurrences.

    layouts                 here             fla-core
    state                   W, o × d         S = Wᵀ, d × o, [batch, heads, d, o]
    keys and values         x, y             unit keys are x / |x|, and y / |x|, as the caller gives
    queries                 as they are      times d^(−1/2), unless a scale is given
    decays                  a                log a
    precision               float64          float32, here made float64
"""

import importlib

import numpy as np
import pytest
import torch

from icl_core.in_context_regression import learner_table, rules
from icl_core.in_context_regression.home import Home, Prompts, sample
from icl_core.in_context_regression.recent_learners import EVERY, RECENT, follow, tune_recent
from icl_core.in_context_regression.recent_rules import RECENT as RULES
from icl_core.in_context_regression.recent_rules import multiplications
from icl_core.in_context_regression.untrained import answers, queries, solve, weights

D, LABELS, PAIRS, PROMPTS, C = 4, 3, 9, 6, 3
CHANNELS = torch.tensor([0.7, 0.2, 1.3, 0.9]).double()
DECAYS = torch.tensor([0.95, 0.6, 1.0, 0.8]).double()
SETTINGS = {
    "rate": 0.3,
    "rates": CHANNELS,
    "decay": 0.9,
    "decays": DECAYS,
    "beta": 0.4,
    "ridge": 0.05,
    "gain": 1.2,
    "reach": float(C),
    "steps": 2,
}
HOME = Home(3, 6, 0.3, "narrow", False, "white", 9.0)
CLOSE = {"atol": 1e-10, "rtol": 1e-10}


@pytest.fixture
def pairs():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(PAIRS, D, PROMPTS, generator=generator, dtype=torch.float64)
    y = torch.randn(PAIRS, LABELS, PROMPTS, generator=generator, dtype=torch.float64)
    return x, y


def fitted(id, x, y, settings=None):
    rule = RULES[id]
    numbers = SETTINGS | (settings or {})
    return rules.matrix(rule, rules.after(rule, x, y, numbers), numbers)


def loop(id, x, y):
    """W of one prompt, x (pairs, d) and y (pairs, o), by the papers' matrices, with S = Wᵀ."""
    rate, beta, decay = SETTINGS["rate"], SETTINGS["beta"], SETTINGS["decay"]
    a, w = CHANNELS.numpy(), DECAYS.numpy()
    S = np.zeros((D, LABELS))
    momentum = np.zeros_like(S)
    began = S
    one = np.eye(D)
    for t, (key, value) in enumerate(zip(x, y, strict=True)):
        length = np.linalg.norm(key)
        k, v = key / length, value / length
        last = range(max(0, t - C + 1), t + 1)
        if id == "kda":
            S = (one - rate * np.outer(k, k)) @ np.diag(w) @ S + rate * np.outer(k, v)
        elif id == "rwkv7":
            removed = S.T @ (np.diag(w) - np.outer(k, a * k))
            S = (removed + np.outer(SETTINGS["gain"] * v, a * k)).T
        elif id == "product":
            for s in last:
                norm = np.linalg.norm(x[s])
                k_s, v_s = x[s] / norm, y[s] / norm
                S = (one - rate * np.outer(k_s, k_s)) @ S + rate * np.outer(k_s, v_s)
        elif id == "titans":
            momentum = beta * momentum - rate * np.outer(key, S.T @ key - value)
            S = decay * S + momentum
        elif id == "ttt":
            if t % C == 0:
                began = S
            S = S - rate * np.outer(key, began.T @ key - value)
        else:
            gradient = sum(np.outer(x[s], S.T @ x[s] - y[s]) for s in last)
            S = decay * S - rate * gradient
    return S.T


@pytest.mark.parametrize("id", [id for id in RULES if id != "mesa"])
def test_a_rule_is_its_papers_loop(id, pairs):
    x, y = pairs
    W = fitted(id, x, y)
    for prompt in range(PROMPTS):
        expected = loop(id, x[..., prompt].numpy(), y[..., prompt].numpy())
        np.testing.assert_allclose(W[..., prompt].numpy(), expected, atol=1e-10, rtol=1e-10)


@pytest.mark.parametrize("steps", [1, 2, D])
def test_mesa_is_conjugate_gradient_on_the_query(steps, pairs):
    """The k-th iterate is the least ½ zᵀ A z − qᵀ z in the span of q, A q, …, A^(k−1) q."""
    x, y = pairs
    rule = RULES["mesa"]
    settings = SETTINGS | {"steps": steps}
    query = torch.randn(D, PROMPTS, generator=torch.Generator().manual_seed(1)).double()
    answer = rules.predict(rule, rules.after(rule, x, y, settings), query, settings)
    for prompt in range(PROMPTS):
        X, Y, q = x[..., prompt].numpy(), y[..., prompt].numpy(), query[:, prompt].numpy()
        age = SETTINGS["decay"] ** np.arange(PAIRS - 1, -1, -1)[:, None]
        A = X.T @ (age * X) + SETTINGS["ridge"] * np.eye(D)
        span = np.linalg.qr(np.stack([np.linalg.matrix_power(A, k) @ q for k in range(steps)], 1))[
            0
        ]
        z = span @ np.linalg.solve(span.T @ A @ span, span.T @ q)
        np.testing.assert_allclose(
            answer[:, prompt].numpy(), Y.T @ (age * X) @ z, atol=1e-9, rtol=1e-9
        )


def test_mesa_with_as_many_steps_as_features_is_least_squares(pairs):
    x, y = pairs
    exact = rules.RULES["squares"]
    settings = {"decay": 0.9, "ridge": 0.05}
    expected = rules.matrix(exact, rules.after(exact, x, y, settings), settings)
    torch.testing.assert_close(fitted("mesa", x, y, {"steps": D}), expected, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize(
    ("id", "settings", "simpler", "of_simpler"),
    [
        ("kda", {"decays": 0.9}, "gated", {"decay": 0.9, "rate": 0.3}),
        ("kda", {"decays": torch.ones(D).double()}, "unit", {"rate": 0.3}),
        ("rwkv7", {"rates": 0.3, "decays": 1.0, "gain": 1.0}, "unit", {"rate": 0.3}),
        ("product", {"reach": 1}, "unit", {"rate": 0.3}),
        ("titans", {"beta": 0.0, "decay": 1.0}, "delta", {"rate": 0.3}),
        ("ttt", {"reach": 1}, "delta", {"rate": 0.3}),
        ("ttt", {"reach": PAIRS}, "sum", {"rate": 0.3}),
        ("omega", {"reach": 1, "decay": 1.0}, "delta", {"rate": 0.3}),
    ],
)
def test_what_a_rule_turns_into(id, settings, simpler, of_simpler, pairs):
    x, y = pairs
    rule = rules.RULES[simpler]
    expected = rules.matrix(rule, rules.after(rule, x, y, of_simpler), of_simpler)
    torch.testing.assert_close(fitted(id, x, y, settings), expected, **CLOSE)


def test_chunks_are_gradient_descent_in_batches(pairs):
    x, y = pairs
    for c in (2, 4, 7):
        expected = rules.in_batches(x, y, c, 0.3)
        torch.testing.assert_close(fitted("ttt", x, y, {"reach": c}), expected, **CLOSE)


def test_steps_on_one_key_are_one_step_at_a_larger_rate(pairs):
    """Why DeltaProduct needs keys of its own: c steps at b on one pair are one at 1 − (1 − b)^c."""
    x, y = pairs
    rate, c = 0.3, 3
    unit = rules.RULES["unit"]
    W = rules.after(unit, x[:1].expand(c, -1, -1), y[:1].expand(c, -1, -1), {"rate": rate})[0]
    once = rules.after(unit, x[:1], y[:1], {"rate": 1 - (1 - rate) ** c})[0]
    torch.testing.assert_close(W, once, **CLOSE)


def test_channel_rates_precondition(pairs):
    """Rates of the channels are the delta rule of coordinates in which they are one rate: with
    x' = √a ⊙ x the same step, but for the length of x."""
    x, y = pairs
    key, value = x[0], y[0]
    length = key.square().sum(0)
    root = CHANNELS.sqrt()[:, None]
    settings = {"rates": CHANNELS, "decays": 1.0, "gain": 1.0}
    delta = rules.RULES["delta"]
    (W,) = rules.after(delta, (root * key)[None], (value / length)[None], {"rate": 1.0})
    torch.testing.assert_close(fitted("rwkv7", x[:1], y[:1], settings), W * root, **CLOSE)


@pytest.mark.parametrize("id", RULES)
def test_a_rule_is_linear_in_the_values_and_holds_what_it_says(id, pairs):
    x, y = pairs
    rule = RULES[id]
    v = rules.coefficients(rule, x, SETTINGS)
    torch.testing.assert_close(fitted(id, x, y), torch.einsum("nop,ndp->odp", y, v), **CLOSE)
    state = rules.after(rule, x, y, SETTINGS)
    assert rule.size(LABELS, D, C) == sum(matrix[..., 0].numel() for matrix in state)


@pytest.mark.parametrize("id", RULES)
def test_seeds_have_settings_of_their_own(id, pairs):
    x, y = pairs
    same = {"reach", "steps"}
    two = {
        name: value
        if name in same
        else torch.stack([torch.as_tensor(value).double(), torch.as_tensor(value).double() / 2])
        for name, value in SETTINGS.items()
    }
    both = fitted(id, x[:, None].expand(-1, 2, -1, -1), y[:, None].expand(-1, 2, -1, -1), two)
    for seed in range(2):
        alone = {name: value if name in same else value[seed] for name, value in two.items()}
        torch.testing.assert_close(both[seed], fitted(id, x, y, alone))


@pytest.mark.parametrize(
    ("id", "changed", "same"),
    [
        ("kda", "scale", True),
        ("rwkv7", "scale", True),
        ("product", "scale", True),
        ("titans", "scale", False),
        ("ttt", "scale", False),
        ("omega", "scale", False),
        ("mesa", "scale", False),
        ("mesa", "order", True),
        *((id, "order", False) for id in RULES if id != "mesa"),
        *((id, "rotation", id not in ("kda", "rwkv7")) for id in RULES),
    ],
)
def test_symmetries(id, changed, same, pairs):
    """An answer stays where x and the query are scaled or rotated, or pairs reordered."""
    x, y = pairs
    generator = torch.Generator().manual_seed(2)
    query = torch.randn(D, PROMPTS, generator=generator, dtype=torch.float64)
    rule = RULES[id]
    settings = SETTINGS | ({"decay": 1.0} if id == "mesa" else {})

    def answer(x, y, query):
        return rules.predict(rule, rules.after(rule, x, y, settings), query, settings)

    before = answer(x, y, query)
    if changed == "scale":
        after = answer(3 * x, y, 3 * query)
    elif changed == "order":
        after = answer(x.flip(0), y.flip(0), query)
    else:
        R = torch.linalg.qr(torch.randn(D, D, generator=generator, dtype=torch.float64))[0]
        after = answer(torch.einsum("ij,njp->nip", R, x), y, R @ query)
    assert torch.allclose(before, after, atol=1e-9) == same


def settings_of(id):
    names = (*RECENT[id].settings, "reach")
    three = {name: SETTINGS[name] for name in names}
    return {n: v[:3] if isinstance(v, torch.Tensor) else v for n, v in three.items()}


@pytest.mark.parametrize("id", RECENT)
def test_exact_errors_are_the_mean_over_targets_and_noise(id):
    """The closed form beside draws of w*, noise and query for the same covariates."""
    learner = RECENT[id]
    one = sample(HOME, 1, torch.Generator().manual_seed(3))
    settings = settings_of(id)
    exact = learner_table.exact_errors(learner, one, settings, HOME, 2, every=False)
    generator = torch.Generator().manual_seed(1)
    count = 50_000
    w = torch.randn(HOME.d, count, generator=generator, dtype=torch.float64)
    noise = HOME.noise * torch.randn(HOME.n, count, generator=generator, dtype=torch.float64)
    labels = one.x[..., 0] @ w + noise  # [n, count]
    asked = queries(one)
    squares = []
    for query in asked:
        coefficients = answers(
            learner, one.x, torch.eye(HOME.n).double()[:, :, None], query, settings, HOME, 2, False
        )[0, :, 0]
        squares.append((coefficients @ labels - query[:, 0] @ w).square())
    sampled = torch.stack(squares).mean(0)
    if not learner.by_query:  # exact over the query too
        learned = solve(learner, one.x, labels[..., None], settings, HOME, 2, every=False)
        difference = learned[0, ..., 0].T - w
        sampled = (HOME.eigenvalues()[:, None] * difference.square()).sum(0)
    spread = float(sampled.std()) / count**0.5
    assert abs(float(sampled.mean()) - float(exact[0, 0])) < 4 * spread


@pytest.mark.parametrize("id", RECENT)
def test_awkward_prompts_give_finite_weights(id):
    for x in ([[1.0, 2.0, 3.0]] * 4, [[0.0, 0.0, 0.0]], [[1e3, -1e3, 1e-3]]):
        covariates = torch.tensor(x, dtype=torch.float64)[..., None]
        labels = torch.full((len(x), 1), 1e3, dtype=torch.float64)
        one = sample(HOME, 1, torch.Generator().manual_seed(0))
        prompts = Prompts(covariates, labels, one.w, one.covariance, one.query)
        assert torch.isfinite(weights(RECENT[id], prompts, settings_of(id), HOME, 2)).all()


@pytest.fixture(scope="module")
def tuned():
    """Settings on few prompts of unequal directions, of simple rules and of recent ones."""
    prompts = sample(HOME, 60, torch.Generator().manual_seed(4))
    found = {
        id: learner_table.tune(EVERY[id], prompts, HOME, 2) for id in ("delta", "unit", "gated")
    }
    for id, learner in RECENT.items():
        found[id] = tune_recent(learner, prompts, HOME, 2, C)
    return prompts, found


@pytest.mark.parametrize(
    ("id", "simpler"), [("kda", "gated"), ("rwkv7", "unit"), ("titans", "delta")]
)
def test_a_tuned_rule_is_no_worse_than_what_it_can_turn_into(id, simpler, tuned):
    prompts, found = tuned
    errors = [
        float(learner_table.mean_error(EVERY[name], prompts, found[name], HOME, 2))
        for name in (id, simpler)
    ]
    assert errors[0] <= errors[1] * (1 + 1e-6)


@pytest.mark.parametrize("id", ["kda", "rwkv7", "titans", "omega"])
def test_following_the_gradient_finds_the_least(id, tuned):
    """No setting, nor that of any channel, is better a twentieth larger or smaller."""
    prompts, found = tuned
    best = float(learner_table.mean_error(RECENT[id], prompts, found[id], HOME, 2))
    for name in RECENT[id].settings:
        value = torch.as_tensor(found[id][name]).double()
        for place in range(value.numel()):
            for factor in (0.95, 1.05):
                other = value.clone()
                other.view(-1)[place] *= factor
                if name in ("decay", "decays"):
                    other = other.clamp(max=1.0)  # a decay is at most 1
                settings = {**found[id], name: other if other.ndim else float(other)}
                left = float(learner_table.mean_error(RECENT[id], prompts, settings, HOME, 2))
                assert left >= best * (1 - 1e-7), (name, place, factor)


def test_follow_ends_at_the_minimum_of_a_bowl():
    def loss(settings):
        return 1 + (settings["rate"] - 2) ** 2 + (settings["decays"] - 0.7).square().sum()

    start = {"rate": torch.tensor(0.1).double(), "decays": torch.tensor([0.99, 0.2]).double()}
    best = follow(loss, start)
    assert best["rate"] == pytest.approx(2, abs=1e-4)
    assert best["decays"].tolist() == pytest.approx([0.7, 0.7], abs=1e-4)


def test_what_a_pair_costs():
    assert multiplications("unit", 1, 5, 1, 1) == 15  # W x, the outer product, W q
    assert multiplications("product", 5, 5, 4, 1) == 9 * 25
    costs = [multiplications("mesa", 5, 5, 1, k) for k in (1, 2, 3)]
    assert costs == [100, 125, 150]
    assert multiplications("squares", 5, 5, 1, 1) > multiplications("delta", 5, 5, 1, 1)


# fla-core


@pytest.fixture
def plain(monkeypatch):
    """Take a module of fla-core's plain recurrences, which compute in float32, in float64."""
    pytest.importorskip("fla")
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
    monkeypatch.setattr(torch, "float", torch.float64)
    monkeypatch.setattr(torch, "float32", torch.float64)
    original = torch.zeros
    monkeypatch.setattr(
        torch, "zeros", lambda *shape, **more: original(*shape, **{"dtype": torch.float64, **more})
    )
    return lambda name: importlib.import_module(f"fla.ops.{name}.naive")


def theirs(x, heads_first):
    """[pairs, width, prompts] as [prompts, 1, pairs, width] or [prompts, pairs, 1, width]."""
    return x.permute(2, 0, 1)[:, None] if heads_first else x.permute(2, 0, 1)[:, :, None]


def matches(S, W):
    torch.testing.assert_close(S[:, 0].permute(2, 1, 0), W, **CLOSE)


def unit_pairs(x, y):
    length = x.norm(dim=1, keepdim=True)
    return x / length, y / length


def test_kda_is_flas(plain, pairs):
    x, y = pairs
    k, v = (theirs(each, False) for each in unit_pairs(x, y))
    g = DECAYS.log().expand_as(k)
    beta = torch.full_like(k[..., 0], SETTINGS["rate"])
    _, S = plain("kda").naive_recurrent_kda(k, k, v, g, beta, output_final_state=True)
    matches(S, fitted("kda", x, y))


def test_the_generalised_delta_rule_is_flas(plain, pairs):
    x, y = pairs
    k, v = (theirs(each, True) for each in unit_pairs(x, y))
    along = CHANNELS * k
    gate = DECAYS.log().expand_as(k)
    dplr = plain("generalized_delta_rule.dplr").dplr_recurrence
    _, S = dplr(k, along, SETTINGS["gain"] * v, -k, along, gate)
    matches(S, fitted("rwkv7", x, y))


def test_delta_product_is_flas(plain, pairs):
    x, y = pairs
    k, v = unit_pairs(x, y)
    # a step on no key changes nothing: the first pairs have fewer than c before them
    places = [place for t in range(PAIRS) for place in range(t - C + 1, t + 1)]
    present = torch.tensor([place >= 0 for place in places]).double()[:, None, None]
    chosen = [max(place, 0) for place in places]
    keys, values = (theirs(present * each[chosen], False) for each in (k, v))
    beta = torch.full_like(keys[..., 0], SETTINGS["rate"])
    product = plain("gated_delta_product").naive_recurrent_gated_delta_product
    query = theirs(k, False)
    _, S = product(query, keys, values, None, beta, 1.0, num_householder=C, output_final_state=True)
    matches(S, fitted("product", x, y))


def test_mesa_is_flas(plain, pairs):
    x, y = pairs
    wide = torch.cat([y, torch.zeros_like(y[:, :1])], 1)  # o = d there
    q = k = theirs(x, False)
    v = theirs(wide, False)
    none = torch.zeros_like(q[..., 0])
    ridge = torch.full((1, D), SETTINGS["ridge"]).double()
    output, _, _ = plain("mesa_net").naive_mesa_net_exact(q, k, v, none, ridge, none + 1)
    settings = SETTINGS | {"steps": D, "decay": 1.0}
    state = rules.after(RULES["mesa"], x, y, settings)
    answer = rules.predict(RULES["mesa"], state, x[-1], settings)
    torch.testing.assert_close(output[:, -1, 0, :LABELS].T, answer, atol=1e-9, rtol=1e-9)

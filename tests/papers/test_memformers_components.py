"""Heads over tokens as in the authors' code, their prompts, and heads that each have a U of their
own."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_core.in_context_regression import grams
from icl_core.papers.memformers.mixture import protocol, token_heads
from icl_core.papers.memformers.mixture.settings import Config, mixture_of
from icl_core.papers.memformers.mixture.token_heads import Tokens
from icl_core.papers.memformers.shared import experts, first_order, variants
from icl_core.papers.memformers.shared.task import roots
from icl_core.papers.memformers.variances import settings as scales
from icl_core.papers.memformers.variances.train import heads_at
from icl_core.training import loop

ROWS = 2
H = 3
L = 4
N = 5
SMALL = Config(
    prompts="components", layers=2, steps=20, gate_steps=10, gate_prompts=50, batch=20, n=N
)


def heads(kind="lfom", H=H, seed=0):
    """Random heads, [ROWS, H, …], large enough that every term counts."""
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, tensor in token_heads.initial(kind, ROWS * H, L, N, generator).items():
        large = tensor + 0.3 * torch.randn(tensor.shape, generator=generator)
        weights[name] = large.double().view(ROWS, H, *tensor.shape[2:])
    return weights


def some_prompts() -> Tokens:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(ROWS, N + 1, 7, generator=generator)
    return Tokens(x.double(), torch.randn(ROWS, 7, generator=generator).double())


def by_attention(weights, gates, prompts: Tokens):
    """The loop of Section 3.3 over whole token matrices: Z + Σ_h g_h (Attn_l + Σ_{k<l} Γ_k ⊙
    Attn_k)."""
    errors = torch.zeros_like(prompts.target)
    one = torch.ones(()).double()
    M = torch.eye(N + 1).double()
    M[N, N] = 0
    for row in range(ROWS):
        for p in range(prompts.target.shape[1]):
            x = prompts.x[row, :, p]
            w = prompts.target[row, p]
            Z = torch.stack([x, torch.cat([w * x[:-1], torch.zeros(1).double()])])  # [2, n + 1]
            past = []
            for layer in range(L):
                now = []
                for h in range(len(gates[row])):
                    P = torch.stack([weights["P"][row, h, layer], one]).diag()
                    Q = torch.stack([weights["Q"][row, h, layer], 0 * one]).diag()
                    now.append(P @ Z @ M @ (Z.T @ Q @ Z) / N)
                memory = [
                    weights["Gamma"][row, :, k]
                    if "Gamma" in weights
                    else torch.zeros(len(now), 2, N + 1)
                    for k in range(layer)
                ]
                for h, attention in enumerate(now):
                    again = sum(
                        (memory[k][h] * past[k][h] for k in range(layer)), torch.zeros_like(Z)
                    )
                    Z = Z + gates[row, h] * (attention + again)
                past.append(now)
            errors[row, p] = Z[1, -1] + w * x[-1]
    return errors


@pytest.mark.parametrize("kind", protocol.KINDS)
def test_heads_over_tokens_are_attention_as_the_paper_has_it(kind):
    weights = heads(kind)
    prompts = some_prompts()
    gates = torch.tensor([[0.5, -0.3, 0.8], [0.1, 0.6, 0.2]]).double()
    computed = token_heads.errors(token_heads.gated(weights, gates), prompts)
    expected = by_attention(weights, gates, prompts)
    torch.testing.assert_close(computed, expected, rtol=1e-9, atol=1e-9)


def test_without_memory_all_tokens_have_one_fate():
    prompts = some_prompts()
    layers = token_heads.gated(heads("linear"), torch.ones(ROWS, H).double() / H)
    nothing = token_heads.Layers(layers.own, torch.zeros(ROWS, L, 2, N + 1).double())
    torch.testing.assert_close(
        token_heads.errors(layers, prompts), token_heads.errors(nothing, prompts)
    )


@pytest.mark.parametrize("kind", protocol.KINDS)
def test_one_gate_open_is_that_head(kind):
    weights = heads(kind)
    prompts = some_prompts()
    for h in range(H):
        picked = token_heads.gated(weights, torch.eye(H)[h].expand(ROWS, H))
        one_head = {name: tensor[:, h : h + 1] for name, tensor in weights.items()}
        alone = token_heads.gated(one_head, torch.ones(ROWS, 1))
        torch.testing.assert_close(
            token_heads.errors(picked, prompts), token_heads.errors(alone, prompts)
        )


def test_what_is_left_is_linear_in_target_and_query():
    """So that the expected loss is (E x²)² times the square at one."""
    layers = token_heads.gated(heads(), torch.ones(ROWS, H).double() / H)
    prompts = some_prompts()
    x = prompts.x.clone()
    x[:, -1] = 1
    unit = token_heads.errors(layers, Tokens(x, torch.ones_like(prompts.target)))
    expected = prompts.target * prompts.x[:, -1] * unit
    torch.testing.assert_close(token_heads.errors(layers, prompts), expected)


def test_where_gates_alone_are_learned_gamma_stays():
    first_phase = {
        f"final/{name}": tensor.float().flatten(0, 1)[:, None].numpy()
        for name, tensor in heads().items()
    }
    config = replace(SMALL, layers=L, seeds=ROWS)
    tensors = protocol._train_gates(config, "lfom", first_phase, {}, lambda state, save: None)
    before = first_phase["final/Gamma"].reshape(ROWS, H, L, 2, N + 1)
    assert np.array_equal(tensors["final/Gamma"][:ROWS], before)
    moved = tensors["final/Gamma"][ROWS:] != before
    assert moved[:, :, : L - 2].all()
    # the last layer alone adds the one's before it again, and of that layer only the query's label
    # counts
    assert np.argwhere(moved[0, 0, L - 2]).tolist() == [[1, N]] and not moved[:, :, L - 1].any()
    assert (tensors["final/gates"] != 0).all()


def test_prompts_come_from_one_component_each_by_weight():
    config = Config(
        prompts="components",
        means="-10, 0, 10",
        variances="0.01, 0.01, 0.01",
        weights="0.2, 0, 0.8",
        gate_prompts=5000,
    )
    prompts = token_heads.prompts_met(config)
    middle = prompts.x.mean(1)  # [seeds, prompts]
    assert float((prompts.x - middle[:, None]).abs().max()) < 1
    assert torch.equal(prompts.target.sign(), middle.sign())
    share = float((middle < -5).double().mean())
    assert abs(share - 0.2) < 4 * (0.2 * 0.8 / 5000) ** 0.5
    assert not (middle.abs() < 5).any()


def test_predicting_zero_loses_what_it_must():
    config = replace(SMALL, gate_prompts=5000, seeds=2)
    prompts = token_heads.prompts_met(config)
    losses = (prompts.target * prompts.x[:, -1]).double().square().flatten()
    expected = token_heads.nothing_learned(config)
    assert abs(float(losses.mean()) - expected) < 4 * float(losses.std()) / len(losses) ** 0.5
    assert [component.second for component in mixture_of(config).components] == [6.75, 1.0, 3.0]


def test_a_gate_alone_is_learned_to_its_best():
    """One head of one layer: the loss is a parabola in its gate."""
    x = torch.randn(1, N + 1, 500, generator=torch.Generator().manual_seed(2))
    prompts = Tokens(x, torch.ones(1, 500))
    head = {"P": torch.zeros(1, 1, 1), "Q": torch.full((1, 1, 1), -0.5)}
    learned = {"gates": torch.zeros(1, 1)}
    problem = protocol.problem(
        learned, lambda leaves: token_heads.gated(head, leaves["gates"]), prompts, 0.05
    )
    loop.train(problem, 400, [400], {}, lambda state, save: None)
    S = x[:, :-1].square().mean(1)
    weight = x[:, -1].square()
    best = float((weight * S).sum() / (weight * S.square()).sum()) / 0.5
    assert float(learned["gates"]) == pytest.approx(best, rel=1e-3)


def own_heads(config: scales.Config):
    """Heads as a training in the original coordinates leaves them: A = Σ⁻¹ for their own Σ."""
    learned = []
    for head in range(len(scales.trained_on(config))):
        root = roots(scales.model_of(config, head))
        inverse = torch.linalg.inv(root @ root)[:, None, None]  # [seeds, 1, 1, d, d]
        learned.append({"A": inverse.cpu(), "Gamma": 0.8 * torch.ones(config.seeds, 1, 1)})
    return learned


def test_each_head_knows_its_own_covariance_and_the_last_ones_prompts_are_met():
    config = scales.Config(rotations="own", protocol="authors", layers=1, seeds=2)
    assert [scales.home_of(config, index) for index in range(6)] == [2, 2, 2, 0, 1, 2]
    S = grams(5, 20, 200, torch.Generator().manual_seed(0))
    for variance in (0.5, 3.0):
        at_variance = heads_at(config, own_heads(config), variance, 2)
        losses = []
        for head, own in enumerate(scales.trained_on(config)):
            gates = torch.eye(3)[head].expand(2, 3) * own / variance
            table = experts.table(gates, at_variance.Gamma, at_variance.A)
            losses.append(first_order.expected_losses(table, S[None]).mean(1))
        error = torch.eye(5)[..., None] - 0.8 * S  # what 0.8 Σ⁻¹ leaves
        best = error.square().sum((0, 1)).mean()
        torch.testing.assert_close(losses[2], best.expand(2), rtol=1e-4, atol=0)
        assert (torch.stack(losses[:2]) > 1.5 * best).all()


def test_heads_as_the_authors_train_them_have_no_common_covariance():
    message = "rotations must be own where heads are trained as in the authors' code"
    with pytest.raises(ValueError, match=message):
        scales.Config(protocol="authors")


def test_shares_are_read_at_the_prompts_own_scale():
    config = scales.model_of(scales.Config(rotations="own", protocol="authors"), 1)
    assert (config.sigma2, config.coordinates) == (2.0, "authors")
    assert (config.batches, config.seed) == ("fixed", 20)
    assert variants.learned_in(config) == "authors"


def test_more_seeds_change_no_other():
    one = replace(SMALL, seed=1)
    three = replace(SMALL, seeds=3)
    rows = slice(H, 2 * H)
    for kind in protocol.KINDS:
        alone, every = (protocol._initial(config, kind, 2) for config in (one, three))
        assert all(torch.equal(alone[name], every[name][rows]) for name in alone)
    for draw, part in (
        (token_heads.training_batch, rows),
        (token_heads.prompts_met, slice(1, 2)),
        (token_heads.met_of_each, rows),
    ):
        assert torch.equal(draw(one).x, draw(three).x[part])
        assert torch.equal(draw(one).target, draw(three).target[part])

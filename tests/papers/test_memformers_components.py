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

ROWS, H, L, N = 2, 3, 4, 5
SMALL = Config(
    prompts="components", layers=2, steps=20, gate_steps=10, gate_prompts=50, batch=20, n=N
)


def heads(kind="lfom", H=H, seed=0):
    """Random heads, [ROWS, H, …], large enough that every term counts."""
    generator = torch.Generator().manual_seed(seed)
    made = token_heads.initial(kind, ROWS * H, L, N, generator)
    large = {
        name: value + 0.3 * torch.randn(value.shape, generator=generator)
        for name, value in made.items()
    }
    return {name: value.double().view(ROWS, H, *value.shape[2:]) for name, value in large.items()}


def some_prompts(count=7) -> Tokens:
    generator = torch.Generator().manual_seed(1)
    x, target = (
        torch.randn(shape, generator=generator) for shape in ((ROWS, N + 1, count), (ROWS, count))
    )
    return Tokens(x.double(), target.double())


def by_attention(found, gates, prompts: Tokens):
    """The loop of Section 3.3 over whole token matrices: Z + Σ_h g_h (Attn_l + Σ_{k<l} Γ_k ⊙
    Attn_k)."""
    errors = torch.zeros_like(prompts.target)
    M = torch.eye(N + 1).double()
    M[N, N] = 0
    for row in range(ROWS):
        for p in range(prompts.target.shape[1]):
            x, w = prompts.x[row, :, p], prompts.target[row, p]
            Z = torch.stack([x, torch.cat([w * x[:-1], torch.zeros(1).double()])])  # [2, n + 1]
            past = []
            for layer in range(L):
                now = []
                for h in range(len(gates[row])):
                    P = torch.diag(
                        torch.stack([found["P"][row, h, layer], torch.ones(()).double()])
                    )
                    Q = torch.diag(
                        torch.stack([found["Q"][row, h, layer], torch.zeros(()).double()])
                    )
                    now.append(P @ Z @ M @ (Z.T @ Q @ Z) / N)
                memory = [
                    found["Gamma"][row, :, k]
                    if "Gamma" in found
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
    found, prompts = heads(kind), some_prompts()
    gates = torch.tensor([[0.5, -0.3, 0.8], [0.1, 0.6, 0.2]]).double()
    fast = token_heads.errors(token_heads.gated(found, gates), prompts)
    torch.testing.assert_close(fast, by_attention(found, gates, prompts), rtol=1e-9, atol=1e-9)


def test_without_memory_all_tokens_have_one_fate():
    linear, prompts = heads("linear"), some_prompts()
    layers = token_heads.gated(linear, torch.ones(ROWS, H).double() / H)
    nothing = token_heads.Layers(layers.own, torch.zeros(ROWS, L, 2, N + 1).double())
    torch.testing.assert_close(
        token_heads.errors(layers, prompts), token_heads.errors(nothing, prompts)
    )


@pytest.mark.parametrize("kind", protocol.KINDS)
def test_one_gate_open_is_that_head(kind):
    found, prompts = heads(kind), some_prompts()
    for h in range(H):
        picked = token_heads.errors(
            token_heads.gated(found, torch.eye(H)[h].expand(ROWS, H)), prompts
        )
        alone = {name: value[:, h : h + 1] for name, value in found.items()}
        torch.testing.assert_close(
            picked, token_heads.errors(token_heads.gated(alone, torch.ones(ROWS, 1)), prompts)
        )


def test_what_is_left_is_linear_in_target_and_query():
    """So that the expected loss is (E x²)² times the square at one."""
    layers, prompts = token_heads.gated(heads(), torch.ones(ROWS, H).double() / H), some_prompts()
    x = prompts.x.clone()
    x[:, -1] = 1
    unit = token_heads.errors(layers, Tokens(x, torch.ones_like(prompts.target)))
    expected = prompts.target * prompts.x[:, -1] * unit
    torch.testing.assert_close(token_heads.errors(layers, prompts), expected)


def test_where_gates_alone_are_learned_gamma_stays():
    made = {
        f"final/{name}": value.float().flatten(0, 1)[:, None].numpy()
        for name, value in heads().items()
    }
    config = replace(SMALL, layers=L, seeds=ROWS)
    found = protocol._train_gates(config, "lfom", made, {}, lambda state, save: None)
    before = made["final/Gamma"].reshape(ROWS, H, L, 2, N + 1)
    assert np.array_equal(found["final/Gamma"][:ROWS], before)
    moved = found["final/Gamma"][ROWS:] != before
    assert moved[:, :, : L - 2].all()
    # the last layer alone adds the one's before it again, and of that layer only the query's label
    # counts
    assert np.argwhere(moved[0, 0, L - 2]).tolist() == [[1, N]] and not moved[:, :, L - 1].any()
    assert (found["final/gates"] != 0).all()


def test_prompts_come_from_one_component_each_by_weight():
    config = Config(
        prompts="components",
        means="-10, 0, 10",
        variances="0.01, 0.01, 0.01",
        weights="0.2, 0, 0.8",
        gate_prompts=5000,
    )
    met = token_heads.prompts_met(config)
    middle = met.x.mean(1)  # [seeds, prompts]
    assert float((met.x - middle[:, None]).abs().max()) < 1
    assert torch.equal(met.target.sign(), middle.sign())
    share = float((middle < -5).double().mean())
    assert abs(share - 0.2) < 4 * (0.2 * 0.8 / 5000) ** 0.5
    assert not (middle.abs() < 5).any()


def test_predicting_zero_loses_what_it_must():
    config = replace(SMALL, gate_prompts=5000, seeds=2)
    met = token_heads.prompts_met(config)
    lost = (met.target * met.x[:, -1]).double().square().flatten()
    expected = token_heads.nothing_learned(config)
    assert abs(float(lost.mean()) - expected) < 4 * float(lost.std()) / len(lost) ** 0.5
    assert [each.second for each in mixture_of(config).components] == [6.75, 1.0, 3.0]


def test_a_gate_alone_is_learned_to_its_best():
    """One head of one layer: the loss is a parabola in its gate."""
    x, target = (
        torch.randn(1, N + 1, 500, generator=torch.Generator().manual_seed(2)),
        torch.ones(1, 500),
    )
    head = {"P": torch.zeros(1, 1, 1), "Q": torch.full((1, 1, 1), -0.5)}
    learned = {"gates": torch.zeros(1, 1)}
    of = protocol.problem(
        learned, lambda leaves: token_heads.gated(head, leaves["gates"]), Tokens(x, target), 0.05
    )
    loop.train(of, 400, [400], {}, lambda state, save: None)
    S, query = x[:, :-1].square().mean(1), x[:, -1]
    best = float((query.square() * S).sum() / (query.square() * S.square()).sum()) / 0.5
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
        found = heads_at(config, own_heads(config), variance, 2)
        losses = []
        for head, own in enumerate(scales.trained_on(config)):
            gates = torch.eye(3)[head].expand(2, 3) * own / variance
            table = experts.table(gates, found.Gamma, found.A)
            losses.append(first_order.expected_losses(table, S[None]).mean(1))
        best = (
            (torch.eye(5)[..., None] - 0.8 * S).square().sum((0, 1)).mean()
        )  # what 0.8 Σ⁻¹ leaves
        torch.testing.assert_close(losses[2], best.expand(2), rtol=1e-4, atol=0)
        assert (torch.stack(losses[:2]) > 1.5 * best).all()


def test_heads_as_the_authors_train_them_have_no_common_covariance():
    with pytest.raises(
        ValueError, match="rotations must be own where heads are trained as in the authors' code"
    ):
        scales.Config(protocol="authors")


def test_shares_are_read_at_the_prompts_own_scale():
    made = scales.model_of(scales.Config(rotations="own", protocol="authors"), 1)
    assert (made.sigma2, made.coordinates, made.batches, made.seed) == (2.0, "authors", "fixed", 20)
    assert variants.learned_in(made) == "authors"


def test_more_seeds_change_no_other():
    one, three = replace(SMALL, seed=1), replace(SMALL, seeds=3)
    rows = slice(H, 2 * H)
    for kind in protocol.KINDS:
        alone, every = (protocol._initial(each, kind, 2) for each in (one, three))
        assert all(torch.equal(alone[name], every[name][rows]) for name in alone)
    for drawn, part in (
        (token_heads.training_batch, rows),
        (token_heads.prompts_met, slice(1, 2)),
        (token_heads.met_of_each, rows),
    ):
        assert torch.equal(drawn(one).x, drawn(three).x[part])
        assert torch.equal(drawn(one).target, drawn(three).target[part])

"""Three gradient steps: the law of the proof's sequences, its expectations, the lemmas, and what
the steps leave."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_core import registry
from icl_core.papers.birth.shared import proof_model
from icl_core.papers.birth.shared.model import Weights, initialise
from icl_core.papers.birth.shared.probes import recalls
from icl_core.papers.birth.shared.proof_model import (
    MATRICES,
    PLACED,
    READ,
    STREAM,
    TOKENS,
    Drawn,
    sample,
)
from icl_core.papers.birth.steps import gradient_steps, lemmas
from icl_core.papers.birth.steps.claims import learned_in
from icl_core.papers.birth.steps.lemmas import answer_probability, more_often, pairs
from icl_core.papers.birth.steps.load_run import read, shown
from icl_core.papers.birth.steps.settings import ORDERS, THEN, THEOREM, Config, View
from tests.cells import check, explained, shipped, views

SMALL = Config(N=16, T=8, d=32, batch=2000)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def every(N: int, T: int):
    """All sequences of the proof's law with their probability: (weight, tokens, trigger's place,
    answer)."""
    for z in itertools.product(range(N), repeat=T):
        places = [t for t in range(T) if z[t] == z[-1]]
        if len(places) == 2:
            answer, q = z[places[0] + 1], z[-1]
            free = (N - 1) ** (T - 2) if answer == q else (N - 1) ** (T - 3) * (T - 2)
            yield 1 / (N * N * free), z, places[0], answer


def made(seed: int = 0, N: int = 6, T: int = 5, d: int = 12) -> Weights:
    """A small model in float64 in which all three matrices hold something."""
    weights = initialise(N, d, T, generator(seed), "paper", with_F=False).to(torch.float64)
    drawn = {
        name: torch.randn(d, d, generator=generator(9 + i)).double()
        for i, name in enumerate(MATRICES)
    }
    return weights.with_(**drawn)


def test_all_sequences_are_those_that_the_law_draws():
    N, T = 3, 5
    known = {z: weight for weight, z, _, _ in every(N, T)}
    assert sum(known.values()) == pytest.approx(1)
    drawn = sample(N, T, 100_000, generator())
    found, counts = drawn.tokens.unique(dim=0, return_counts=True)
    assert {tuple(row) for row in found.tolist()} == known.keys()
    for row, count in zip(found.tolist(), counts.tolist(), strict=True):
        p = known[tuple(row)]
        assert abs(count / 100_000 - p) < 5 * (p / 100_000) ** 0.5
    rows = torch.arange(len(drawn.tokens))
    assert (drawn.tokens[rows, drawn.first] == drawn.tokens[:, -1]).all()
    assert (drawn.tokens[rows, drawn.first + 1] == drawn.answers).all()


def test_expectations_are_sums_over_all_sequences():
    N, T = 3, 4
    F, places = (
        torch.randn(N, N, generator=generator(1)).double(),
        torch.randn(N, T, generator=generator(2)).double(),
    )
    by_hand, there = torch.zeros(T, T, N, N).double(), torch.zeros(T).double()
    for weight, z, _, y in every(N, T):
        for t in range(T):
            there[t] += weight * (z[t] == y)
            for s in range(T):
                by_hand[t, s, z[s], z[-1]] += weight * (F[y, z[t]] + places[y, t])
    torch.testing.assert_close(pairs(F, places, N, T), by_hand)
    torch.testing.assert_close(answer_probability(N, T), there)
    torch.testing.assert_close(more_often(N, T), there - (1 - there) / (N - 1))


def naive(weights: Weights, tokens: torch.Tensor, name: str) -> torch.Tensor:
    """The logits of one sequence in the step on a matrix, vector by vector."""
    d, T = weights.d, len(tokens)
    with_place = READ[name] != TOKENS
    x = [weights.W_E[z] + with_place * weights.P[t] for t, z in enumerate(tokens.tolist())]
    keys = []
    for t in range(T):
        looks = (
            torch.stack([weights.P[t] @ weights.W_K1 @ weights.P[s] for s in range(t + 1)]) / d**0.5
        )
        keys.append(weights.R1 @ sum(a * x[s] for s, a in enumerate(looks.softmax(0))))
    attention = (torch.stack([x[-1] @ weights.W_K2 @ key for key in keys]) / d**0.5).softmax(0)
    values = [x[t] + keys[t] if READ[name] == STREAM else x[t] for t in range(T)]
    return (
        weights.W_U
        @ weights.W_O2
        @ weights.V2
        @ sum(a * v for a, v in zip(attention, values, strict=True))
    )


@pytest.mark.parametrize("name", MATRICES)
def test_the_model_and_its_gradient_are_those_of_the_loops(name):
    weights, drawn = made(), sample(6, 5, 4, generator(3))
    leaf = weights[name].clone().requires_grad_()
    weights_with = weights.with_(**{name: leaf})
    expected_logits = torch.stack([naive(weights_with, row, name) for row in drawn.tokens])
    found, _ = proof_model.forward(
        proof_model.tables(weights, READ[name]), drawn.tokens, READ[name]
    )
    torch.testing.assert_close(found, expected_logits)
    torch.nn.functional.cross_entropy(expected_logits, drawn.answers).backward()
    coefficients = proof_model.gradient(name, weights, drawn)
    torch.testing.assert_close(proof_model.matrix(name, coefficients, weights), leaf.grad)


def test_the_exact_gradients_are_sums_over_all_sequences():
    """With p̂ = 1/N, and the attention of a step from zero; for W_K1 layer 2 linear (Lemma 5)."""
    N, T = 4, 5
    weights = made(N=N, T=T).with_(W_K1=torch.zeros(12, 12).double())
    all_of_them = list(every(N, T))
    probability = torch.tensor([row[0] for row in all_of_them]).double()
    drawn = Drawn(*(torch.tensor([row[i] for row in all_of_them]) for i in (1, 3, 2)))
    zero = torch.zeros(12, 12).double()
    for name, before in (("W_O2", {"W_K2": zero}), ("W_K2", {})):
        start = weights.with_(**before, **{name: zero})
        found = proof_model.tables(start, READ[name])
        table = proof_model.TABLE[name]
        leaf = getattr(found, table).requires_grad_()
        logits, _ = proof_model.forward(replace(found, **{table: leaf}), drawn.tokens, READ[name])
        loss = (
            logits.mean(1) - logits.gather(1, drawn.answers[:, None])[:, 0]
        )  # its slope is that at p̂ = 1/N
        (probability @ loss).backward()
        torch.testing.assert_close(lemmas.expected(name, start), leaf.grad)
    start = weights.with_(W_K1=zero)
    found = proof_model.tables(start)
    looks = found.looks.clone().requires_grad_()
    scores = found.matches[drawn.tokens[:, -1:], drawn.tokens] @ proof_model.back(looks).T
    linear = (1 + scores - scores.mean(1, keepdim=True)) / T
    values = found.says.T[drawn.tokens]  # (sequences, T, N)
    logits = (linear[..., None] * values).sum(1)
    (probability @ (logits.mean(1) - logits.gather(1, drawn.answers[:, None])[:, 0])).backward()
    torch.testing.assert_close(lemmas.expected("W_K1", start), looks.grad)


def test_a_large_batch_comes_near_the_exact_step_as_sampling_allows():
    """W_O2's first step has p̂ = 1/N exactly, so all that is left is sampling noise, which falls as
    1/√batch."""
    weights = gradient_steps.begun(SMALL)
    exact = lemmas.expected("W_O2", weights)
    apart = []
    for batch in (2_000, 32_000):
        found = proof_model.gradient("W_O2", weights, sample(16, 8, batch, generator(batch)))
        apart.append(float((found.double() - exact).norm()))
    # the variance of a mean: that of (1/N − 1{y}) times the share of each token, summed over all
    # entries
    drawn = sample(16, 8, 4000, generator(5))
    left = 1 / 16 - torch.nn.functional.one_hot(drawn.answers, 16).double()
    A1 = proof_model.back(torch.zeros(8, 8)).double()
    tokens = torch.nn.functional.one_hot(drawn.tokens, 16).double().mean(1)
    means = (A1 @ torch.nn.functional.one_hot(drawn.tokens, 16).double()).mean(1)
    places = torch.full((4000, 8), 1 / 8).double()
    right = torch.cat([tokens, places, means, A1.mean(0).expand(4000, -1)], 1)
    variance = float(torch.einsum("bk,bi->bki", left, right).var(0).sum())
    for batch, distance in zip((2_000, 32_000), apart, strict=True):
        assert distance == pytest.approx((variance / batch) ** 0.5, rel=0.35)


def test_each_lemma_is_what_autograd_finds():
    weights = made(N=7, T=6)
    p = torch.rand(7, 7, generator=generator()).double()
    given = lemmas.Given(weights, sample(7, 6, 40, generator(1)), p / p.sum(1, keepdim=True))
    for name, lemma in lemmas.LEMMAS.items():
        both = lemma(given)
        assert float(both[1].abs().max()) > 1e-6, name
        assert lemmas.apart(both) < 1e-12, name
    wrong = lemmas.lemma4(given._replace(weights=weights.with_(W_O2=2 * weights.W_O2)))[0]
    assert lemmas.apart((wrong, lemmas.lemma4(given)[1])) > 0.1  # the comparison sees a difference


def test_the_proofs_step_on_w_o2_is_eq_16():
    """With the proof's 1 and τ in place of the law's own shares, of which they are the limit for
    many characters."""
    N, T = 65, 16
    own_share, mean_share = lemmas.shares(N, T)
    tau = np.mean(
        [sum(1 / t for t in range(first + 2, T + 1)) for first in range(T - 2)]
    )  # positions count from 1
    assert own_share * T == pytest.approx(1, abs=0.05)
    assert mean_share / own_share == pytest.approx(tau, rel=0.1)
    weights = gradient_steps.begun(Config(N=16, T=8, d=32)).to(torch.float64)
    W = -16 * proof_model.matrix(
        "W_O2", lemmas.expected("W_O2", weights), weights
    )  # a step of size N
    centred = weights.W_E - weights.W_E.mean(0)
    a, b = lemmas.shares(16, 8)
    by_hand = weights.W_U.T @ (
        a * centred @ weights.V2.T + b * centred @ (weights.V2 @ weights.R1).T
    )
    torch.testing.assert_close(W, by_hand)


@pytest.mark.parametrize("order", [order for order in ORDERS if order != THEOREM])
def test_a_step_that_comes_too_early_moves_nothing(order):
    steps = order.split(THEN)
    weights = gradient_steps.walk(SMALL, gradient_steps.on_batches(SMALL), steps)[-1][1]
    exact = gradient_steps.walk(SMALL, gradient_steps.exactly, steps)[-1][1]
    known = {"W_O2", "W_K2"} if steps.index("W_O2") < steps.index("W_K2") else {"W_O2"}
    for found in (weights, exact):
        assert {name for name in MATRICES if found[name].any()} == known
    assert set(learned_in(order)) == known


def test_the_three_steps_store_all_pairs_where_the_width_is_large():
    config = Config(N=40, d=512, T=16, eta_O2=1e3)
    task = gradient_steps.task_of(config)
    for gradient in (gradient_steps.on_batches(config), gradient_steps.exactly):
        weights = gradient_steps.walk(config, gradient, THEOREM.split(THEN))[-1][1]
        found = recalls(weights, task)
        assert found["W_O2"] == 1 and found["W_K2"] > 0.9 and found["W_K1"] > 0.9
        measured = proof_model.measures(weights, sample(40, 16, 1000, generator(1)))
        assert measured["accuracy"] > 0.9 and measured["on_output"] > 0.9


def test_positions_are_put_back_as_the_model_that_reads_them_does():
    weights, drawn = made(), sample(6, 5, 300, generator(4))
    found = proof_model.with_positions(weights, drawn)
    for name, read_as in (("none", TOKENS), ("all", PLACED)):
        logits, _ = proof_model.forward(proof_model.tables(weights, read_as), drawn.tokens, read_as)
        assert found[name] == pytest.approx(
            float((logits.argmax(1) == drawn.answers).double().mean())
        )


def test_one_step_filters_positions_out():
    weights = gradient_steps.begun(Config(d=512, T=16))
    found = {
        known: gradient_steps.noise_step(weights, known, 200_000, generator())
        for known in gradient_steps.KNOWN
    }
    assert found["exact"].accuracy == 1 and found["exact"].signal == pytest.approx(1, abs=0.1)
    assert found["one"].noise > 4 * found["exact"].noise
    torch.testing.assert_close(found["batch"].tokens, found["exact"].tokens, atol=0.1, rtol=0)
    aligned = gradient_steps.begun(Config(d=512, T=16)).with_(
        W_E=torch.eye(65, 512), P=torch.eye(16, 512).roll(100, 1)
    )
    assert gradient_steps.noise_step(aligned, "exact", 1, generator()).noise == pytest.approx(
        0, abs=1e-6
    )


def test_the_stage_reads_the_last_position_as_the_measures_do():
    config = replace(SMALL, T=8)
    weights = gradient_steps.walk(config, gradient_steps.on_batches(config), THEOREM.split(THEN))[
        -1
    ][1]
    run = shipped("birth.steps", "three steps")
    sequence = shown(run, View())
    assert int(sequence.in_context.sum()) == 1 and bool(sequence.in_context[-1])
    short = shown(replace(run, config=config), View())
    found = read(weights, short, "proof")
    logits, attention = proof_model.forward(proof_model.tables(weights), short.inputs[None])
    np.testing.assert_allclose(found.probabilities[-1], logits[0].softmax(0).numpy(), rtol=1e-4)
    np.testing.assert_allclose(found.attention2[-1], attention[0].numpy(), rtol=1e-4)


def test_the_shipped_run_makes_a_head_and_its_questions_have_their_answers():
    run = shipped("birth.steps", "three steps")
    script, view = registry.experiment("birth.steps").story, View()
    assert script is not None
    asked = [beat.ask for beat in script.beats if beat.ask]
    right = [each.choices[each.right(run, view)] for each in asked]
    assert right == ["W_O² (says what followed)", "Hardly any", "None"]
    assert (
        run["curve/accuracy_batch"][:, 3].min()
        > 0.85
        > 0.2
        > run["curve/accuracy_batch"][:, 2].max()
    )


@pytest.mark.parametrize("preset", ["three steps", "wrong order", "whole model"])
def test_cells_of_the_maps_are_made_of_their_terms(preset):
    run = shipped("birth.steps", preset)
    for drawing in explained("birth.steps", run):
        for view in views("birth.steps", run):
            check(drawing, run, view)

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


def sequences(N: int, T: int):
    """All of the proof's law: (probability, tokens, the trigger's place, answer)."""
    for z in itertools.product(range(N), repeat=T):
        places = [t for t in range(T) if z[t] == z[-1]]
        if len(places) == 2:
            answer = z[places[0] + 1]
            free = (N - 1) ** (T - 2) if answer == z[-1] else (N - 1) ** (T - 3) * (T - 2)
            yield 1 / (N * N * free), z, places[0], answer


def random_weights(seed: int = 0, N: int = 6, T: int = 5, d: int = 12) -> Weights:
    """A small model in float64 in which all three matrices hold something."""
    weights = initialise(N, d, T, generator(seed), "paper", with_F=False).to(torch.float64)
    for i, name in enumerate(MATRICES):
        W = torch.randn(d, d, generator=generator(9 + i)).double()
        weights = weights.with_(**{name: W})
    return weights


def test_all_sequences_are_those_that_the_law_draws():
    N = 3
    T = 5
    probability = {z: weight for weight, z, _, _ in sequences(N, T)}
    assert sum(probability.values()) == pytest.approx(1)
    batch = sample(N, T, 100_000, generator())
    distinct, counts = batch.tokens.unique(dim=0, return_counts=True)
    assert {tuple(row) for row in distinct.tolist()} == probability.keys()
    for row, count in zip(distinct.tolist(), counts.tolist(), strict=True):
        p = probability[tuple(row)]
        assert abs(count / 100_000 - p) < 5 * (p / 100_000) ** 0.5
    rows = torch.arange(len(batch.tokens))
    assert (batch.tokens[rows, batch.first] == batch.tokens[:, -1]).all()
    assert (batch.tokens[rows, batch.first + 1] == batch.answers).all()


def test_expectations_are_sums_over_all_sequences():
    N = 3
    T = 4
    F = torch.randn(N, N, generator=generator(1)).double()
    places = torch.randn(N, T, generator=generator(2)).double()
    expected = torch.zeros(T, T, N, N).double()
    at_answer = torch.zeros(T).double()
    for weight, z, _, y in sequences(N, T):
        for t in range(T):
            at_answer[t] += weight * (z[t] == y)
            for s in range(T):
                expected[t, s, z[s], z[-1]] += weight * (F[y, z[t]] + places[y, t])
    torch.testing.assert_close(pairs(F, places, N, T), expected)
    torch.testing.assert_close(answer_probability(N, T), at_answer)
    torch.testing.assert_close(more_often(N, T), at_answer - (1 - at_answer) / (N - 1))


def naive(weights: Weights, tokens: torch.Tensor, name: str) -> torch.Tensor:
    """The logits of one sequence in the step on a matrix, vector by vector."""
    with_place = READ[name] != TOKENS
    x = [weights.W_E[z] + with_place * weights.P[t] for t, z in enumerate(tokens.tolist())]
    keys = []
    for t in range(len(x)):
        scores = torch.stack([weights.P[t] @ weights.W_K1 @ weights.P[s] for s in range(t + 1)])
        attention = (scores / weights.d**0.5).softmax(0)
        keys.append(weights.R1 @ sum(a * x[s] for s, a in enumerate(attention)))
    scores = torch.stack([x[-1] @ weights.W_K2 @ key for key in keys])
    attention = (scores / weights.d**0.5).softmax(0)
    values = [x[t] + keys[t] if READ[name] == STREAM else x[t] for t in range(len(x))]
    mixed = sum(a * v for a, v in zip(attention, values, strict=True))
    return weights.W_U @ weights.W_O2 @ weights.V2 @ mixed


@pytest.mark.parametrize("name", MATRICES)
def test_the_model_and_its_gradient_are_those_of_the_loops(name):
    weights = random_weights()
    batch = sample(6, 5, 4, generator(3))
    leaf = weights[name].clone().requires_grad_()
    weights_with = weights.with_(**{name: leaf})
    expected_logits = torch.stack([naive(weights_with, row, name) for row in batch.tokens])
    tables = proof_model.tables(weights, READ[name])
    logits, _ = proof_model.forward(tables, batch.tokens, READ[name])
    torch.testing.assert_close(logits, expected_logits)
    torch.nn.functional.cross_entropy(expected_logits, batch.answers).backward()
    coefficients = proof_model.gradient(name, weights, batch)
    torch.testing.assert_close(proof_model.matrix(name, coefficients, weights), leaf.grad)


def test_the_exact_gradients_are_sums_over_all_sequences():
    """With p̂ = 1/N, and the attention of a step from zero; for W_K1 layer 2 linear (Lemma 5)."""
    N = 4
    T = 5
    weights = random_weights(N=N, T=T).with_(W_K1=torch.zeros(12, 12).double())
    all_sequences = list(sequences(N, T))
    probability = torch.tensor([row[0] for row in all_sequences]).double()
    batch = Drawn(*(torch.tensor([row[i] for row in all_sequences]) for i in (1, 3, 2)))
    zero = torch.zeros(12, 12).double()
    for name, before in (("W_O2", {"W_K2": zero}), ("W_K2", {})):
        start = weights.with_(**before, **{name: zero})
        tables = proof_model.tables(start, READ[name])
        table = proof_model.TABLE[name]
        leaf = getattr(tables, table).requires_grad_()
        logits, _ = proof_model.forward(replace(tables, **{table: leaf}), batch.tokens, READ[name])
        # its slope is that at p̂ = 1/N
        loss = logits.mean(1) - logits.gather(1, batch.answers[:, None])[:, 0]
        (probability @ loss).backward()
        torch.testing.assert_close(lemmas.expected(name, start), leaf.grad)
    start = weights.with_(W_K1=zero)
    tables = proof_model.tables(start)
    looks = tables.looks.clone().requires_grad_()
    scores = tables.matches[batch.tokens[:, -1:], batch.tokens] @ proof_model.back(looks).T
    linear = (1 + scores - scores.mean(1, keepdim=True)) / T
    values = tables.says.T[batch.tokens]  # (sequences, T, N)
    logits = (linear[..., None] * values).sum(1)
    (probability @ (logits.mean(1) - logits.gather(1, batch.answers[:, None])[:, 0])).backward()
    torch.testing.assert_close(lemmas.expected("W_K1", start), looks.grad)


def test_a_large_batch_comes_near_the_exact_step_as_sampling_allows():
    """W_O2's first step has p̂ = 1/N exactly, so all that is left is sampling noise, which falls as
    1/√batch."""
    weights = gradient_steps.begun(SMALL)
    exact = lemmas.expected("W_O2", weights)
    distances = []
    for size in (2_000, 32_000):
        gradient = proof_model.gradient("W_O2", weights, sample(16, 8, size, generator(size)))
        distances.append(float((gradient.double() - exact).norm()))
    # the variance of a mean: that of (1/N − 1{y}) times the share of each token, summed over all
    # entries
    batch = sample(16, 8, 4000, generator(5))
    left = 1 / 16 - torch.nn.functional.one_hot(batch.answers, 16).double()
    A1 = proof_model.back(torch.zeros(8, 8)).double()
    tokens = torch.nn.functional.one_hot(batch.tokens, 16).double()  # (batch, T, N)
    places = torch.full((4000, 8), 1 / 8).double()
    positions = A1.mean(0).expand(4000, -1)
    right = torch.cat([tokens.mean(1), places, (A1 @ tokens).mean(1), positions], 1)
    variance = float(torch.einsum("bk,bi->bki", left, right).var(0).sum())
    for size, distance in zip((2_000, 32_000), distances, strict=True):
        assert distance == pytest.approx((variance / size) ** 0.5, rel=0.35)


def test_each_lemma_is_what_autograd_finds():
    weights = random_weights(N=7, T=6)
    p = torch.rand(7, 7, generator=generator()).double()
    inputs = lemmas.Given(weights, sample(7, 6, 40, generator(1)), p / p.sum(1, keepdim=True))
    for name, lemma in lemmas.LEMMAS.items():
        sides = lemma(inputs)
        assert float(sides[1].abs().max()) > 1e-6, name
        assert lemmas.apart(sides) < 1e-12, name
    wrong = lemmas.lemma4(inputs._replace(weights=weights.with_(W_O2=2 * weights.W_O2)))[0]
    assert lemmas.apart((wrong, lemmas.lemma4(inputs)[1])) > 0.1  # the comparison sees a difference


def test_the_proofs_step_on_w_o2_is_eq_16():
    """With the proof's 1 and τ in place of the law's own shares, of which they are the limit for
    many characters."""
    N = 65
    T = 16
    own_share, mean_share = lemmas.shares(N, T)
    # positions count from 1
    tau = np.mean([sum(1 / t for t in range(first + 2, T + 1)) for first in range(T - 2)])
    assert own_share * T == pytest.approx(1, abs=0.05)
    assert mean_share / own_share == pytest.approx(tau, rel=0.1)
    weights = gradient_steps.begun(Config(N=16, T=8, d=32)).to(torch.float64)
    gradient = proof_model.matrix("W_O2", lemmas.expected("W_O2", weights), weights)
    centred = weights.W_E - weights.W_E.mean(0)
    a, b = lemmas.shares(16, 8)
    expected = weights.W_U.T @ (
        a * centred @ weights.V2.T + b * centred @ (weights.V2 @ weights.R1).T
    )
    torch.testing.assert_close(-16 * gradient, expected)  # a step of size N


@pytest.mark.parametrize("order", [order for order in ORDERS if order != THEOREM])
def test_a_step_that_comes_too_early_moves_nothing(order):
    steps = order.split(THEN)
    weights = gradient_steps.walk(SMALL, gradient_steps.on_batches(SMALL), steps)[-1][1]
    exact = gradient_steps.walk(SMALL, gradient_steps.exactly, steps)[-1][1]
    expected = {"W_O2", "W_K2"} if steps.index("W_O2") < steps.index("W_K2") else {"W_O2"}
    for model in (weights, exact):
        assert {name for name in MATRICES if model[name].any()} == expected
    assert set(learned_in(order)) == expected


def test_the_three_steps_store_all_pairs_where_the_width_is_large():
    config = Config(N=40, d=512, T=16, eta_O2=1e3)
    task = gradient_steps.task_of(config)
    for gradient in (gradient_steps.on_batches(config), gradient_steps.exactly):
        weights = gradient_steps.walk(config, gradient, THEOREM.split(THEN))[-1][1]
        recalled = recalls(weights, task)
        assert recalled["W_O2"] == 1 and recalled["W_K2"] > 0.9 and recalled["W_K1"] > 0.9
        measured = proof_model.measures(weights, sample(40, 16, 1000, generator(1)))
        assert measured["accuracy"] > 0.9 and measured["on_output"] > 0.9


def test_positions_are_put_back_as_the_model_that_reads_them_does():
    weights = random_weights()
    batch = sample(6, 5, 300, generator(4))
    accuracies = proof_model.with_positions(weights, batch)
    for name, read_as in (("none", TOKENS), ("all", PLACED)):
        logits, _ = proof_model.forward(proof_model.tables(weights, read_as), batch.tokens, read_as)
        accuracy = float((logits.argmax(1) == batch.answers).double().mean())
        assert accuracies[name] == pytest.approx(accuracy)


def test_one_step_filters_positions_out():
    weights = gradient_steps.begun(Config(d=512, T=16))
    exact, batch, one = (
        gradient_steps.noise_step(weights, inputs, 200_000, generator())
        for inputs in ("exact", "batch", "one")
    )
    assert exact.accuracy == 1 and exact.signal == pytest.approx(1, abs=0.1)
    assert one.noise > 4 * exact.noise
    torch.testing.assert_close(batch.tokens, exact.tokens, atol=0.1, rtol=0)
    aligned = weights.with_(W_E=torch.eye(65, 512), P=torch.eye(16, 512).roll(100, 1))
    step = gradient_steps.noise_step(aligned, "exact", 1, generator())
    assert step.noise == pytest.approx(0, abs=1e-6)


def test_the_stage_reads_the_last_position_as_the_measures_do():
    walk = gradient_steps.walk(SMALL, gradient_steps.on_batches(SMALL), THEOREM.split(THEN))
    weights = walk[-1][1]
    run = shipped("birth.steps", "three steps")
    sequence = shown(run, View())
    assert int(sequence.in_context.sum()) == 1 and bool(sequence.in_context[-1])
    short = shown(replace(run, config=SMALL), View())
    reading = read(weights, short, "proof")
    logits, attention = proof_model.forward(proof_model.tables(weights), short.inputs[None])
    np.testing.assert_allclose(reading.probabilities[-1], logits[0].softmax(0).numpy(), rtol=1e-4)
    np.testing.assert_allclose(reading.attention2[-1], attention[0].numpy(), rtol=1e-4)


def test_the_shipped_run_makes_a_head_and_its_questions_have_their_answers():
    run = shipped("birth.steps", "three steps")
    script = registry.experiment("birth.steps").story
    assert script is not None
    questions = [beat.ask for beat in script.beats if beat.ask]
    answers = [question.choices[question.right(run, View())] for question in questions]
    assert answers == ["W_O² (says what followed)", "Hardly any", "None"]
    accuracy = run["curve/accuracy_batch"]
    assert accuracy[:, 3].min() > 0.85 > 0.2 > accuracy[:, 2].max()


@pytest.mark.parametrize("preset", ["three steps", "wrong order", "whole model"])
def test_cells_of_the_maps_are_made_of_their_terms(preset):
    run = shipped("birth.steps", preset)
    for drawing in explained("birth.steps", run):
        for view in views("birth.steps", run):
            check(drawing, run, view)

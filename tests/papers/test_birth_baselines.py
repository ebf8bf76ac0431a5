"""The predictors without a transformer: the best in context against enumeration of all trigger
sets."""

import itertools

import pytest
import torch

from icl_core.papers.birth.shared.accuracy import accuracies, best_in_context
from icl_core.papers.birth.shared.task import count_text, make_task, sample


def sets_with_probability(task):
    """Every ordered draw of K triggers without replacement, with its probability."""
    for draw in itertools.permutations(range(task.N), task.K):
        probability = 1.0
        remaining = 1.0
        for token in draw:
            probability *= float(task.unigram[token]) / remaining
            remaining -= float(task.unigram[token])
        yield set(draw), probability


@pytest.mark.parametrize("K", [1, 2, 3, 5])
def test_inclusion_equals_enumeration(K):
    task = make_task(N=5, K=K)
    expected = torch.zeros(5, dtype=torch.float64)
    for chosen, probability in sets_with_probability(task):
        expected[list(chosen)] += probability
    torch.testing.assert_close(task.inclusion, expected, rtol=0, atol=1e-9)


def test_inclusion_sums_to_K():
    assert float(make_task(K=7).inclusion.sum()) == pytest.approx(7)
    assert make_task(K=3, triggers="fixed").inclusion.sum() == 3


def exact(task, tokens: list[int]) -> torch.Tensor:
    """The predictive distribution of the next token, by summing over every trigger set."""
    total = torch.zeros(task.N, dtype=torch.float64)
    for chosen, probability in sets_with_probability(task):
        output: dict[int, int] = {}
        for token, follower in itertools.pairwise(tokens):
            if token not in chosen:
                probability *= float(task.bigram[token, follower])
            elif token not in output:
                output[token] = follower
                probability *= float(task.output_law[token, follower])
            elif output[token] != follower:
                probability = 0.0
        last = tokens[-1]
        if last in output:
            total[output[last]] += probability
        else:
            total += probability * (task.output_law if last in chosen else task.bigram)[last]
    return total / total.sum()


def test_the_best_in_context_is_close_to_enumeration():
    """With K = 1 the tokens' evidence is not independent, and still the approximation is close."""
    task = make_task(N=4, K=1, T=12, counts=count_text("abcdabdcacbdbadcaabbccddabcab" * 2))
    inputs = sample(task, 6, torch.Generator().manual_seed(0)).inputs
    predicted = best_in_context(task, inputs)
    torch.testing.assert_close(predicted.sum(-1), torch.ones(6, 12).double())
    expected = torch.stack(
        [exact(task, row[: t + 1]) for row in inputs.tolist() for t in range(12)]
    ).view(6, 12, 4)
    assert float((predicted - expected).abs().amax(-1).mean()) < 0.06


def test_the_best_in_context_with_fixed_triggers_is_exact():
    task = make_task(N=6, K=2, T=10, triggers="fixed")
    batch = sample(task, 20, torch.Generator().manual_seed(0))
    assert accuracies(task, batch)["best_in_context"] == 1
    predicted = best_in_context(task, batch.inputs)
    torch.testing.assert_close(predicted[batch.global_], task.bigram[batch.inputs[batch.global_]])


def test_the_best_in_context_is_about_98_percent_at_paper_size():
    task = make_task()
    batch = sample(task, 64, torch.Generator().manual_seed(0))
    shares = accuracies(task, batch)
    assert 0.97 < shares["best_in_context"] < 1
    assert shares["best_in_context_new"] <= shares["best_in_context"]
    assert 0.05 < shares["repeat"] < 0.35
    unrepeated = make_task(no_repeat=True, K=1)
    batch = sample(unrepeated, 64, torch.Generator().manual_seed(0))
    assert accuracies(unrepeated, batch)["repeat"] == 0

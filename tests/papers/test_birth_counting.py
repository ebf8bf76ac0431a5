"""Sequences of random Markov chains, what counting predicts of them, and the attention that learns
to count."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch

from icl_core import registry
from icl_core.contract.experiment import CannotDraw, Run, names
from icl_core.papers.birth.counting import claims, load_run, model, train
from icl_core.papers.birth.counting.load_run import read
from icl_core.papers.birth.counting.model import (
    STRATEGIES,
    draw_chains,
    followers,
    predictions,
    sample,
    walk,
)
from icl_core.papers.birth.counting.settings import Config, View
from tests.cells import shipped


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_sequences_follow_the_chains_that_were_drawn():
    chains = draw_chains(4, 3, "dirichlet", generator())
    tokens = walk(chains, 20_001, generator(1))
    for chain, walked in zip(chains, tokens, strict=True):
        counts = torch.zeros(3, 3).double()
        counts.index_put_((walked[:-1], walked[1:]), torch.ones(20_000).double(), accumulate=True)
        visits = counts.sum(1, keepdim=True)
        error = (chain * (1 - chain) / visits).sqrt()
        assert ((counts / visits - chain).abs() < 5 * error + 1e-9).all()


def test_rows_are_drawn_from_a_dirichlet_distribution():
    rows = draw_chains(40_000, 3, "dirichlet", generator())[:, 0]
    torch.testing.assert_close(rows.sum(-1), torch.ones(40_000).double())
    assert rows.mean(0).sub(1 / 3).abs().max() < 0.01
    assert rows.var(0).tolist() == pytest.approx([(1 / 3) * (2 / 3) / 4] * 3, rel=0.05)


def test_balanced_chains_visit_all_states_equally_often():
    chains = draw_chains(500, 4, "balanced", generator())
    ones = torch.ones(500, 4).double()
    torch.testing.assert_close(chains.sum(-1), ones)
    torch.testing.assert_close(chains.sum(-2), ones, atol=1e-2, rtol=0)


def test_predictions_are_what_counting_one_by_one_gives():
    k = 4
    tokens = sample(3, 12, k, "dirichlet", generator())
    computed = predictions(tokens, k)
    assert tuple(computed) == STRATEGIES
    for row, sequence in enumerate(tokens.tolist()):
        for t, token in enumerate(sequence):
            past = sequence[: t + 1]
            after = [b for a, b in pairwise(past) if a == token]
            for j in range(k):
                unigram = (past.count(j) + 1) / (t + 1 + k)
                bigram = (after.count(j) + 1) / (len(after) + k)
                assert computed["uniform"][row, t, j] == 1 / k
                assert computed["unigram"][row, t, j] == pytest.approx(unigram)
                assert computed["bigram"][row, t, j] == pytest.approx(bigram)


def test_counting_pairs_is_bayes_rule():
    """Against the mean over many chains of the prior, each weighted by how likely it makes the
    sequence."""
    tokens = sample(1, 9, 3, "dirichlet", generator(5))[0]
    chains = draw_chains(400_000, 3, "dirichlet", generator(6))
    likely = chains[:, tokens[:-1], tokens[1:]].prod(1)
    bayes = (likely[:, None] * chains[:, tokens[-1]]).sum(0) / likely.sum()
    computed = predictions(tokens[None], 3)["bigram"][0, -1]
    torch.testing.assert_close(computed, bayes, atol=5e-3, rtol=0)


def test_counting_pairs_loses_least_on_data():
    tokens = sample(4000, 65, 3, "dirichlet", generator(2))
    losses = [
        -p.gather(-1, tokens[:, 1:, None]).log().mean()
        for p in predictions(tokens[:, :-1], 3).values()
    ]
    assert losses[0] > losses[1] + 0.02 and losses[1] > losses[2] + 0.05


def test_followers_come_after_an_earlier_occurrence():
    sequence = [0, 1, 0, 0, 2, 1]
    follows = followers(torch.tensor([sequence]))[0]
    for query, token in enumerate(sequence):
        for key in range(len(sequence)):
            assert follows[query, key] == (1 <= key <= query and sequence[key - 1] == token)


def naive(parameters: dict[str, torch.Tensor], tokens: list[int], layers: int) -> torch.Tensor:
    """Logits of one sequence, one query at a time."""
    x = [parameters["W_E"][token] for token in tokens]
    d = len(x[0])
    for layer in range(1, layers + 1):
        W_Q, W_K, W_V, W_O, R = (parameters[f"{part}{layer}"] for part in (*model.PARTS, "R"))
        after = []
        for t, x_t in enumerate(x):
            weights = torch.stack(
                [(x_t @ W_Q) @ (x[s] @ W_K + R[t - s]) / math.sqrt(d) for s in range(t + 1)]
            ).exp()
            mixed = sum(weights[s] * x[s] for s in range(t + 1)) / weights.sum()
            after.append(x_t + mixed @ W_V @ W_O)
        x = after
    return torch.stack(x) @ parameters["W_U"].T


@pytest.mark.parametrize("layers", [1, 2])
def test_the_model_and_its_gradient_are_those_of_the_loops(layers):
    models = [model.initialise(3, 8, 10, layers, generator(seed)) for seed in (1, 2)]
    models = [{name: 3 * W.double() for name, W in weights.items()} for weights in models]
    stacked = {
        name: torch.stack([weights[name] for weights in models]).requires_grad_()
        for name in models[0]
    }
    # [seeds, batch, T]
    tokens = torch.stack([sample(2, 10, 3, "dirichlet", generator(seed)) for seed in (3, 4)])
    logits, maps = model.forward(stacked, tokens)
    assert len(maps) == layers
    torch.testing.assert_close(maps[0].sum(-1), torch.ones(2, 2, 10).double())
    (logits.logsumexp(-1)).sum().backward()
    for index, weights in enumerate(models):
        leaves = {name: W.clone().requires_grad_() for name, W in weights.items()}
        expected = torch.stack([naive(leaves, row, layers) for row in tokens[index].tolist()])
        torch.testing.assert_close(logits[index], expected, rtol=0, atol=1e-5)
        expected.logsumexp(-1).sum().backward()
        for name, leaf in leaves.items():
            gradient = stacked[name].grad
            assert gradient is not None and leaf.grad is not None
            torch.testing.assert_close(gradient[index], leaf.grad, rtol=0, atol=1e-5)


def test_a_shorter_sequence_sees_the_same():
    weights = model.initialise(3, 8, 16, 2, generator())
    parameters = {name: W[None] for name, W in weights.items()}
    tokens = sample(2, 16, 3, "dirichlet", generator(1))[None]
    whole, start = (model.forward(parameters, tokens[..., :n])[0] for n in (16, 5))
    torch.testing.assert_close(whole[:, :, :5], start)


def test_what_is_lost_against_bayes_is_the_divergence_from_it():
    """In expectation the loss less that of the best possible predictor is KL(bigram || model)."""
    config = Config(k=3, T=32, d=8)
    weights = model.initialise(3, 8, 32, 2, generator(1))
    parameters = {name: 2 * W[None] for name, W in weights.items()}
    tokens = train.held_out(config, 6000)
    measures = train.measures(config, parameters, tokens)
    bayes = train.cross_entropy(predictions(tokens[:, :-1], 3)["bigram"].log(), tokens[:, 1:])
    lost = (measures["loss"][0] - bayes).mean(1)
    error = float(lost.std() / len(lost) ** 0.5)
    assert abs(float(lost.mean()) - float(measures["kl_bigram"].mean())) < 4 * error


def run_of(
    uniform: list[float], unigram: list[float], bigram: list[float], previous: list[float]
) -> Run:
    curves = {"kl_uniform": uniform, "kl_unigram": unigram, "kl_bigram": bigram}
    curves["previous"] = previous
    tensors = {f"curve/{name}": np.array([row]) for name, row in curves.items()}
    steps = np.arange(0, 10 * len(uniform), 10)
    return Run(Config(), {**tensors, "curve/step": steps, "names/strategies": names(STRATEGIES)})


# a model that is near bigrams before it is near unigrams
SWAPPED = [0.0, 0.3, 0.4], [0.2, 0.2, 0.1], [0.4, 0.1, 0.2], [0.1, 0.1, 0.1]


def test_stages_are_those_of_the_nearest_strategy():
    run = run_of(
        [0.0, 0.3, 0.4, 0.4], [0.2, 0.1, 0.2, 0.2], [0.4, 0.2, 0.1, 0.05], [0.1, 0.2, 0.5, 0.9]
    )
    assert load_run.nearest(run) == ["uniform", "unigram", "bigram", "bigram"]
    assert load_run.spans(run) == [("uniform", 0, 10), ("unigram", 10, 20), ("bigram", 20, 30)]
    assert load_run.milestones(run) == {"unigrams": 10, "bigrams": 20}
    assert load_run.looks_back(run) == 20
    assert load_run.in_order(run, 0)
    swapped = run_of(*SWAPPED)
    assert not load_run.in_order(swapped, 0)
    assert load_run.looks_back(swapped) is None


def test_each_seed_passes_the_stages_by_itself():
    good = run_of([0.0, 0.3, 0.4], [0.2, 0.1, 0.2], [0.4, 0.2, 0.1], [0.1, 0.5, 0.9])
    bad = run_of(*SWAPPED)
    curves = {
        name: np.concatenate([good[name], bad[name]])
        for name in good.tensors
        if name.startswith("curve/k")
    }
    ends = {f"evaluated/{name}": np.array([1.0, 1.1]) for name in ("loss", "previous")}
    floors = {"baseline/loss_unigram_at": np.array([1.2])}
    floors["baseline/loss_bigram_at"] = np.array([0.9])
    losses = {f"{name}/loss": np.ones((2, 9)) for name in ("curve", "batch")}
    metrics = claims.measure(Run(Config(), {**good.tensors, **curves, **ends, **floors, **losses}))
    assert {metric.claim.id: metric.value for metric in metrics}[claims.STAGES.id] == 0.5


def test_the_classroom_counts_single_states_then_pairs():
    experiment = registry.experiment("birth.counting")
    run = shipped("birth.counting", "classroom")
    assert experiment.story is not None
    beats = {beat.name: beat for beat in experiment.story.beats}
    for name, begins in (("unigrams", "How often each state occurs"), ("jump", "With the jump")):
        question = beats[name].ask
        assert question is not None
        assert question.choices[question.right(run, experiment.view())].startswith(begins)
    reading = read(run, View())
    single, pairs = (reading.strategies[name][-1].argmax() for name in ("unigram", "bigram"))
    assert single != pairs == reading.model[-1].argmax()  # the default example tells them apart
    with pytest.raises(CannotDraw, match="must be made of the states ABC, got 'D'"):
        read(run, View(sequence="ABD"))

"""Prompts have the moments they must; settings refuse what cannot be; trainings repeat and resume
bit for bit."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse.linalg import cg

from icl_core.contract.experiment import Diverged
from icl_core.in_context_regression import gram
from icl_core.machine import device
from icl_core.papers.memformers.methods.settings import Config
from icl_core.papers.memformers.methods.train import compute
from icl_core.papers.memformers.shared import test_set
from icl_core.papers.memformers.shared.settings import memory
from icl_core.papers.memformers.shared.task import (
    Pool,
    covariances,
    eigenvalues_of,
    integrated,
    roots,
)
from icl_core.papers.memformers.shared.train import Batches, on_own_batch
from tests.parameters import first_is_short
from tests.recorder import Interrupted, Recorder

TINY = Config(layers=2, steps=30, batch=50)


@pytest.fixture
def quick(monkeypatch):
    """Fewer prompts to evaluate on: what is tested here does not depend on how many."""
    for name in ("WATCHED", "PROMPTS"):
        monkeypatch.setattr(test_set, name, test_set.BLOCK)


@pytest.mark.parametrize("examples", [False, True])
def test_pool_has_the_moments_of_gaussian_prompts(examples):
    config = Config(d=4, n=10, batch=20_000, steps=10)
    pool = Pool(config, torch.Generator().manual_seed(0), examples)
    S = (gram(pool.held) if examples else pool.held).permute(2, 0, 1).double()  # [prompts, d, d]
    torch.testing.assert_close(S, S.mT)
    eye = torch.eye(4, dtype=torch.float64)
    for power, expected in ((S, eye), (S @ S, (1 + 5 / 10) * eye)):
        error = power.std(0) / len(S) ** 0.5
        assert bool(((power.mean(0) - expected).abs() < 4.5 * error).all())


def test_a_taken_block_is_a_part_of_the_pool():
    config = Config(d=3, n=4, batch=50, steps=100, seeds=2)
    pool = Pool(config, torch.Generator().manual_seed(0), examples=True)
    S, U = pool.take(2, 50, torch.Generator().manual_seed(1))
    assert U is not None
    assert U.shape == (2, 3, 4, 50)
    start = int((pool.held[0, 0] == U[0, 0, 0, 0]).nonzero()[0])
    both = torch.cat(list(U), -1)  # the seeds' prompts differ and stand one after the other
    assert both.equal(pool.held[..., start : start + 100])
    torch.testing.assert_close(S[1], gram(U[1]))


def test_integrated_targets_are_the_axes():
    S = torch.randn(3, 3, 7, generator=torch.Generator().manual_seed(0))
    batch = integrated(S)
    assert batch.target[0, :, :, 4].equal(torch.eye(3))
    assert batch.query is None


def test_seeds_have_rotations_of_their_own():
    config = Config(seeds=3, seed=4, sigma2=2.0)
    by_seed = covariances(config)
    Sigma = torch.stack([covariance.root @ covariance.root for covariance in by_seed])
    for covariance in by_seed:
        U = covariance.rotation
        torch.testing.assert_close(U @ U.T, torch.eye(5, dtype=torch.float64))
    eigenvalues = eigenvalues_of(config).sort().values
    torch.testing.assert_close(torch.linalg.eigvalsh(Sigma), eigenvalues.expand(3, -1))
    assert not torch.allclose(by_seed[0].root, by_seed[1].root)
    alone = covariances(replace(config, seeds=1, seed=5))[0]
    assert alone.rotation.equal(by_seed[1].rotation)
    root = roots(config)
    torch.testing.assert_close(root @ root, Sigma.float())


@pytest.mark.parametrize(
    "settings, expected",
    [
        ({}, [1, 1, 0.25, 0.0625, 1]),
        ({"d": 3}, [1, 1, 0.25]),
        ({"d": 7}, [1, 1, 0.25, 0.0625, 1, 1, 1]),
        ({"spectrum": "geometric", "condition": 16.0, "d": 3}, [1, 0.25, 0.0625]),
        ({"spectrum": "geometric", "condition": 16.0, "decay": 2.0, "d": 3}, [1, 0.5, 0.0625]),
        ({"spectrum": "isotropic", "condition": 16.0, "d": 4}, [1, 1, 1, 1]),
        ({"spectrum": "own", "own": "2 1/4", "d": 2}, [2, 0.25]),
    ],
)
def test_eigenvalues(settings, expected):
    for sigma2 in (1.0, 0.25):
        computed = eigenvalues_of(Config(**settings, sigma2=sigma2))
        torch.testing.assert_close(computed, sigma2 * torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize(
    "own, message",
    [
        ("1, 0, 1", "numbers from 1e-06 to 1e\\+06, got '0'"),
        ("1, -2, 1", "numbers from 1e-06 to 1e\\+06, got '-2'"),
        ("1, 1/0, 1", "numbers from 1e-06 to 1e\\+06, got '1/0'"),
        ("1, 2, 3, 4", "eigenvalues must be 3 numbers, got 4"),
        ("", "eigenvalues must be 3 numbers, got 0"),
        ("one two three", "numbers from 1e-06 to 1e\\+06, got 'one'"),
        ("1, nan, 1", "numbers from 1e-06 to 1e\\+06, got 'nan'"),
        ("1e-5, 1, 1e5", "the ratio of largest to smallest eigenvalue"),
    ],
)
def test_eigenvalues_that_are_none_are_refused(own, message):
    with pytest.raises(ValueError, match=message):
        Config(spectrum="own", d=3, own=own)
    assert Config(d=3, own=own).own == own  # not asked for: not read


@pytest.mark.parametrize("variant", ["gd++", "learned"])
def test_heads_are_refused_where_there_are_none(variant):
    with pytest.raises(ValueError, match=r"heads must be 1 for .*, got 2"):
        Config(variant=variant, heads=2)
    assert Config(variant="cgd", heads=2).heads == 2


def test_a_batch_that_does_not_fit_names_one_that_does(monkeypatch):
    small = memory(Config(), 1000)
    monkeypatch.setattr(device, "memory", lambda: small)
    Config(batch=1000)
    message = r"batch 2000, d 5, n 20 \(a batch of 1000 would\) must fit the memory"
    with pytest.raises(ValueError, match=message):
        Config(batch=2000)
    monkeypatch.setattr(device, "memory", lambda: 10)
    with pytest.raises(ValueError, match="batch 2000, d 5, n 20 must fit the memory"):
        Config(batch=2000)


def same(one, two):
    return one.S.equal(two.S) and one.target.equal(two.target)


def test_a_fixed_batch_is_the_same_at_every_step_and_depth():
    config = replace(TINY, batches="fixed")
    batches = Batches(config)
    first = batches.at(0)
    assert first.query is not None
    assert same(batches.at(17), first)
    for changes in ({"layers": 1}, {"variant": "cgd", "preconditioner": "scalar"}):
        assert same(Batches(replace(config, **changes)).at(29), first)
    assert not same(Batches(replace(config, seed=1)).at(0), first)


def test_fresh_batches_differ():
    batches = Batches(TINY)
    first = batches.at(0)
    second = batches.at(1)
    assert first.query is None
    assert not first.target.equal(second.target)
    assert not first.S.equal(second.S)
    assert same(Batches(replace(TINY, layers=1)).at(0), first)


def test_a_batch_is_resampled_every_hundred_steps():
    config = replace(TINY, batches="resampled", steps=300)
    batches = Batches(config)
    periods = [batches.at(step) for step in (0, 99, 100, 199, 299)]
    assert [same(periods[0], batch) for batch in periods] == [True, True, False, False, False]
    assert same(periods[2], periods[3])
    assert same(Batches(config).at(150), periods[2])  # as a resumed run meets it


KINDS = [
    {},
    {"variant": "cgd", "preconditioner": "scalar", "batches": "resampled", "beside": "all"},
    {"variant": "token", "n": 6, "batches": "fixed", "coordinates": "original"},
    {"variant": "gd++", "seeds": 2, "schedule": "constant", "clip": 0.1, "beside": "none"},
    {"variant": "learned", "objective": "mean", "beside": "free"},
    {"heads": 3, "beside": "one head", "n": 3},
]


@pytest.mark.parametrize(
    "kind", first_is_short(KINDS), ids=lambda kind: kind.get("variant", "lfom")
)
def test_a_run_repeats_and_resumes_bit_for_bit(kind, quick):
    config = replace(TINY, **kind)
    whole = compute(config, Recorder())
    assert all(np.isfinite(whole[f"evaluated/{name}"]).all() for name in ("loss", "error", "train"))
    stopped = [0, 20, 30, 41] if not kind else [20]
    again = [compute(config, Recorder())] if not kind else []
    for stop in stopped:
        recorder = Recorder(stop)
        with pytest.raises(Interrupted):
            compute(config, recorder)
        again.append(compute(config, Recorder(saved=recorder.saved)))
    for tensors in again:
        assert tensors.keys() == whole.keys()
        for name, array in whole.items():
            assert np.array_equal(array, tensors[name], equal_nan=True), name


def test_a_training_with_too_large_a_rate_diverges(quick):
    config = Config(
        coordinates="original", layers=10, objective="mean", learning_rate=1.0, batch=100, steps=30
    )
    with pytest.raises(Diverged, match=r"main, 10 layers: it diverged at step \d+: the loss"):
        compute(config, Recorder())


@pytest.mark.long
def test_a_short_training_learns(quick):
    tensors = compute(replace(TINY, steps=300, batch=200, beside="none"), Recorder())
    floor = tensors["baseline/floor"]
    learned = tensors["evaluated/loss"][0]
    assert (learned > floor * 0.97).all()
    assert np.log(learned / floor).max() < 0.1


@pytest.mark.parametrize("batch", [1, 6])
def test_cgd_on_the_batch_solves_these_very_prompts(batch):
    config = replace(TINY, d=4, n=7, layers=3, batch=batch, batches="fixed", seeds=2, seed=5)
    computed = on_own_batch(config)["baseline/cg_train"]  # [seeds, K]
    prompts = Batches(config).at(0)
    assert prompts.query is not None
    for seed, covariance in enumerate(covariances(config)):
        root = covariance.root.numpy()
        losses = np.zeros((3, batch))
        for p in range(batch):
            S = root @ prompts.S[seed, :, :, p].double().numpy() @ root
            w_star = np.linalg.solve(root, prompts.target[seed, :, 0, p].double().numpy())
            x = root @ prompts.query[seed, :, p].double().numpy()
            for steps in range(1, 4):
                w, _ = cg(S, S @ w_star, rtol=0.0, atol=0.0, maxiter=steps)
                losses[steps - 1, p] = (x @ (w - w_star)) ** 2
        np.testing.assert_allclose(computed[seed], losses.mean(1), rtol=2e-3)


@pytest.mark.parametrize("batches", ["fixed", "resampled"])
def test_kept_prompts_are_the_same_for_every_variant_and_number_of_steps(batches):
    config = replace(TINY, batches=batches, steps=300)
    first = Batches(config).at(0)
    for changes in ({"variant": "token"}, {"steps": 10}, {"layers": 5}):
        torch.testing.assert_close(Batches(replace(config, **changes)).at(0).S, first.S)


def test_fresh_batches_differ_however_large_they_are():
    config = replace(TINY, d=20, n=5, batch=5000, batches="fresh", seeds=2)
    batches = Batches(config)
    assert not torch.equal(batches.at(0).S, batches.at(1).S)

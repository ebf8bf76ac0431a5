"""How many dimensions a memory needs: one step, the exact noise, W_O² alone at many learning rates
at once."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from icl_core import registry
from icl_core.contract.experiment import Run
from icl_core.papers.birth.dimension import one_step, train
from icl_core.papers.birth.dimension.settings import (
    FACTORS,
    NUMBERS,
    Config,
    View,
    training,
    widths_of,
)
from icl_core.papers.birth.shared import gradient, probes
from icl_core.papers.birth.shared.model import initialise
from icl_core.papers.birth.shared.task import make_task, sample
from icl_core.papers.birth.shared.train import begun, task_of
from tests.cells import shipped
from tests.recorder import Recorder

SMALL = Config(widths="128", N=16, T=32, one_step_T=32, batch=16, steps=10)
TASK = make_task(N=20, K=4, T=40)


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    """Of embeddings, where a whole run is made."""
    monkeypatch.setattr(train, "DRAWS", 3)


@pytest.fixture(scope="module")
def surplus() -> torch.Tensor:
    return one_step.surplus(TASK, (1, 4), torch.Generator().manual_seed(0))


@pytest.mark.parametrize(("scale", "d"), [("code", 8), ("paper", 8), ("code", 40)])
def test_the_moments_of_the_gram_matrix_are_exact(scale: str, d: int):
    generator = torch.Generator().manual_seed(3)
    count = 6000
    matrices = torch.stack([one_step.gram(4, d, scale, generator) for _ in range(count)])
    own = matrices.diagonal(dim1=1, dim2=2).flatten()
    other = matrices[:, 0, 1:].flatten()
    c = one_step.KURTOSIS[scale]
    rho = (2 * d - 2 + c) / d**2
    for values, mean, variance in ((own, 1.0, 2 * rho + (c - 1) / d**2), (other, 0.0, rho)):
        error = values.std() / count**0.5  # entries of one matrix are dependent
        assert abs(values.mean() - mean) < 4 * error
        squares = (values - mean).square()
        assert abs(squares.mean() - variance) < 4 * squares.std() / count**0.5


@pytest.mark.parametrize("scale", ["code", "paper"])
def test_the_gram_matrix_is_that_of_the_models_embeddings(scale: str):
    """`gram` draws what `model.initialise` does, but for the constant by which it is divided."""
    d = 24
    matrices = []
    for seed in range(60):
        weights = initialise(10, d, 4, torch.Generator().manual_seed(seed), scale, with_F=False)
        v = weights.W_E @ weights.V2.T
        matrices.append(v @ v.T)
    size = torch.stack(matrices).diagonal(dim1=1, dim2=2).mean()
    c = one_step.KURTOSIS[scale]
    squares = torch.stack([(matrix / size)[0, 1:].square().mean() for matrix in matrices])
    assert abs(squares.mean() - (2 * d - 2 + c) / d**2) < 4 * squares.std() / len(matrices) ** 0.5


def test_the_exact_noise_is_the_simulated_one_within_its_error(surplus: torch.Tensor):
    generator = torch.Generator().manual_seed(1)
    count = 800
    for d in (12, 48):
        readings = [
            one_step.readings(surplus, one_step.gram(TASK.N, d, "code", generator))
            for _ in range(count)
        ]
        simulated = torch.stack([one_step.aside(matrix.square()) for matrix in readings])
        exact = one_step.noise(surplus, d, "code")
        assert (abs(simulated.mean(0) - exact) < 4 * simulated.std(0) / count**0.5).all()
        mean, variance = one_step.moments(surplus, d, "code")
        stacked = torch.stack(readings)
        assert (abs(stacked.mean(0) - mean) < 5 * (variance / count).sqrt()).all()
        assert stacked.var(0).mean() == pytest.approx(float(variance.mean()), rel=0.1)


def test_the_expected_recall_is_near_the_simulated_one(surplus: torch.Tensor):
    generator = torch.Generator().manual_seed(2)
    for d in (64, 256):
        recalls = [
            one_step.recall(one_step.readings(surplus, one_step.gram(TASK.N, d, "code", generator)))
            for _ in range(100)
        ]
        expected = one_step.expected_recall(surplus, d, "code")
        assert (abs(torch.stack(recalls).mean(0) - expected) < 0.06).all()


def test_without_overlaps_the_readings_are_the_surplus(surplus: torch.Tensor):
    noise = one_step.noise(surplus, 1e9, "code")
    assert noise.numpy() == pytest.approx(one_step.aside(surplus.square()).numpy())
    at_infinity = one_step.expected_recall(surplus, 1e12, "code")
    assert at_infinity.numpy() == pytest.approx(one_step.recall(surplus).numpy(), abs=1e-6)


def test_the_one_step_memory_is_figure_9s():
    """R_1 from the definition: vectors x and their means, in d dimensions, without the N x N
    shortcut."""
    d = 16
    generator = torch.Generator().manual_seed(5)
    S = one_step.surplus(TASK, (1,), torch.Generator().manual_seed(9))[0]
    batch = sample(TASK, one_step.SEQUENCES, torch.Generator().manual_seed(9))
    w = torch.randn(TASK.N, d, generator=generator).double()
    V = torch.randn(d, d, generator=generator).double()
    v = w @ V.T
    x = v[batch.inputs].cumsum(1) / torch.arange(1, TASK.T + 1)[:, None]
    x = x[batch.in_context]
    y = batch.targets[batch.in_context]
    for k in y.unique().tolist():
        direct = v @ (x[y == k].mean(0) - x.mean(0))
        assert direct.numpy() == pytest.approx((S[k] @ v @ v.T).numpy(), rel=1e-6, abs=1e-9)


def test_more_batches_begin_with_the_fewer(surplus: torch.Tensor):
    alone = one_step.surplus(TASK, (1,), torch.Generator().manual_seed(0))
    assert torch.equal(alone[0], surplus[0])


@pytest.mark.parametrize(("count", "value"), [(2, 0.5642), (10, 1.5388)])
def test_the_largest_of_some_normal_variables(count: int, value: float):
    assert one_step.largest(count) == pytest.approx(value, abs=1e-3)


def test_the_gradient_for_every_rate_is_that_of_the_whole_model():
    config = training(SMALL, 32, 0)
    weights, generator = begun(config)
    batch = sample(task_of(config), 16, generator)
    others = torch.stack([weights.W_O2, 3 * weights.W_O2])
    losses, gradients = train.loss_and_gradient(
        weights.W_U, others, *train.attended(weights, batch)
    )
    for index, matrix in enumerate(others):
        changed = weights.with_(W_O2=matrix)
        expected, measures = gradient.loss_and_gradient(changed, batch, train={"W_O2"})
        assert float(losses[index]) == pytest.approx(measures["loss"], rel=1e-5)
        np.testing.assert_allclose(gradients[index], expected["W_O2"], rtol=1e-3, atol=1e-6)


def test_the_recall_is_the_probes():
    config = training(SMALL, 64, 0)
    weights, _ = begun(config)
    task = task_of(config)
    noise = torch.randn(64, 64, generator=torch.Generator().manual_seed(1))
    matrices = torch.stack([weights.W_O2, noise])
    expected = [probes.recalls(weights.with_(W_O2=W), task)["W_O2"] for W in matrices]
    assert train.recalls(weights, matrices).tolist() == pytest.approx(expected)


@pytest.mark.long
def test_a_run_holds_every_width_and_rate_and_more_seeds_change_no_other():
    one_seed, two_seeds = (
        train.compute(replace(SMALL, seeds=seeds), Recorder()) for seeds in (1, 2)
    )
    assert two_seeds["curve/recall"].shape[:3] == (2, len(widths_of(SMALL)), len(FACTORS))
    assert two_seeds["one_step/recall"].shape == (2, len(NUMBERS), len(widths_of(SMALL)))
    for name in ("curve/recall", "one_step/recall", "theory/noise"):
        np.testing.assert_array_equal(two_seeds[name][:1], one_seed[name])
    run = Run(SMALL, two_seeds)
    recalls = one_step.over_training(run)
    tuned, fixed = (
        one_step.at_rates(recalls, rates(run)) for rates in (one_step.tuned, one_step.fixed)
    )
    assert (tuned.mean(0) >= fixed.mean(0)).all()


def test_the_answers_are_those_of_the_classroom():
    experiment = registry.experiment("birth.dimension")
    run = shipped("birth.dimension", "classroom")
    assert experiment.story is not None
    questions = {beat.name: beat.ask for beat in experiment.story.beats if beat.ask}
    expected = {"width": "About half", "data": "Twice the data", "tuned": "Less than a third"}
    for name, begins in expected.items():
        assert questions[name].choices[questions[name].right(run, View())].startswith(begins), name


def test_a_run_that_is_still_going_can_be_drawn():
    snapshots: list[dict[str, np.ndarray]] = []

    class Watching(Recorder):
        def report(self, done, total, loss, live, state, preview=dict):
            snapshots.append(live())

    train.compute(SMALL, Watching())
    for tensors in filter(None, snapshots):
        for drawing in registry.experiment("birth.dimension").drawings:
            if drawing.live:
                assert drawing.draw(Run(SMALL, tensors, finished=False), View()).title


def test_batches_of_any_number_of_positions_make_products_of_few_shapes():
    """Each shape is compiled and kept: with one a step a training grew by megabytes at
    every step."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Shapes(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            if "mm" in str(function):
                tensors = [array for array in args if isinstance(array, torch.Tensor)]
                shapes.add((str(function), *(tuple(tensor.shape) for tensor in tensors)))
            return function(*args, **(kwargs or {}))

    shapes: set[tuple] = set()
    draw = partial(torch.randn, generator=torch.Generator().manual_seed(0))
    W_U = draw(5, 16)
    matrices = draw(2, 16, 16)
    for n in (1, 500, 1024):
        targets = torch.zeros(n, dtype=int)
        with Shapes():
            train.loss_and_gradient(W_U, matrices, draw(n, 16), draw(n, 5), targets)
    assert len(shapes) == 4  # those of a single n


def test_more_dimensions_condition_what_W_O2_reads_better():
    """The condition number equals that of numpy's Gram matrix; below N vectors are dependent."""
    config = replace(SMALL, widths="512")
    numbers = []
    for d in (32, 128, 512):
        weights = begun(training(config, d, 0))[0]
        x = (weights.W_E @ weights.V2.T).double().numpy()
        assert train.condition_number(weights) == pytest.approx(np.linalg.cond(x @ x.T), rel=1e-6)
        numbers.append(train.condition_number(weights))
    assert numbers == sorted(numbers, reverse=True)
    weights = begun(training(replace(SMALL, N=32), 16, 0))[0]
    assert np.isnan(train.condition_number(weights))

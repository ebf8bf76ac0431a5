"""The theorems as identities at many sizes, the gradient against autograd, the counts, and every
erratum's number."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_core.contract.experiment import STAGE, Run
from icl_core.in_context_regression import conjugate_gradient, grams
from icl_core.papers.memformers.shared import baselines
from icl_core.papers.memformers.shared.variants import VARIANTS
from icl_core.papers.memformers.theorems import (
    EXPERIMENT,
    claims,
    errata,
    identities,
    parameters,
    stationarity,
)
from icl_core.papers.memformers.theorems.claims import expected, slope
from icl_core.papers.memformers.theorems.identities import apart, by_tokens
from icl_core.papers.memformers.theorems.settings import METHODS, Config, View
from icl_core.papers.memformers.theorems.words import power
from tests.drawn import checked
from tests.recorder import Recorder

# d, n, L: the paper's, underdetermined, smallest, solved early
SIZES = [(5, 20, 4), (7, 4, 3), (2, 2, 1), (3, 9, 6)]


def small(d=5, n=20, layers=4, **more):
    return Config(d=d, n=n, layers=layers, **{"prompts": 8, "pool": 14, **more})


def prompts_and_cases(config, seed=0):
    prompts = identities.sample(config)
    return prompts, identities.cases(prompts, config.layers, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("size", SIZES)
def test_tokens_hold_the_iterates_of_every_method(size, seed):
    prompts, cases = prompts_and_cases(small(*size, seed=seed, spectrum="geometric"), seed)
    assert cases.keys() == METHODS.keys() == claims.IDENTITIES.keys()
    for name, case in cases.items():
        w = by_tokens(case.variant, case.given, prompts)
        assert w.shape == (size[2] + 1, size[0], 8)
        assert float(apart(w, case.iterates, prompts.target).max()) < 1e-10, name


@pytest.mark.parametrize("size", SIZES)
def test_lemma_2_1_holds_for_matrices_that_are_not_symmetric(size):
    prompts = identities.sample(small(*size))
    case = identities.lemma(prompts, size[2], torch.Generator().manual_seed(1))
    assert not torch.allclose(case.given["A"], case.given["A"].mT)
    w = by_tokens("linear", case.given, prompts)
    assert float(apart(w, case.iterates, prompts.target).max()) < 1e-10
    as_printed = by_tokens("linear", {"A": case.given["A"].mT}, prompts)
    assert float(apart(as_printed, case.iterates, prompts.target).max()) > 0.01


def test_turned_prompts_are_the_same_run_where_A_is_a_multiple_of_I(run):
    multiple, matrix = run["code/five-runs"]
    assert multiple < 1e-12 and matrix > 0.1


def test_other_coefficients_are_another_method():
    """What the identities assert could be false: a hundredth more in one coefficient is seen, from
    its layer on."""
    prompts, cases = prompts_and_cases(small())
    for name, case in cases.items():
        changed = {key: tensor.clone() for key, tensor in case.given.items()}
        last = changed.get("Gamma", changed.get("alpha"))
        last[(2, 0) if last.dim() == 3 else 2] += 0.01
        w = by_tokens(case.variant, changed, prompts)
        distances = apart(w, case.iterates, prompts.target)
        assert float(distances[:3].max()) < 1e-12 and float(distances[3]) > 1e-6, name


def test_chunks_of_prompts_change_nothing(monkeypatch):
    prompts, cases = prompts_and_cases(small(3, 4, 2))
    whole = by_tokens("cgd", cases["cgd"].given, prompts)
    monkeypatch.setattr(identities, "AT_ONCE", 1)
    in_chunks = by_tokens("cgd", cases["cgd"].given, prompts)
    torch.testing.assert_close(in_chunks, whole, rtol=1e-13, atol=1e-13)


def test_conjugate_gradient_by_layers_is_by_registers():
    prompts, cases = prompts_and_cases(small(4, 9, 4))
    by_layers, by_registers = (
        by_tokens(cases[name].variant, cases[name].given, prompts) for name in ("cgd", "cgd-gamma")
    )
    torch.testing.assert_close(by_layers, by_registers, rtol=1e-10, atol=1e-10)
    path = conjugate_gradient(prompts.S, prompts.target, 4)
    table = baselines.deflected_table(path.alpha, path.gamma)
    replayed = baselines.replay(table, prompts.S, prompts.target)
    torch.testing.assert_close(replayed, path.iterates, rtol=1e-10, atol=1e-10)


def test_steps_are_differences_of_what_eq_1_1_sums_up():
    prompts = identities.sample(small(3, 9, 5))
    Lambda = identities.at_random(5, 1, 0.4, torch.Generator().manual_seed(3))
    Gamma = identities.steps_of(Lambda)
    torch.testing.assert_close(-Gamma.cumsum(0), Lambda)
    computed = baselines.replay(Gamma[..., 0], prompts.S, prompts.target)
    expected = identities.summed(Lambda, prompts.S, prompts.target)
    torch.testing.assert_close(computed, expected, rtol=1e-11, atol=1e-11)


def test_coefficients_of_another_prompt_are_not_conjugate_gradient():
    prompts, cases = prompts_and_cases(small(prompts=64))
    tensors = identities.others(cases["cgd"], prompts)
    assert tensors["distance/other"][-1] > 0.5
    assert tensors["loss/other"][-1] > 10 * tensors["loss/own"][-1]
    alpha = cases["cgd"].given["alpha"][0]
    distances = [
        float(((a - alpha).square().sum() / alpha.square().sum()).sqrt())
        for a in np.linspace(0.2, 2, 400)
    ]
    first_step = float(tensors["first_step"])
    assert first_step <= min(distances) + 1e-12  # the closest form is the least
    assert first_step > 0.1 and alpha.square().sum() / alpha.sum() > 0
    same = torch.full((1, 6), 0.7).double()
    assert float(identities.first_step(same)) == pytest.approx(0, abs=1e-7)


def test_the_gradient_is_autograds():
    generator = torch.Generator().manual_seed(4)
    S = grams(3, 6, 40, generator, torch.float64)
    M = torch.randn(2, 3, 3, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    losses = []
    for layers in M:  # places
        C = torch.eye(3, dtype=torch.float64).expand(40, 3, 3)
        for A in layers:
            C = C - A @ S.permute(2, 0, 1) @ C
        losses.append(C.square().sum((1, 2)).mean())
    loss, slopes = stationarity.loss_and_slopes(M.detach(), S)
    torch.testing.assert_close(loss, torch.stack(losses).detach())
    torch.testing.assert_close(slopes, torch.autograd.grad(sum(losses), M)[0])


@pytest.fixture(scope="module")
def run():
    config = Config(layers=3, prompts=64, pool=15)
    return Run(config, EXPERIMENT.run(config, Recorder()))


def test_the_gradient_vanishes_at_the_construction_alone(run):
    assert abs(float(run["gradient/along"])) < 1e-10
    assert slope(run)[0] == pytest.approx(-0.5, abs=0.1)
    assert abs(expected(run)[0]) < 0.05
    assert run["gradient/expected/identity"][0] > 3 * run["gradient/expected/identity"][1]
    for name in ("near", "random"):  # levels off at once
        assert run[f"gradient/{name}"][-1] > 0.8 * run[f"gradient/{name}"][0]
    elsewhere = [run[f"gradient/loss/{name}"] for name in ("identity", "near")]
    assert run["gradient/loss/construction"] < min(elsewhere)
    assert run["gradient/size"].tolist() == [2**k for k in range(8, 16)]


def test_in_the_original_coordinates_the_gradient_is_that_by_A():
    """∇_A f = Σ^½ ∇_M f Σ^½: a small change of A changes the loss by its product with it."""
    D = torch.tensor([1.0, 0.2]).double()
    generator = torch.Generator().manual_seed(6)
    S = grams(2, 8, stationarity.LEAST, generator, torch.float64)
    A, change = torch.randn(2, 1, 2, 2, 2, generator=generator, dtype=torch.float64)
    root = D.sqrt()
    ends = torch.stack([A[0] + sign * 1e-5 * change[0] for sign in (1, -1)])
    losses, _ = stationarity.by_pool(root[:, None] * ends * root, S, D)
    _, slopes = stationarity.by_pool(root[:, None] * A * root, S, D)
    difference = float((losses[0, 0] - losses[0, 1]) / 2e-5)
    assert difference == pytest.approx(float((slopes[0, 0] * change[0]).sum()))


@pytest.mark.parametrize(
    "config", [small(), small(2, 3, 1, heads=4), small(8, 5, 3), small(8, 12, 6, heads=2)]
)
def test_counted_parameters_are_those_of_the_formulas(config):
    stored, used = parameters.counted(config)
    assert used == [parameters.COUNTS[name].number(config) for name in VARIANTS]
    assert all(a >= b for a, b in zip(stored, used, strict=True))


def test_counts_of_the_papers_size():
    used = dict(zip(VARIANTS, parameters.counted(small())[1], strict=True))
    assert (used["linear"], used["cgd"], used["lfom"]) == (100, 107, 110)
    assert used["token"] == 100 + 21 * 6 + 4
    assert parameters.conjugate(4, 13) < used["lfom"]
    assert used["lfom"] <= parameters.conjugate(4, parameters.overtaken(110, 4))
    assert parameters.as_written(small()) == 4 * (2 * 36 + 6 * 21)


def test_every_erratum_has_the_number_that_shows_it(run):
    numbers = {name: run[f"errata/{name}"] for name in run.names("errata")}
    assert numbers.keys() == claims.ERRATA.keys()
    exact = {"last-sign": 2.0, "n-twice": 1 - 1 / 20, "loop": 0.5}
    for name, number in exact.items():
        assert numbers[name][0] == pytest.approx(number, abs=1e-9) and abs(numbers[name][1]) < 1e-12
    for name in ("transpose", "tokens", "letters"):
        assert numbers[name][0] > 0.1 and numbers[name][1] < 1e-12
    assert numbers["double-minus"][0] == pytest.approx(4, abs=0.3)
    assert numbers["double-minus"][1] < 0.1
    assert numbers["square"][0] > 0.1 > 0.05 > numbers["square"][1]
    assert numbers["spectrum"][0] > 1 > 0.2 > numbers["spectrum"][1]
    squares = np.array([1, 1, 1 / 16, 1 / 256, 1])  # the eigenvalues of Σ²
    distance = math.sqrt(1 - squares.sum() ** 2 / (5 * (squares**2).sum()))
    assert numbers["inverse"][0] == pytest.approx(distance)
    assert numbers["inverse"][1] == 0


def test_the_best_factor_of_a_token_is_the_best():
    """No other number in place of the query's factor comes nearer to a step with a
    diagonal matrix."""
    prompts = identities.sample(small())
    as_printed, _ = errata.tokens(prompts)
    gradient = torch.einsum("ijp,jp->ip", prompts.S, prompts.target)
    step = torch.linspace(0.5, 1.5, 5, dtype=torch.float64)[:, None] * gradient
    errors = [float((a * gradient - step).norm() / step.norm()) for a in np.linspace(0.3, 2, 300)]
    assert as_printed == pytest.approx(min(errors), abs=1e-3) and as_printed <= min(errors)


def test_all_claims_hold_at_the_papers_size(run):
    verdicts = {metric.claim.id: metric.verdict(run.config) for metric in EXPERIMENT.metrics(run)}
    assert set(verdicts.values()) <= {"holds", "found here", "elsewhere"}
    assert verdicts.keys() == {claim.id for claim in EXPERIMENT.claims}


@pytest.mark.parametrize(
    "config", [small(2, 2, 1), small(4, 3, 7), small(3, 9, 2, spectrum="isotropic")]
)
def test_every_drawing_draws_whatever_the_size(config):
    run = Run(config, EXPERIMENT.run(config, Recorder()))
    for drawing in EXPERIMENT.drawings:
        for method in METHODS if drawing.name == "table" else ["any"]:
            panel = drawing.draw(run, View(method=method, prompt=11, batch=1000))
            assert panel.title and len(panel.caption) > 40
            if panel.figure is not None:
                checked(panel.figure)
    assert EXPERIMENT.headline(run, View()).endswith(".")
    assert {metric.claim for metric in EXPERIMENT.metrics(run)} <= set(EXPERIMENT.claims)


def test_the_stage_has_four_seats():
    assert sum(drawing.place == STAGE for drawing in EXPERIMENT.drawings) == 4
    assert EXPERIMENT.cost(Config()) < EXPERIMENT.cost(replace(Config(), pool=18))


@pytest.mark.parametrize(
    ("number", "text"), [(0.0, "0"), (2.7e-14, "3 · 10⁻¹⁴"), (7.1e5, "7 · 10⁵")]
)
def test_numbers_of_many_sizes_are_written_with_a_power(number, text):
    assert power(number).replace("\u00a0", " ") == text

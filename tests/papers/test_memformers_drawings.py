"""Every drawing of every variant; the decoded optimiser reproduces the methods that it decodes."""

import dataclasses
from functools import cache

import numpy as np
import pytest
import torch

from icl_core.contract.experiment import Panel, Run
from icl_core.in_context_regression import conjugate_gradient, gram, grams, momentum, nesterov
from icl_core.papers.memformers.methods import decode as decoded
from icl_core.papers.memformers.methods.draw import depth, stage, tables
from icl_core.papers.memformers.methods.iterates import axes as prompt_axes
from icl_core.papers.memformers.methods.settings import Config, View
from icl_core.papers.memformers.methods.train import compute as train
from icl_core.papers.memformers.shared import baselines, model, variants
from icl_core.papers.memformers.shared.baselines import mean_coefficients
from icl_core.papers.memformers.shared.draw import preconditioner
from icl_core.papers.memformers.shared.load_run import iterates, parameters_at, prompt_of, root_of
from icl_core.papers.memformers.shared.task import Batch, roots
from icl_core.papers.memformers.shared.variants import VARIANTS
from tests.drawn import checked
from tests.parameters import first_is_short
from tests.recorder import Recorder

DRAWINGS = {
    "depth": (depth.depth_panel, None),
    "training": (preconditioner.training_panel, None),
    "distances": (preconditioner.distances_panel, preconditioner.applies),
    "overfit": (depth.overfit_panel, None),
    "optimiser": (tables.optimiser_panel, decoded.applies),
    "trajectory": (stage.trajectory_panel, None),
    "preconditioner": (preconditioner.preconditioner_panel, preconditioner.applies),
    "whitened": (preconditioner.whitened, preconditioner.applies),
}
MOST = View(
    snapshot=0,
    after=0,
    overlay="all",
    unit="sum",
    single_seeds=True,
    depth=1,
    prompt=99,
    first_axis=20,
    second_axis=20,
    layer=10,
)
# what differs from the smallest run of a variant
ODD = {
    "scalar": {"preconditioner": "scalar", "variant": "cgd", "heads": 2},
    "few": {
        "n": 3,
        "d": 7,
        "batches": "fixed",
        "batch": 4,
        "beside": "all",
        "coordinates": "original",
    },
    "one": {"layers": 1, "d": 2, "spectrum": "isotropic", "seeds": 2, "beside": "coordinates"},
}


@cache
def short_run(**changes) -> Run:
    config = Config(
        **{"steps": 20, "layers": 2, "batch": 100, "seeds": 1, "beside": "none", **changes}
    )
    with pytest.MonkeyPatch.context() as few:
        # prompts evaluated on: it is the drawing that is tested
        for name in ("PROMPTS", "WATCHED", "BLOCK"):
            few.setattr(f"icl_core.papers.memformers.shared.test_set.{name}", 2**9)
        return Run(config, train(config, Recorder()))


def runs():
    return [*({"variant": name} for name in VARIANTS), *ODD.values()]


def panels(run: Run, view: View) -> list[Panel]:
    return [
        draw(run, view) for draw, applies in DRAWINGS.values() if not applies or applies(run.config)
    ]


def check(panel: Panel):
    assert panel.title and panel.caption and panel.figure is not None
    checked(panel.figure)
    assert "nan" not in (panel.title + panel.note).lower()


@pytest.mark.parametrize(
    "changes", first_is_short(runs()), ids=lambda changes: "-".join(map(str, changes.values()))
)
def test_every_drawing_draws(changes):
    run = short_run(**changes)
    for panel in panels(run, MOST):
        check(panel)
        assert panel.data is not None and len(panel.data)


def test_a_run_that_is_still_going_shows_its_curves():
    whole = short_run(variant="lfom", seeds=2, beside="linear")
    curves = {name: a.copy() for name, a in whole.tensors.items() if name.startswith("curve/")}
    for name in curves.keys() - {"curve/step"}:
        curves[name][:, 3:] = np.nan
    only_main = {name: a for name, a in curves.items() if not name.startswith("curve/beside/")}
    for tensors in (curves, only_main, {"curve/step": curves["curve/step"]}, {}):
        run = Run(whole.config, tensors, finished=False)
        for draw in (preconditioner.training_panel, preconditioner.distances_panel):
            check(draw(run, View()))


def test_numbers_that_are_not_finite_are_left_out():
    run = short_run(variant="lfom")
    broken = dict(run.tensors)
    for name in ("baseline/momentum", "baseline/gd", "baseline/pcg", "evaluated/loss"):
        broken[name] = np.array([np.inf, np.nan], np.float32) + np.zeros_like(broken[name])
    broken["baseline/pcg"] = np.zeros_like(broken["baseline/pcg"])
    for key in ("reference/floor_steps", "reference/floor_scalar_steps"):
        broken[key] = np.full_like(broken[key], np.nan)
    for panel in panels(Run(run.config, broken), View(overlay="all")):
        check(panel)


def test_view_and_config_share_no_field():
    of_view, of_config = (
        {field.name for field in dataclasses.fields(cls)} for cls in (View, Config)
    )
    assert not of_view & of_config


@pytest.fixture
def prompts():
    generator = torch.Generator().manual_seed(0)
    S = grams(4, 9, 6, generator, torch.float64)
    return S, torch.randn(4, 6, generator=generator, dtype=torch.float64)


def test_gradient_descent_has_no_memory():
    table = baselines.gradient_descent_table(4, 0.3)
    assert np.array_equal(table, np.diag([0.3] * 4)) and decoded.memory(table) == 0


def test_momentum_forgets_by_beta():
    table = baselines.momentum_table(5, 0.3, 0.8)
    assert table[4] == pytest.approx([0.3 * 0.8 ** (4 - j) for j in range(5)])
    assert not np.triu(table, 1).any()


@pytest.mark.parametrize("beta", [0.0, 0.7, 0.999])
@pytest.mark.parametrize(
    ("method", "table"),
    [(momentum, baselines.momentum_table), (nesterov, baselines.nesterov_table)],
)
def test_decoded_methods_make_the_same_iterates(prompts, method, table, beta):
    iterates = baselines.replay(table(6, 0.4, beta), *prompts)
    assert torch.allclose(iterates, method(*prompts, 6, 0.4, beta), atol=1e-5)


def test_summed_counts_from_the_start(prompts):
    S, target = prompts
    table = baselines.nesterov_table(5, 0.4, 0.7)
    w = baselines.replay(table, S, target)
    gradients = torch.einsum("ijp,ljp->lip", S, w[:-1] - target)
    again = -torch.einsum("kl,lip->kip", torch.tensor(np.cumsum(table, axis=0)), gradients)
    assert torch.allclose(again, w[1:], atol=1e-10)


def test_decoded_conjugate_gradient_makes_the_same_iterates(prompts):
    S, target = prompts
    for prompt in range(S.shape[-1]):
        one = S[..., prompt : prompt + 1], target[..., prompt : prompt + 1]
        path = conjugate_gradient(*one, 3)
        replayed = baselines.replay(mean_coefficients(path), *one)
        assert torch.allclose(replayed, path.iterates, atol=1e-5)


@pytest.mark.parametrize("table", [baselines.momentum_table(3, 0.4, 0.1), np.diag([0.3, 0.9, 1.7])])
def test_equivalent_steps_end_where_the_table_does(prompts, table):
    steps = decoded.equivalent(table)
    if np.iscomplexobj(steps):
        pytest.skip("no linear transformer does the same")
    same = baselines.replay(np.diag(steps), *prompts)[-1]
    assert torch.allclose(same, baselines.replay(table, *prompts)[-1], atol=1e-8)


def test_equivalent_steps_of_a_transformer_are_its_own():
    assert decoded.equivalent(np.diag([1.7, 0.3, 0.9])) == pytest.approx([0.3, 0.9, 1.7])


@pytest.mark.parametrize("variant", ["linear", "cgd", "lfom", "shared"])
def test_the_learned_table_is_the_model_where_it_holds_all_of_it(variant):
    """With A_l = a I the numbers are the model: in units of Σ's mean eigenvalue, on gradients in
    whitened coordinates of an isotropic Σ."""
    run = short_run(variant=variant, preconditioner="scalar", spectrum="isotropic", beside="none")
    parameters = parameters_at(run, 1, 2)
    root = root_of(run, 1)
    table, share = decoded.learned(parameters, run.config, root)
    U, target, _ = prompt_of(run, 3)
    S = gram(U[..., None])
    batch = Batch(S[None], target[None, :, None, None], U[None, ..., None])
    path = iterates(parameters, run.config, root, batch)
    assert share == pytest.approx(1)
    assert torch.allclose(baselines.replay(table, S, target[:, None]), path, atol=1e-5)


def test_the_units_of_original_coordinates():
    """W scales with σ² neither in one coordinates nor in the other."""
    for coordinates in ("original", "whitened"):
        tables = []
        for sigma2 in (1.0, 9.0):
            config = Config(steps=20, layers=2, coordinates=coordinates, sigma2=sigma2)
            parameters = variants.initial(config, torch.Generator().manual_seed(3))
            root = roots(config)
            tables.append(decoded.learned(parameters, config, root)[0])
        assert tables[0] == pytest.approx(tables[1], abs=1e-6)


def test_axes_are_two_different_ones():
    for d in (2, 3, 20):
        for first, second in ((1, 1), (20, 20), (2, 1), (4, 1)):
            across, up = prompt_axes(d, View(first_axis=first, second_axis=second))
            assert across != up and max(across, up) < d


@pytest.mark.long
def test_the_trained_path_ends_where_the_model_is_evaluated():
    """The last iterate of every variant, by all layers, is the model's own output."""
    for variant in VARIANTS:
        run = short_run(variant=variant)
        parameters = parameters_at(run, 1, 2)
        root = root_of(run, 1)
        U, target, _ = prompt_of(run, 0)
        batch = Batch(gram(U[..., None])[None], target[None, :, None, None], U[None, ..., None])
        path = iterates(parameters, run.config, root, batch)
        assert path.shape == (3, run.config.d, 1) and not path[0].any()
        error = model.errors(parameters, run.config, root, batch)[0, :, 0]
        assert torch.allclose(target[:, None] - path[-1], error, atol=1e-6)

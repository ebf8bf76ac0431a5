"""What B does to covariates, Γ for each token, the grid of learning rates, and the claims on them,
against planted values and exact identities."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_core import in_context_regression as regression
from icl_core.contract.experiment import Run
from icl_core.papers.memformers.methods import findings, moving_covariates, rate_grid
from icl_core.papers.memformers.methods.claims import figures_and_appendices
from icl_core.papers.memformers.methods.draw import depth, tables
from icl_core.papers.memformers.methods.draw import rates as rates_panel
from icl_core.papers.memformers.methods.draw.moving_covariates import spectra_panel
from icl_core.papers.memformers.methods.settings import AUTHORS, LFOM, Config, View
from icl_core.papers.memformers.methods.train import compute
from icl_core.papers.memformers.shared import variants
from icl_core.papers.memformers.shared.load_run import parameters_at, root_of
from icl_core.papers.memformers.shared.task import roots
from icl_core.papers.memformers.shared.token_form import forward
from tests.drawn import checked
from tests.recorder import short_run

PLAIN = Config(variant="gd++", d=3, n=12, layers=3, spectrum="isotropic", seeds=1)


@pytest.fixture(scope="module")
def trained():
    """A short training of a variant, by name; prompts evaluated on are few."""

    def of(variant: str, **changes) -> Run:
        config = Config(variant=variant, **{"layers": 3, "steps": 20, "batch": 50, "seeds": 1,
                        "beside": "none", **changes})  # fmt: skip
        with pytest.MonkeyPatch.context() as few:
            for name in ("PROMPTS", "WATCHED", "BLOCK"):
                few.setattr(f"icl_core.papers.memformers.shared.test_set.{name}", 2**9)
            return short_run(compute, config)

    return of


def planted(config: Config, B: float) -> dict[str, torch.Tensor]:
    """A model with A = I and a multiple of I as B."""
    parameters = variants.initial(config, torch.Generator().manual_seed(0))
    eye = torch.eye(config.d)
    parameters["A"] = eye.expand_as(parameters["A"]).clone()
    parameters["B"] = B * eye.expand_as(parameters["B"]).clone()
    return parameters


def test_without_b_the_spectra_are_those_of_the_examples():
    white = moving_covariates.held_out(PLAIN)
    spectra = moving_covariates.spectra(planted(PLAIN, 0.0), PLAIN, roots(PLAIN), white)
    S = white[..., :-1] @ white[..., :-1].mT / PLAIN.n
    own = torch.linalg.eigvalsh(S).flip(-1)
    assert spectra.shape == (3, moving_covariates.SPECTRA_PROMPTS, 3)
    for layer in spectra:
        np.testing.assert_allclose(layer, (own / own.mean(-1, keepdim=True)).numpy(), rtol=1e-6)


def test_a_planted_b_moves_each_eigenvalue_as_newton_schulz_does():
    """With A = I and B = b I every layer makes s (1 − b s)² of an eigenvalue s."""
    white = moving_covariates.held_out(PLAIN)
    spectra = moving_covariates.spectra(planted(PLAIN, 0.2), PLAIN, roots(PLAIN), white)
    s = torch.linalg.eigvalsh(white[..., :-1] @ white[..., :-1].mT / PLAIN.n)
    for layer in range(3):
        expected = s.sort(-1, descending=True).values
        expected = (expected / expected.mean(-1, keepdim=True)).numpy()
        np.testing.assert_allclose(spectra[layer], expected, rtol=1e-5)
        s = s * (1 - 0.2 * s).square()


def test_the_condition_number_is_the_geometric_mean_over_prompts():
    eigenvalues = np.array([[[4.0, 2.0, 1.0], [9.0, 3.0, 1.0]]])
    assert moving_covariates.conditions(eigenvalues) == pytest.approx([6.0])


def test_the_spectra_are_those_of_the_covariates_of_the_layers(trained):
    """The model of the first layers leaves covariates that the next layer meets."""
    run = trained("gd++ entry")
    parameters = parameters_at(run, 1, 3)
    root = root_of(run, 1)
    exact = {name: tensor.double() for name, tensor in parameters.items()}
    white = moving_covariates.held_out(run.config)[:4]
    spectra = moving_covariates.spectra(parameters, run.config, root, white)
    labels = white.new_ones(4, run.config.n)  # whatever the labels are
    moved = forward(exact, run.config, root.double(), white, labels).update[:2].sum(0)
    X = (white + moved[:, :-1])[..., :-1]
    own = torch.linalg.eigvalsh(X @ X.mT).flip(-1)
    expected = (own / own.mean(-1, keepdim=True)).numpy()
    np.testing.assert_allclose(spectra[2], expected, rtol=1e-8)


@pytest.mark.parametrize("variant", ["token", "token shared", "gd++ entry"])
def test_blank_weights_are_those_that_no_prediction_depends_on(trained, variant):
    run = trained(variant)
    config = run.config
    root = root_of(run, 1).double()
    parameters = {name: tensor.double() for name, tensor in parameters_at(run, 1, 3).items()}
    source = torch.Generator().manual_seed(5)
    X = torch.randn(6, config.d, config.n + 1, generator=source, dtype=torch.float64)
    y = torch.randn(6, config.n, generator=source, dtype=torch.float64)
    for name, size in (("Gamma", 0.1), ("A", 1.0)):
        shape = parameters[name].shape
        parameters[name] = size * torch.randn(shape, generator=source, dtype=torch.float64)
    Gamma = parameters["Gamma"].requires_grad_()
    forward(parameters, config, root, X, y).predictions[-1].square().sum().backward()
    assert Gamma.grad is not None
    slopes = Gamma.grad[0]
    if variant == "token":
        slopes = slopes[np.tril_indices(3)]
    if variant == "gd++ entry":
        assert not slopes[-1].any()  # a layer's own attention counts whole
        slopes = slopes[:2, -1]
    table, rows = tables.weights(run, 1, 3, len(run.snapshot_steps) - 1)
    assert table.shape == tuple(slopes.shape) and len(rows) == len(table)
    assert np.array_equal(np.isnan(table), (slopes == 0).numpy())


def test_planted_differences_between_tokens_are_found():
    table = np.array([[1.1, 0.9, 1.1, 0.9, 1.5], [np.nan] * 4 + [7.0]])
    examples, query = tables.spread(table)
    assert (examples, query) == pytest.approx((0.1, 0.5))
    assert np.isnan(tables.spread(np.zeros((2, 5)))).all()
    assert np.isnan(tables.spread(table[1:])).all()


def test_the_loss_of_pairs_is_that_of_the_error_maps():
    D = torch.tensor([1.0, 0.5, 0.1], dtype=torch.float64)
    S = regression.grams(3, 9, 40, torch.Generator().manual_seed(1), torch.float64)
    X = regression.coloured(S, D)
    pairs = torch.tensor([[0.3, 0.0], [0.5, 0.9], [1.2, 0.4]], dtype=torch.float64)
    for method in (regression.nesterov, regression.momentum):
        losses = regression.losses_of_pairs(method, X, D, 3, pairs)
        for column, (rate, beta) in enumerate(pairs.tolist()):
            maps = regression.error_maps(method, X, 3, rate, beta)[1:]
            expected = regression.expected_loss(maps, D).mean(-1)
            torch.testing.assert_close(losses[:, column], expected)


def test_the_grid_holds_the_printed_pair_and_its_best_is_the_least():
    for method in rate_grid.METHODS:
        grid = rate_grid.grid(method, AUTHORS)
        rate, beta = grid.best
        best = grid.values[rate_grid.BETAS.index(beta), rate_grid.RATES.index(rate)]
        assert best == grid.values.min() and grid.gap >= -1e-9
        rate = rate_grid.METHODS[method][1]
        printed = grid.values[rate_grid.BETAS.index(0.9), rate_grid.RATES.index(rate)]
        assert printed == pytest.approx(grid.printed)


def test_with_one_step_beta_changes_nothing():
    grid = rate_grid.grid("momentum", replace(AUTHORS, layers=1))
    np.testing.assert_allclose(grid.values, np.broadcast_to(grid.values[:1], grid.values.shape))


def test_conjugate_gradient_is_exact_after_d_steps():
    assert figures_and_appendices.exact_after_d(LFOM) < -25


def test_the_printed_pairs_are_judged_at_the_authors_setting():
    config = replace(AUTHORS, seeds=5)
    metrics = figures_and_appendices._pairs(config)
    assert [metric.verdict(config) for metric in metrics] == ["reproduced", "not reproduced"]
    assert metrics[1].reason and not figures_and_appendices._pairs(LFOM)


def test_the_table_of_conjugate_gradient_has_no_distance_from_itself(trained):
    """Planted: a CGD-like model whose α and γ make conjugate gradient's mean table cannot differ
    from it."""
    run = trained("cgd", preconditioner="scalar", coordinates="authors", spectrum="isotropic")
    shares, steps, cgd = figures_and_appendices.tables(run)
    parameters = parameters_at(run, 1, 3)
    a, alpha = (float(parameters[name].flatten()[-1]) for name in ("A", "alpha"))
    assert steps[0] == pytest.approx(np.log(abs(a * alpha) / cgd[-1, -1]), abs=1e-5)
    assert abs(shares[0]) <= 1


def test_panels_draw_at_every_depth_and_snapshot(trained):
    for variant in ("token", "token shared", "gd++ entry", "gd++"):
        run = trained(variant, n=20)
        for view in (View(), View(snapshot=0), View(depth=1), View(depth=2)):
            panels = [rates_panel.panel(run, view)]
            if tables.has_tokens(run.config):
                panels.append(tables.tokens(run, view))
            if moving_covariates.has_spectra(run.config):
                panels.append(spectra_panel(run, view))
            for panel in panels:
                assert panel.figure is not None and panel.data is not None
                assert "nan" not in panel.title
                checked(panel.figure)


def test_models_have_nouns_in_sentences():
    assert findings.noun("CGD-like") == "the CGD-like Memformer"
    assert findings.noun("learned in whitened coordinates").startswith("the one learned")
    assert findings.noun("linear transformer") == "the linear transformer"


def test_fresh_prompts_are_not_learned_by_heart(trained):
    run = trained("lfom")
    worse = run.tensors | {"evaluated/loss": run["evaluated/train"] * 10}
    panel = depth.overfit_panel(Run(run.config, worse), View())
    assert "by heart" not in panel.title and "rare prompts" in panel.title


def test_claims_have_ids_of_their_own():
    ids = [claim.id for claim in figures_and_appendices.ALL]
    assert len(set(ids)) == len(ids)

"""The authors' own prompts, what is measured on them, and Figure 2 under four protocols."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_core.contract.experiment import Run
from icl_core.contract.knobs import BadSetting
from icl_core.in_context_regression import conjugate_gradient, gram
from icl_core.papers.memformers.methods import authors_settings, train
from icl_core.papers.memformers.methods.claims import four_protocols, printed_curves
from icl_core.papers.memformers.methods.settings import PRESETS, Config
from icl_core.papers.memformers.shared import authors_prompts, test_set, variants
from icl_core.papers.memformers.shared.task import covariances, roots
from icl_core.papers.memformers.shared.train import Batches
from tests.recorder import Recorder

SMALL = {"d": 3, "n": 5, "layers": 2, "batch": 8, "steps": 10, "seeds": 2}
FIGURE_2 = next(preset.config for preset in PRESETS if preset.name == "figure 2")


@pytest.mark.parametrize(
    ("normals", "first", "total"),
    [
        (
            authors_prompts.training_batch(5, 20, 1000),
            [-1.0289, -0.9407, -0.6536, -1.19],
            [367.6, -60.87, -128.07],
        ),
        (
            authors_prompts.training_batch(5, 20, 10),
            [0.477, -0.4163, 1.0959, 1.1271],
            [3.29, -3.13, -1.1],
        ),
        (
            authors_prompts.test_batch(5, 20, 1000),
            [0.79, 0.3368, 0.1525, -1.3337],
            [144.56, -72.37, -16.39],
        ),
        (
            authors_prompts.next_batch(5, 20, 1000, 4),
            [0.6325, -0.3114, -1.1095, -2.2926],
            [-148.61, 87.27, -21.59],
        ),
        (
            authors_prompts.classical_batch(5, 20, 0, 1000),
            [-0.2162, 1.1429, -1.6202, 1.0158],
            [-544.24, 49.64, 29.98],
        ),
        (
            authors_prompts.classical_batch(5, 20, 4, 1000),
            [-0.9146, -0.6094, -0.5789, 0.2686],
            [-81.44, -9.46, 59.45],
        ),
    ],
    ids=["training", "ten", "test", "next", "CGD's first", "CGD's last"],
)
def test_the_prompts_are_those_of_the_authors_generator(normals, first, total):
    start = [normals.U[0, 0, 0], normals.U[1, 0, 0], normals.target[0, 0], normals.query[0, 0]]
    assert [float(number) for number in start] == pytest.approx(first, abs=2e-4)
    sums = [float(part.double().sum()) for part in (normals.U, normals.target, normals.query)]
    assert sums == pytest.approx(total, abs=0.02)


def test_the_first_draw_of_weights_is_not_used():
    generator = torch.Generator().manual_seed(999)
    torch.randn(8, 3, generator=generator)
    examples = torch.randn(8, 5, 3, generator=generator)
    query = torch.randn(8, 1, 3, generator=generator)
    target = torch.randn(8, 3, generator=generator)
    normals = authors_prompts.training_batch(3, 5, 8)
    torch.testing.assert_close(normals.U, examples.permute(2, 1, 0))
    torch.testing.assert_close(normals.query, query[:, 0].T)
    torch.testing.assert_close(normals.target, target.T)


def test_every_seed_turns_the_same_prompts_with_the_rotation_of_the_authors():
    config = Config(**SMALL, batches="authors", variant="token", initial=1e-4)
    batch = Batches(config).at(0)
    normals = authors_prompts.training_batch(3, 5, 8)
    assert batch.U is not None and batch.query is not None
    for seed, covariance in enumerate(covariances(config)):
        U = authors_prompts.rotation(3, seed).float()
        torch.testing.assert_close(U @ U.T, torch.eye(3), atol=1e-6, rtol=0)
        torch.testing.assert_close(batch.U[seed], torch.einsum("ij,jnp->inp", U, normals.U))
        torch.testing.assert_close(batch.query[seed], U @ normals.query)
        D = torch.diag(covariance.eigenvalues).float()
        torch.testing.assert_close(roots(config)[seed], U @ D.sqrt() @ U.T, atol=1e-6, rtol=0)


def test_models_begin_where_the_authors_do():
    parameters = {}
    for preconditioner in ("full", "averaged", "scalar"):
        config = replace(FIGURE_2, preconditioner=preconditioner, seeds=2, layers=3)
        parameters[preconditioner] = variants.initial(config, torch.Generator())["A"]
    generator = torch.Generator().manual_seed(1)
    Q = 1e-4 * torch.randn(3, 1, 2, 5, 5, generator=generator)[:, 0, 1]
    torch.testing.assert_close(parameters["full"][1, 0], -Q)
    torch.testing.assert_close(parameters["averaged"][1, 0], -Q.diagonal(dim1=1, dim2=2))
    torch.testing.assert_close(parameters["scalar"][1, 0], -Q.diagonal(dim1=1, dim2=2).mean(1))


def test_an_averaged_diagonal_is_what_averaging_before_each_step_gives():
    """Against the authors' own way: entries are made equal in place, then Adam moves each."""
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(4, generator=generator)
    start = torch.randn(4, generator=generator)
    ours = start.clone().requires_grad_()
    theirs = start.clone().requires_grad_()
    losses = []
    for entries, in_place in ((ours, False), (theirs, True)):
        adam = torch.optim.Adam([entries], lr=0.1)
        for _ in range(20):
            if in_place:
                entries.data.fill_(entries.data.mean())
            diagonal = entries if in_place else variants.averaged(entries)
            loss = (weights * diagonal).sum().square() + diagonal[0].square()
            adam.zero_grad()
            loss.backward()
            adam.step()
        losses.append(float(loss.detach()))
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    assert float(ours.detach().mean()) == pytest.approx(float(theirs.detach().mean()), rel=1e-4)


def test_classical_methods_come_out_as_printed():
    lines = test_set.classical_of_authors(FIGURE_2)
    for row in printed_curves.ROWS:
        if row.tensor in lines and "figures-1" in row.claim.id:
            metric = row.metric(Run(FIGURE_2, lines))
            assert metric.value is not None and metric.value < 0.01, row.claim.id
    ten = test_set.classical_of_authors(replace(FIGURE_2, batch=10))["authors/cg_train"]
    assert np.log(ten) == pytest.approx([-0.85, -0.69, -0.82, -1.30], abs=0.02)


def test_conjugate_gradient_leaves_out_the_last_example():
    config = Config(**SMALL, batches="authors")
    normals = authors_prompts.training_batch(3, 5, 8)
    D = covariances(config)[0].eigenvalues.sqrt()[:, None]
    X = D[:, :, None] * normals.U[:, :4].double()
    target = normals.target.double() / D
    path = conjugate_gradient(gram(X), target, 2).iterates
    errors = ((path[1:] - target) * (normals.query.double() * D)).sum(1)
    expected = errors.square().mean(1).float().numpy()
    np.testing.assert_allclose(test_set.classical_of_authors(config)["authors/cg_train"], expected)


def test_a_layers_own_attention_is_whole_in_the_model_of_figures_12_to_14():
    Gamma = torch.randn(1, 3, 4, generator=torch.Generator().manual_seed(0))
    table = variants.coefficients({"Gamma": Gamma}, "token older")
    torch.testing.assert_close(table.diagonal(dim1=1, dim2=2), torch.ones(1, 4, 3))
    torch.testing.assert_close(table[:, 2, 1], Gamma[:, 1])
    assert not table[:, 1, 2].any()


def test_on_other_prompts_figures_12_to_14_are_judged_by_the_mean_over_two_to_four_layers():
    config = next(preset.config for preset in PRESETS if preset.name == "figures 12 to 14")
    config = replace(config, seeds=5)
    own = np.tile(np.exp([0.25, -0.65, -1.26, -1.95]), (5, 1))
    higher = np.exp([9.0, 0.3, 0.4, 0.5])
    run = Run(config, {"evaluated/train": own, "evaluated/authors": own * higher})
    printed, other = printed_curves.measure(run)
    assert printed.value == pytest.approx(0.0) and printed.verdict(config) == "reproduced"
    assert other.value == pytest.approx(0.4) and other.verdict(config) == "found here"


def test_four_protocols_are_trained_in_one_run():
    config = Config(**{**authors_settings.AS_TEXT, **SMALL})
    run = Run(config, train.compute(config, Recorder()))
    assert run.names("protocols") == [protocol.id for protocol in four_protocols.PROTOCOLS]
    for protocol in four_protocols.PROTOCOLS:
        assert four_protocols.gaps(run, protocol.id).shape == (2, 2)
    np.testing.assert_array_equal(run["protocol/text/memformer/loss"], run["evaluated/loss"])
    np.testing.assert_array_equal(run["protocol/text/linear/loss"], run["beside/linear/loss"])
    # one of them alone gives the same
    alone = replace(config, **four_protocols.CLIPPED.changes, beside="linear")
    tensors = train.compute(alone, Recorder())
    np.testing.assert_allclose(
        run["protocol/kept-clipped/linear/loss"], tensors["beside/linear/loss"], rtol=1e-4
    )
    assert train.count(config) == 8 and train.count(alone) == 2


def test_four_protocols_need_a_memory():
    with pytest.raises(BadSetting, match="to compare protocols, got linear transformer"):
        replace(FIGURE_2, variant="linear", beside="protocols")


def test_what_clipping_takes_away_is_the_lesser_of_both():
    config = Config(**authors_settings.AS_TEXT)
    ends = {"kept": -0.6, "kept-clipped": -0.1, "resampled": -0.7, "text": 0.05}
    tensors = {}
    for name, gap in ends.items():
        noise = np.linspace(-0.01, 0.01, 5)[:, None]
        tensors[f"protocol/{name}/memformer/loss"] = np.exp(np.full((5, 4), gap) + noise)
        tensors[f"protocol/{name}/linear/loss"] = np.ones((5, 4))
    gains, clipping = four_protocols.measure(Run(config, tensors))
    assert gains.value == pytest.approx(0.05, abs=1e-6)
    assert gains.verdict(config) == "not reproduced" and "the text) +0.05" in gains.reason
    assert clipping.value == pytest.approx(0.5) and clipping.verdict(config) == "found here"

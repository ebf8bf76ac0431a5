"""The authors' protocol: their batch, units, clipping, schedule, first phase, and the curves that
they print."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_core.contract.experiment import CannotDraw, Run
from icl_core.papers.memformers.methods import authors_settings, claims, train
from icl_core.papers.memformers.methods.claims import kept_batches, printed_curves
from icl_core.papers.memformers.methods.draw import depth
from icl_core.papers.memformers.methods.settings import PRESETS, Config, View
from icl_core.papers.memformers.shared import model, test_set, variants
from icl_core.papers.memformers.shared import train as shared_train
from icl_core.papers.memformers.shared.task import covariances, roots
from icl_core.papers.memformers.shared.train import SCHEDULES, Batches, clipped
from icl_core.papers.memformers.shared.variants import VARIANTS
from tests.recorder import Interrupted, Recorder

AUTHORS = Config(**{**authors_settings.AUTHORS, "seeds": 3})


def of_figure(name):
    preset = next(preset for preset in PRESETS if preset.name == name)
    return replace(preset.config, seeds=preset.seeds)


def test_one_set_of_prompts_is_turned_with_every_rotation():
    batch = Batches(replace(AUTHORS, batch=7, variant="token")).at(0)
    turns = [covariance.rotation.float() for covariance in covariances(AUTHORS)]
    assert batch.U is not None and batch.query is not None
    for name, tensor in (("U", batch.U), ("w*", batch.target), ("query", batch.query)):
        first, *others = (
            torch.einsum("ij,j...->i...", turn, of_seed)
            for turn, of_seed in zip(turns, tensor, strict=True)
        )
        for other in others:
            torch.testing.assert_close(other, first, msg=lambda text, name=name: f"{name}: {text}")
    apart = Batches(replace(AUTHORS, batch=7, batches="fixed")).at(0)
    assert not torch.allclose(turns[1] @ apart.target[1, :, 0], turns[0] @ apart.target[0, :, 0])


def test_with_multiples_of_I_the_five_runs_of_the_authors_are_one():
    config = replace(AUTHORS, variant="cgd", preconditioner="scalar", batch=50)
    parameters = {"alpha": torch.ones(3, 4), "gamma": torch.full((3, 4), 0.2)}
    parameters["A"] = torch.full((3, 1, 4), 0.3)
    batch = Batches(config).at(0)
    loss, _ = model.loss_and_gradient(parameters, config, roots(config), batch, "mean")
    torch.testing.assert_close(loss, loss[:1].expand(3), rtol=1e-5, atol=0)


def test_batches_of_1000_are_the_same_for_every_rotation_and_average_to_the_expected_loss(
    monkeypatch,
):
    monkeypatch.setattr(test_set, "PROMPTS", 2**13)
    config = replace(AUTHORS, variant="linear", layers=2, coordinates="whitened")
    parameters = {"A": torch.eye(5).expand(3, 1, 2, 5, 5) * 0.6}
    losses = test_set.batches(parameters, config, roots(config))
    assert losses.shape == (3, 8)
    torch.testing.assert_close(losses, losses[:1].expand(3, -1), rtol=1e-4, atol=0)
    prompts = test_set.held(config, 2**13)
    exact = test_set.losses(parameters, config, roots(config), prompts).double().mean(-1)
    error = losses[0].std() / 8**0.5
    assert abs(float(losses[0].mean() - exact[0])) < 4 * float(error)


def test_each_matrix_is_clipped_by_itself():
    generator = torch.Generator().manual_seed(0)
    gradient = {
        "A": torch.randn(2, 1, 3, 4, 4, generator=generator),
        "alpha": torch.randn(2, 3, generator=generator),
    }
    gradient["A"][0, 0, 1] *= 1e-3  # a short one stays as it is
    shorter = clipped(gradient, 0.5, matrices=True)
    lengths = shorter["A"].flatten(3).norm(dim=3)
    torch.testing.assert_close(shorter["A"][0, 0, 1], gradient["A"][0, 0, 1])
    torch.testing.assert_close(lengths[1], torch.full((1, 3), 0.5))
    expected = gradient["alpha"].norm(dim=1).clamp(max=0.5)
    torch.testing.assert_close(shorter["alpha"].norm(dim=1), expected)
    # multiples of I are no matrices
    multiples = clipped({"A": gradient["A"][..., 0, 0]}, 0.5, matrices=False)["A"]
    assert float(multiples.flatten(1).norm(dim=1).max()) <= 0.5 + 1e-6


def test_the_rate_is_halved_every_2000_steps():
    factor = SCHEDULES["halved"](30_000)
    factors = [factor(step) for step in (0, 1999, 2000, 5999, 29_999)]
    assert factors == [1.0, 1.0, 0.5, 0.25, 0.5**14]


def test_the_first_phase_trains_A_alone_and_the_model_begins_there(monkeypatch):
    training = authors_settings.AUTHORS_TRAINING | {"first_steps": 10}
    config = Config(
        d=3, n=4, layers=2, batch=20, steps=10, variant="gd++ entry", beside="none", **training
    )
    begun = {}
    watched = shared_train._watched

    def watch(config, parameters, root, prompts):
        if config.first_steps and config.layers not in begun:
            begun[config.layers] = {name: tensor.clone() for name, tensor in parameters.items()}
        return watched(config, parameters, root, prompts)

    monkeypatch.setattr(shared_train, "_watched", watch)
    train.compute(config, Recorder())
    fresh = variants.initial(config, torch.Generator().manual_seed(10_000 + 2))
    assert not torch.allclose(begun[2]["A"], fresh["A"], atol=1e-3)  # ten steps of 0.01 from there
    assert not torch.allclose(begun[2]["B"], fresh["B"], atol=1e-3)
    assert not begun[2]["Gamma"].any()


def test_a_killed_first_phase_goes_on():
    config = Config(
        d=3, n=4, layers=1, batch=20, steps=10, first_steps=20, variant="gd++", beside="none"
    )
    whole = train.compute(config, Recorder())
    killed = Recorder(stop=11)
    with pytest.raises(Interrupted):
        train.compute(config, killed)
    again = train.compute(config, Recorder(saved=killed.saved))
    assert all(again[name].tobytes() == whole[name].tobytes() for name in whole)


def planted(row, config, off=0.0):
    """A run whose curves are those printed but for two seeds' spread, and at two layers for what
    they are `off`."""
    logs = np.array(row.curve) + np.array([[-0.02], [0.02]])  # [seeds, K]
    logs[:, 1] += off
    other = {row.minus: np.ones_like(logs)} if row.minus else {}
    return Run(config, {row.tensor: np.exp(logs), **other})


PRESET_OF = {
    "figure-6": "figure 6, their ten",
    "figures-1": "figure 2",
    "figures-12": "figures 12 to 14",
}


@pytest.mark.parametrize("row", printed_curves.ROWS, ids=lambda row: row.claim.id)
def test_a_printed_curve_is_judged_at_the_worst_depth(row):
    figure = "-".join(row.claim.id.replace("figure-12", "figures-12").split("-")[:2])
    config = of_figure(PRESET_OF.get(figure, figure.replace("-", " ")))
    assert row.claim.is_at(config)
    for off, verdict in ((0.0, "reproduced"), (-0.04, "reproduced"), (0.06, "not reproduced")):
        run = planted(row, config, off)
        metric = row.metric(run)
        assert metric.value == pytest.approx(abs(off), abs=1e-6)
        assert metric.verdict(config) == verdict
        assert ("± 0.03" in metric.reason) == (verdict == "not reproduced")
        assert not off or "at 2 layers" in metric.reason
        assert row in printed_curves.rows_of(run)


def test_presets_of_figures_are_at_the_settings_of_their_claims():
    claims_of = {
        "figure 4": {"gd++-beats-cgd", "gd++-overfits"},
        "figure 5": {"fits-its-batch", "overfits-its-batch"},
        "figure 6": {"fits-its-batch", "overfits-its-batch"},
        "figure 7": {"heads-faster"},
        "figure 7, in the end": {"heads-lower"},
        "figure 15": {"keeps-up"},
        "figures 16 and 17": {"keeps-up-longer"},
    }
    for name, ids in claims_of.items():
        config = of_figure(name)
        assert ids <= {claim.id for claim in claims.ALL if claim.at and claim.is_at(config)}, name
    for name in ("figure 4", "figures 12 to 14"):
        assert set(printed_curves.own_batch(of_figure(name))) == {"evaluated/train"}
    tensors = {"evaluated/train", "baseline/cg_train"}
    assert set(printed_curves.own_batch(of_figure("figure 6"))) == tensors


def test_a_shared_gamma_a_token_begins_without_any_memory():
    config = replace(AUTHORS, variant="token shared", layers=3)
    parameters = variants.initial(config, torch.Generator().manual_seed(0))
    assert parameters["Gamma"].shape == (3, 3, 21) and not parameters["Gamma"].any()
    assert float(parameters["A"].std()) == pytest.approx(1e-4, rel=0.2)
    assert VARIANTS["token shared"].shared and VARIANTS["gd++ entry"].needs_examples


def on_batches(own, other, config, beside):
    """A run whose models have these losses [batches] at their two greatest depths."""
    evaluated = np.stack([own, own], 1)
    tensors = {"evaluated/train": evaluated, f"{beside}": np.stack([other, other], 1)}
    return Run(config, {**tensors, "depth/layers": np.array([3, 4])})


def test_the_spread_over_batches_counts_those_on_which_the_model_is_ahead():
    own = np.exp([-1.0, 0.5, -0.25])
    few = of_figure("figure 6")
    run = on_batches(own, np.ones(3), few, "baseline/cg_train")
    panel = depth.spread_panel(run, View())
    assert panel.title == "Lower on 2 of 3 batches; in the mean −0.25 ± 0.43"
    assert "conjugate gradient, on that batch" in panel.caption
    heads = of_figure("figure 7")
    run = on_batches(own, np.exp([-2.0, 1.0, 1.0]), heads, "beside/one-head/train")
    np.testing.assert_allclose(kept_batches.over_batches(run), [1.0, -0.5, -1.25])
    with pytest.raises(CannotDraw, match="two are needed"):
        depth.spread_panel(on_batches(own[:1], own[:1], few, "baseline/cg_train"), View())

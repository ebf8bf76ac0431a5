"""The stage of GD-SSM's layer with parts replaced: its state, weights and headline are those of the
replaced model."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from icl_core import registry
from icl_core.contract.experiment import STAGE
from icl_core.figures.frames import clock_frames
from icl_core.papers.gdssm.layer import grafted
from icl_core.papers.gdssm.layer.symmetries import product
from icl_core.papers.gdssm.shared import construction
from icl_core.papers.gdssm.shared.load_run import trained_at
from tests import cells

EXPERIMENT = registry.experiment("gdssm.layer")
DRAWINGS = {drawing.name: drawing for drawing in EXPERIMENT.drawings}
shipped = partial(cells.shipped, "gdssm.layer")


def test_without_decay_the_state_holds_the_last_pair_alone_and_the_headline_says_the_loss():
    run = shipped("layer")
    first_shares = []
    losses = []
    for view in (EXPERIMENT.view(), EXPERIMENT.view(one_a="zero")):
        state = DRAWINGS["state"].draw(run, view).figure.data[0]["z"]
        values = np.linalg.svd(state, compute_uv=False)
        first_shares.append(float(values[0] ** 2 / (values**2).sum()))
        losses.append(grafted.loss(run, view))
    # one product y xᵀ has one singular value
    assert first_shares[0] < 0.9 < 0.99 < first_shares[1]
    before, after = grafted.after(run, view)
    assert losses == pytest.approx([before, after])
    headline = EXPERIMENT.headline(run, view)
    assert f"with A replaced by zero: the loss is {after:.3f} (trained: {before:.3f})." in headline
    early = EXPERIMENT.headline(run, replace(view, snapshot=3))
    assert early.endswith("with A replaced by zero.")
    (part,) = EXPERIMENT.replaced.parts(run.config, view)
    assert (part.part, part.by, part.panel) == ("A", "zero", "weights")


@pytest.mark.parametrize(("preset", "field"), [("layer", "one_Q"), ("1-D", "scalar_Psi")])
def test_the_weights_on_stage_are_those_that_were_put_in(preset, field):
    run = shipped(preset)
    part = field.split("_", 1)[1]
    rows = {"Q": slice(0, 3), "Psi": slice(0, 10)}[part]
    for how in ("zero", "constructed"):
        view = EXPERIMENT.view(**{field: how})
        learned, constructed = (
            DRAWINGS["weights"].explanations(run, view)[index].matrix[rows] for index in (0, 1)
        )
        assert constructed.any()
        np.testing.assert_allclose(learned, 0 if how == "zero" else constructed, atol=1e-6)
        assert "replaced by" in DRAWINGS["weights"].draw(run, view).title


@pytest.mark.parametrize("preset", ["layer", "1-D", "two layers", "one feature"])
def test_the_clock_moves_every_replaced_model(preset):
    run = shipped(preset)
    for field in grafted.fields_of(run.config).values():
        if field.endswith("skip"):
            continue
        view = EXPERIMENT.view(**{field: "zero"})
        for drawing in EXPERIMENT.drawings:
            if drawing.place == STAGE and drawing.applies(run.config) and field in drawing.knobs:
                panels = [drawing.draw(run, replace(view, snapshot=index)) for index in (0, 23)]
                assert len(clock_frames([panel.figure.to_dict() for panel in panels])) == 2


@pytest.mark.parametrize("scale", [1.0, -3.0])
def test_a_layer_in_any_basis_has_the_construction_as_its_normal_form(scale):
    built = construction.layer_1d(4, 5, 1.3)
    G = torch.randn(4, 4, generator=torch.Generator().manual_seed(0)) + 2 * torch.eye(4)
    turned = built.with_(
        Psi=G @ built.Psi,
        Theta=scale * torch.linalg.inv(G).mT @ built.Theta,
        beta=built.beta / scale,
    )
    assert not torch.allclose(turned.Psi, built.Psi, atol=0.5)
    normal = grafted.in_units(turned, 5)
    for name, part in built.tensors().items():
        torch.testing.assert_close(normal.tensors()[name], part, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("preset", ["1-D", "1-D authors"])
def test_the_normal_form_of_a_trained_layer_keeps_its_product_and_is_the_construction(preset):
    run = shipped(preset)
    N = run.config.N
    trained = trained_at(run, -1, 0)
    normal = grafted.in_units(trained, N)
    torch.testing.assert_close(product(normal, N), product(trained, N), rtol=1e-4, atol=1e-6)
    table = DRAWINGS["basis"].draw(run, EXPERIMENT.view()).data
    assert table["part"].tolist() == ["Ψ"] * 200 + ["Θ"] * 200  # f rows of 2f numbers each
    assert table["difference"].abs().max() < 0.06
    assert table["constructed"].sum() == 20
    raw = (trained.tensors()["Psi"] - construction.layer_1d(10, N, 1.0).Psi).abs().max()
    assert raw > 0.5  # another basis than the construction's

"""What is told of the models beside the GD-SSM: where each form multiplies, and what is suggested
to type."""

from dataclasses import replace

import numpy as np
import pytest

from icl_core.contract.experiment import Run, names
from icl_core.papers.gdssm import learns
from icl_core.papers.gdssm.comparison.draw import products
from icl_core.papers.gdssm.comparison.settings import Config, View
from icl_core.papers.gdssm.shared.sequence_models import MODELS
from icl_core.papers.gdssm.shared.sequence_models.all_models import learners


def run(**changes) -> Run:
    ids = list(MODELS)
    held = {"names/models": names(ids), "names/baselines": names(ids[2:])}
    sizes = {f"size/{name}": np.ones(len(ids)) for name in ("layers", "parameters", "width")}
    levels = {f"baseline/{name}": np.array([2.0]) for name in ("zero", "one", "two")}
    return Run(
        Config(**changes),
        {**held, **sizes, **levels, "evaluated/loss": np.full((3, len(ids)), 3.0)},
    )


@pytest.mark.parametrize("form", ["authors", "plain"])
def test_no_model_is_told_to_have_what_its_form_has_not(form):
    shown = run(form=form)
    table = products.products_panel(shown, View()).table.set_index("model")
    assert "–" not in table.to_numpy() and (table["loss over one step"] == "1.50").all()
    for each in learners(shown.config):
        if each.model.baseline:
            text, held = " ".join(table.loc[each.model.label]), each.initial([0])
            assert ("convolution" in text) == any("convolution" in name for name in held), (
                each.model.id
            )
            assert "feed-forward" not in text or any(name.startswith("mlp.") for name in held), (
                each.model.id
            )


def test_where_the_token_gives_the_products_the_windows_are_not_spoken_of():
    table = products.products_panel(run(model="1-D"), View()).table.set_index("model")
    assert (table["y times x"] == products.GIVEN).all()
    assert table.loc["GD-SSM, 1 layer", "that times the query"] == "at the output: zᵀ Θ c"
    assert "C q" not in table.to_string() and "layer 2" not in table.to_string()


def test_widths_that_are_suggested_are_accepted():
    assert learns.EXPERIMENT.story is not None
    typed = [
        each.fields["widths"] for each in learns.EXPERIMENT.story.tries if "widths" in each.fields
    ]
    assert typed
    for widths in typed:
        for preset in learns.EXPERIMENT.presets:
            replace(preset.config, widths=widths)  # refuses what cannot be

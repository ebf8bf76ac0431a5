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
    tensors = {"names/models": names(ids), "names/baselines": names(ids[2:])}
    tensors |= {f"size/{name}": np.ones(len(ids)) for name in ("layers", "parameters", "width")}
    tensors |= {f"baseline/{name}": np.array([2.0]) for name in ("zero", "one", "two")}
    tensors["evaluated/loss"] = np.full((3, len(ids)), 3.0)
    return Run(Config(**changes), tensors)


@pytest.mark.parametrize("form", ["authors", "plain"])
def test_no_model_is_told_to_have_what_its_form_has_not(form):
    table = products.products_panel(run(form=form), View()).table.set_index("model")
    assert "–" not in table.to_numpy() and (table["loss over one step"] == "1.50").all()
    for learner in learners(Config(form=form)):
        if learner.model.baseline:
            text = " ".join(table.loc[learner.model.label])
            weights = learner.initial([0])
            has_convolution = any("convolution" in name for name in weights)
            assert ("convolution" in text) == has_convolution, learner.model.id
            has_mlp = any(name.startswith("mlp.") for name in weights)
            assert "feed-forward" not in text or has_mlp, learner.model.id


def test_where_the_token_gives_the_products_the_windows_are_not_spoken_of():
    table = products.products_panel(run(model="1-D"), View()).table.set_index("model")
    assert (table["y times x"] == products.GIVEN).all()
    assert table.loc["GD-SSM, 1 layer", "that times the query"] == "at the output: zᵀ Θ c"
    assert "C q" not in table.to_string() and "layer 2" not in table.to_string()


def test_widths_that_are_suggested_are_accepted():
    assert learns.EXPERIMENT.story is not None
    fields = [suggestion.fields for suggestion in learns.EXPERIMENT.story.tries]
    suggested = [knobs["widths"] for knobs in fields if "widths" in knobs]
    assert suggested
    for widths in suggested:
        for preset in learns.EXPERIMENT.presets:
            replace(preset.config, widths=widths)  # refuses what cannot be

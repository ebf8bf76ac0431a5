"""How a number is made: an entry of Σ^½ A Σ^½ from its products, a learned coefficient from Γ and
the layer's a."""

import math
from dataclasses import replace

import pytest
import torch

from icl_core import registry
from icl_core.contract.explanation import PRODUCT, SUM
from icl_core.papers.memformers.methods import decode
from icl_core.papers.memformers.methods.draw.tables import terms_of
from icl_core.papers.memformers.shared import variants
from tests.cells import check, explained, shipped, views

METHODS = "memformers.methods"
CONVERGENCE = "memformers.convergence"
RUNS = [
    (CONVERGENCE, "sigma", {"identities"}),
    (CONVERGENCE, "whitened", {"identities"}),
    (METHODS, "lfom", {"learned"}),
    (METHODS, "scalar", {"learned"}),
    (METHODS, "shared", {"learned"}),
    (METHODS, "figure 3", set()),  # a Γ per token is no table of numbers
]


@pytest.mark.parametrize(("experiment", "preset", "names"), RUNS)
def test_the_terms_make_the_number_that_the_map_shows(experiment, preset, names):
    run = shipped(experiment, preset)
    drawings = explained(experiment, run)
    assert {drawing.name for drawing in drawings} == names
    for drawing in drawings:
        for view in views(experiment, run):
            check(drawing, run, view)


@pytest.mark.parametrize(
    ("variant", "joined"), [("lfom", PRODUCT), ("linear", PRODUCT), ("coordinate", SUM)]
)
def test_a_coefficient_is_that_of_the_decoded_table(variant, joined):
    config = replace(registry.experiment(METHODS).presets[0].config, variant=variant)
    generator = torch.Generator().manual_seed(3)
    initial = variants.initial(config, generator)
    parameters = {name: tensor.cpu() for name, tensor in initial.items()}
    if "Gamma" in parameters:
        parameters["Gamma"] = torch.randn(parameters["Gamma"].shape, generator=generator)
    root = torch.eye(config.d)[None] + 0.1
    table, _ = decode.learned(parameters, config, root)
    for row, column in ((1, 0), (2, 2)):
        terms, how = terms_of(parameters, config, root, row, column)
        values = [term.value for term in terms]
        total = math.prod(values) if how == PRODUCT else sum(values)
        assert how == joined and total == pytest.approx(table[row, column], rel=1e-5, abs=1e-7)

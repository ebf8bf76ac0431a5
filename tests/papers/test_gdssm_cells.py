"""How a number is made: the state from what each example has added, a weight from the
construction's."""

import numpy as np
import pytest

from icl_core.papers.gdssm.layer.accumulated_state import contributed, held
from tests.cells import check, explained, shipped, views
from tests.parameters import first_is_short

LAYER = "gdssm.layer"


PRESETS = "layer, 1-D, three layers, full, one feature, two layers, 1-D two layers, penalised"


@pytest.mark.parametrize("preset", first_is_short(PRESETS.split(", "), 3))
def test_the_terms_make_the_number_that_the_map_shows(preset):
    run = shipped(LAYER, preset)
    names = {"weights"} if run.config.f == 1 else {"state", "exact", "weights"}
    drawings = explained(LAYER, run)
    assert {drawing.name for drawing in drawings} == names
    for drawing in drawings:
        for view in views(LAYER, run, token=4):
            check(drawing, run, view)


@pytest.mark.parametrize("which", ["first", "last", "curvature"])
def test_what_the_examples_add_is_the_state_and_the_sum(which):
    run = shipped(LAYER, "two layers")
    view = views(LAYER, run, state=which, token=7)[-1]
    ours, exact = contributed(run, view, 7)
    state = held(run, view)
    np.testing.assert_allclose(state.factor * ours.sum(0), state.state[6], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(exact.sum(0), state.exact[6], rtol=1e-4, atol=1e-5)

"""How a number is made: the terms are those of the model, and make what the maps show."""

import numpy as np
import pytest
import torch

from icl_core import registry
from icl_core.papers.birth.induction.draw.sequence import reading as what_is_read
from icl_core.papers.birth.shared import explanations
from icl_core.papers.birth.shared.full import model as full
from icl_core.papers.birth.shared.model import attend, initialise
from icl_core.papers.birth.shared.task import count_text, make_task
from icl_core.papers.birth.transformer.draw.heads import streams
from tests.cells import check, explained, shipped, views


@pytest.mark.parametrize(
    ("experiment", "preset"),
    [
        ("birth.induction", "fastest"),
        ("birth.induction", "one layer"),
        ("birth.induction", "both"),
        ("birth.induction", "order, paper size"),  # maps of blocks
        ("birth.constructed", "by hand"),
        ("birth.constructed", "by hand, paper size"),
    ],
)
def test_the_terms_make_the_number_that_the_map_shows(experiment, preset):
    run = shipped(experiment, preset)
    drawings = explained(experiment, run)
    assert {drawing.name for drawing in drawings} >= {"second", "w_k2", "w_o2"}
    for drawing in drawings:
        for view in views(experiment, run):
            check(drawing, run, view)


def test_a_constructed_reading_is_what_all_stored_pairs_answer():
    run = shipped("birth.constructed", "by hand")
    experiment = registry.experiment("birth.constructed")
    noisy, clean = (
        maps("w_k2", run, experiment.view(cross_talk=talk), "birth.constructed")[0]
        for talk in ("kept", "within")
    )
    own = noisy.explain(7, 7)
    other = noisy.explain(7, 8)
    assert own.terms[0].says == "its own"
    assert own.terms[0].value == pytest.approx(15 * run.config.d**0.5, rel=0.3)
    assert {term.says for term in other.terms} == {"cross-talk", ""} and other.joined == "sum"
    assert clean.explain(7, 7).joined == "product"  # no sum of pairs any more


def maps(name, run, view, experiment="birth.induction"):
    """The maps of a drawing of the induction head."""
    drawings = {drawing.name: drawing for drawing in explained(experiment, run)}
    return check(drawings[name], run, view)


def test_the_score_of_a_query_and_a_key_is_the_models():
    run = shipped("birth.induction", "fastest")
    view = registry.experiment("birth.induction").view()
    reading, weights, sequence = what_is_read(run, view)
    explanation = maps("second", run, view)[0].explain(4, 1)
    x = weights.W_E[sequence.inputs] + weights.P[: len(sequence.inputs)]
    h = x + attend(x[None], weights.W_K1)[0][0] @ weights.R1.T
    score = float(h[4] @ weights.W_K2 @ h[1]) / weights.d**0.5
    assert explanation.total == pytest.approx(score, rel=1e-5) and len(explanation.terms) == 9
    assert explanation.share == pytest.approx(float(reading.attention2[4, 1]), rel=1e-4)
    # what the query is meets what layer 1 has written
    assert explanation.terms[0].name == "w_E(h)ᵀ W_K² o(2) / √d"


def test_a_readings_share_is_that_among_the_keys_of_its_row():
    run = shipped("birth.induction", "fastest")
    view = registry.experiment("birth.induction").view()
    memory = maps("w_k2", run, view)[0]
    positions = maps("w_k1", run, view)[0]
    shares = np.exp(memory.matrix[3] / run.config.d**0.5)
    assert memory.explain(3, 5).share == pytest.approx(float(shares[5] / shares.sum()), rel=1e-4)
    assert positions.explain(4, 9).share is None  # a key behind the query
    assert positions.explain(4, 3).share is not None


@pytest.mark.parametrize("preset", ["fastest", "one layer"])
def test_a_forward_pass_in_numbers_is_what_the_maps_show(preset):
    run = shipped("birth.induction", preset)
    experiment = registry.experiment("birth.induction")
    draws = {drawing.name: drawing.draw for drawing in experiment.drawings}
    for position in (2, 7, 99):
        view = experiment.view(sequence="abcXabcXab", position=position)
        forward = draws["forward"](run, view)
        maps = draws["attention"](run, view)
        assert forward.table is not None and maps.figure is not None and maps.data is not None
        at = min(position, 10) - 1
        rows = forward.table.to_numpy().tolist()
        heatmaps = [trace for trace in maps.figure.data if trace["type"] == "heatmap"]
        for layer, heatmap in enumerate(heatmaps, 1):
            weights = np.nan_to_num(heatmap["z"][at])
            largest = [row[1:] for row in rows if row[0] == f"layer {layer} looks at"]
            expected = sorted(weights)[::-1][: min(3, at + 1)]
            assert [share for _, share in largest] == pytest.approx(expected, abs=6e-5)
            assert largest[0][0] == heatmap["x"][int(weights.argmax())]
        says = [row[1:] for row in rows if row[0] == "the model says"]
        record = maps.data.to_dict("records")[at]
        assert len(says) == 3 and says[0][0] == f"'{record['predicted']}'"
        assert says[0][1:] == [pytest.approx(record["probability"], abs=1e-4)]


@pytest.mark.parametrize(
    ("experiment", "preset"),
    [
        ("birth.transformer", "heads"),
        ("birth.transformer", "one head"),
        ("birth.transformer", "one layer"),
        ("birth.counting", "classroom"),
        ("birth.counting", "one layer"),
    ],
)
def test_what_heads_look_at_is_made_of_what_they_read(experiment, preset):
    run = shipped(experiment, preset)
    drawings = [drawing for drawing in explained(experiment, run) if drawing.name != "next"]  # bars
    assert {drawing.name for drawing in drawings} & {"maps", "second"}
    for drawing in drawings:
        for view in views(experiment, run):
            check(drawing, run, view)


def test_under_layer_norm_a_stream_is_the_sum_of_its_parts():
    weights = full.initialise(16, 8, 12, 3, torch.Generator().manual_seed(0), layer_norm=True)
    weights = {
        name: tensor.double() + 0.1 * name.startswith(("gain", "bias"))
        for name, tensor in weights.items()
    }
    tokens = torch.arange(12)
    parts_by_layer = streams(weights, tokens, 2)
    for layer, parts in enumerate(parts_by_layer, 1):
        # a model cut off before this layer, which says what it has in its stream
        before = {
            name: tensor
            for name, tensor in weights.items()
            if name[-1] in ("E", "P", *"12"[: layer - 1])
        }
        x = full.forward({**before, "W_U": torch.eye(8).double()}, tokens[None], 2).logits[0]
        expected = full.read(weights, x, f"attention{layer}")
        torch.testing.assert_close(torch.stack(list(parts.values())).sum(0), expected)
    assert set(parts_by_layer[2]) == {"w_E", "p", "1.1", "1.2", "F1", "2.1", "2.2", "F2", "bias"}


@pytest.mark.parametrize("preset", ["classroom", "one layer", "more states"])
def test_predictions_are_made_of_counts_and_of_logits(preset):
    run = shipped("birth.counting", preset)
    drawings = registry.experiment("birth.counting").drawings
    drawing = next(drawing for drawing in drawings if drawing.name == "next")
    assert drawing.explanations is not None
    for view in views("birth.counting", run, position=9):
        (bars,) = drawing.explanations(run, view)
        figure = drawing.draw(run, view).figure
        assert figure is not None
        np.testing.assert_allclose(bars.matrix, [bar["y"] for bar in figure.data], rtol=1e-5)
        for row, column in np.ndindex(*bars.matrix.shape):
            cell = bars.explain(row, column)
            assert cell.value == pytest.approx(float(bars.matrix[row, column]), abs=1e-6)
            assert cell.share == cell.value if row == 0 else cell.total == pytest.approx(cell.value)
    assert bars.explain(3, 0).says.startswith("A is ")


@pytest.mark.parametrize("name", ["W_K1", "W_K2", "W_O2"])
def test_blocks_at_the_edge_are_means_over_the_pairs_that_are_there(name):
    """71 characters and 161 positions fill their last blocks only in part."""
    text = "".join(chr(ord("一") + index) for index in range(71))
    task = make_task(N=71, T=161, counts=count_text(text))
    weights = initialise(71, 32, 161, torch.Generator().manual_seed(0), "paper", False)
    memory = explanations.memory(name, weights, task)[0]
    for row in (0, -1):
        for column in (0, -1):
            at = (row % len(memory.rows), column % len(memory.columns))
            assert memory.explain(*at).value == pytest.approx(float(memory.matrix[at]), rel=1e-5)

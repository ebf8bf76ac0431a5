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
    assert {each.name for each in drawings} >= {"second", "w_k2", "w_o2"}
    for drawing in drawings:
        for view in views(experiment, run):
            check(drawing, run, view)


def test_a_constructed_reading_is_what_all_stored_pairs_answer():
    run, experiment = (
        shipped("birth.constructed", "by hand"),
        registry.experiment("birth.constructed"),
    )
    w_k2 = next(each for each in explained("birth.constructed", run) if each.name == "w_k2")
    kept, clean = (
        check(w_k2, run, experiment.view(cross_talk=talk))[0] for talk in ("kept", "within")
    )
    own, other = kept.explain(7, 7), kept.explain(7, 8)
    assert own.terms[0].says == "its own" and own.terms[0].value == pytest.approx(
        15 * run.config.d**0.5, rel=0.3
    )
    assert {term.says for term in other.terms} == {"cross-talk", ""} and other.joined == "sum"
    assert clean.explain(7, 7).joined == "product"  # no sum of pairs any more


def maps(name, run, view):
    """The maps of a drawing of the induction head."""
    drawing = next(each for each in explained("birth.induction", run) if each.name == name)
    return check(drawing, run, view)


def test_the_score_of_a_query_and_a_key_is_the_models():
    run = shipped("birth.induction", "fastest")
    view = registry.experiment("birth.induction").view()
    reading, weights, sequence = what_is_read(run, view)
    found = maps("second", run, view)[0].explain(4, 1)
    x = weights.W_E[sequence.inputs] + weights.P[: len(sequence.inputs)]
    h = x + attend(x[None], weights.W_K1)[0][0] @ weights.R1.T
    score = float(h[4] @ weights.W_K2 @ h[1]) / weights.d**0.5
    assert found.total == pytest.approx(score, rel=1e-5) and len(found.terms) == 9
    assert found.share == pytest.approx(float(reading.attention2[4, 1]), rel=1e-4)
    assert (
        found.terms[0].name == "w_E(h)ᵀ W_K² o(2) / √d"
    )  # what the query is meets what layer 1 has written


def test_a_readings_share_is_that_among_the_keys_of_its_row():
    run = shipped("birth.induction", "fastest")
    view = registry.experiment("birth.induction").view()
    memory, positions = maps("w_k2", run, view)[0], maps("w_k1", run, view)[0]
    shares = np.exp(memory.matrix[3] / run.config.d**0.5)
    assert memory.explain(3, 5).share == pytest.approx(float(shares[5] / shares.sum()), rel=1e-4)
    assert positions.explain(4, 9).share is None  # a key behind the query
    assert positions.explain(4, 3).share is not None


@pytest.mark.parametrize("preset", ["fastest", "one layer"])
def test_a_forward_pass_in_numbers_is_what_the_maps_show(preset):
    run, experiment = shipped("birth.induction", preset), registry.experiment("birth.induction")
    draws = {each.name: each.draw for each in experiment.drawings}
    for position in (2, 7, 99):
        view = experiment.view(sequence="abcXabcXab", position=position)
        forward, maps = draws["forward"](run, view), draws["attention"](run, view)
        assert forward.table is not None and maps.figure is not None and maps.data is not None
        at, rows = min(position, 10) - 1, forward.table.to_numpy().tolist()
        for layer, trace in enumerate(
            [each for each in maps.figure.data if each["type"] == "heatmap"], 1
        ):
            weights = np.nan_to_num(trace["z"][at])
            shown = [row[1:] for row in rows if row[0] == f"layer {layer} looks at"]
            assert [share for _, share in shown] == pytest.approx(
                sorted(weights)[::-1][: min(3, at + 1)], abs=6e-5
            )
            assert shown[0][0] == trace["x"][int(weights.argmax())]
        says = [row[1:] for row in rows if row[0] == "the model says"]
        told = maps.data.to_dict("records")[at]
        assert len(says) == 3 and says[0] == [
            f"'{told['predicted']}'",
            pytest.approx(told["probability"], abs=1e-4),
        ]


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
    drawings = [each for each in explained(experiment, run) if each.name != "next"]  # bars
    assert {each.name for each in drawings} & {"maps", "second"}
    for drawing in drawings:
        for view in views(experiment, run):
            check(drawing, run, view)


def test_under_layer_norm_a_stream_is_the_sum_of_its_parts():
    weights = full.initialise(16, 8, 12, 3, torch.Generator().manual_seed(0), layer_norm=True)
    weights = {
        name: each.double() + 0.1 * name.startswith(("gain", "bias"))
        for name, each in weights.items()
    }
    tokens = torch.arange(12)
    read = streams(weights, tokens, 2)
    for layer, parts in enumerate(
        read, 1
    ):  # a model cut off before this layer, which says what it has in its stream
        before = {
            name: each
            for name, each in weights.items()
            if name[-1] in ("E", "P", *"12"[: layer - 1])
        }
        x = full.forward({**before, "W_U": torch.eye(8).double()}, tokens[None], 2).logits[0]
        torch.testing.assert_close(
            torch.stack(list(parts.values())).sum(0), full.read(weights, x, f"attention{layer}")
        )
    assert set(read[2]) == {"w_E", "p", "1.1", "1.2", "F1", "2.1", "2.2", "F2", "bias"}


@pytest.mark.parametrize("preset", ["classroom", "one layer", "more states"])
def test_predictions_are_made_of_counts_and_of_logits(preset):
    run, experiment = shipped("birth.counting", preset), registry.experiment("birth.counting")
    drawing = next(each for each in experiment.drawings if each.name == "next")
    assert drawing.explanations is not None
    for view in views("birth.counting", run, position=9):
        (found,), figure = drawing.explanations(run, view), drawing.draw(run, view).figure
        assert figure is not None
        np.testing.assert_allclose(found.matrix, [bar["y"] for bar in figure.data], rtol=1e-5)
        for row, column in np.ndindex(*found.matrix.shape):
            made = found.explain(row, column)
            assert made.value == pytest.approx(float(found.matrix[row, column]), abs=1e-6)
            assert made.share == made.value if row == 0 else made.total == pytest.approx(made.value)
    assert found.explain(3, 0).says.startswith("A is ")


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

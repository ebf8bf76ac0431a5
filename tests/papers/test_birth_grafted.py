"""The stage of the induction head with something else in place of its matrices: every panel is that
of the replaced weights."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_core import registry
from icl_core.contract import visitor
from icl_core.contract.experiment import STAGE
from icl_core.contract.visitor import ReplacedPart
from icl_core.figures.frames import clock_frames
from icl_core.papers.birth.induction import grafted
from icl_core.papers.birth.induction.beside_construction import compare
from icl_core.papers.birth.induction.load_run import weights_at
from icl_core.papers.birth.shared.model import forward
from icl_core.papers.birth.shared.probes import memory_scores
from icl_core.papers.birth.shared.sequence import on_stage, typed
from icl_core.papers.birth.shared.train import task_of
from tests.cells import shipped

EXPERIMENT = registry.experiment("birth.induction")
DRAWINGS = {drawing.name: drawing for drawing in EXPERIMENT.drawings}
VIEW = EXPERIMENT.view
GRAFTS = ("graft_W_K1", "graft_W_K2", "graft_W_O2")
TITLE = 38  # letters that stand on one line


@pytest.fixture(scope="module")
def run():
    return shipped("birth.induction", "fastest")


def replaced_by_hand(run, name, part, snapshot):
    """The weights with one matrix replaced, without the module that is tested."""
    trained = weights_at(run, snapshot)
    compared = compare(name, trained, run.config)
    matrix = {
        "zero": torch.zeros_like(trained[name]),
        "initial": torch.tensor(run.snapshot(name, 0)),
        "constructed": compared.aligned.factor * compared.matrix,
    }[part]
    return trained.with_(**{name: matrix})


@pytest.mark.parametrize("snapshot", [9, 23])
@pytest.mark.parametrize("part", ["zero", "initial", "constructed"])
@pytest.mark.parametrize("name", ["W_K1", "W_K2", "W_O2"])
def test_maps_and_predictions_are_those_of_the_replaced_weights(run, name, part, snapshot):
    view = VIEW(snapshot=snapshot, **{f"graft_{name}": part})
    weights = replaced_by_hand(run, name, part, snapshot)
    sequence = typed(task_of(run.config), *on_stage(task_of(run.config)))
    with torch.no_grad():
        logits, first, second = forward(weights, sequence.inputs[None], 2)
    first_traces, second_traces, output_traces = (
        DRAWINGS[drawing].draw(run, view).figure.data for drawing in ("first", "second", "w_o2")
    )
    past = np.tril_indices(len(sequence.inputs))
    for traces, attention in ((first_traces, first), (second_traces, second)):
        expected = attention[0].numpy()[past]
        np.testing.assert_allclose(traces[0]["z"][past], expected, atol=1e-5)
    texts = next(trace for trace in second_traces if trace["type"] == "scatter")
    best = [sequence.task.characters[token] for token in logits[0].argmax(1).tolist()]
    letters = [text.split()[0] if text.strip() else " " for text in texts["text"]]
    assert letters == [{" ": "␣", "\n": "↵"}.get(letter, letter) for letter in best]
    scores = memory_scores("W_O2", weights, sequence.task).matrix.numpy()
    np.testing.assert_allclose(output_traces[0]["z"], scores, atol=1e-4)


def test_without_its_output_matrix_the_model_predicts_something_else_and_looks_as_before(run):
    before, after = (
        {name: DRAWINGS[name].draw(run, view) for name in ("first", "second", "accuracy", "w_o2")}
        for view in (VIEW(), VIEW(graft_W_O2="zero"))
    )
    for name in ("first", "second"):
        attention = before[name].figure.data[0]["z"]
        np.testing.assert_array_equal(attention, after[name].figure.data[0]["z"])
    assert before["second"].title == "Layer 2 finds what followed: 4 of 4"
    assert after["second"].title == "Layer 2, W_O² replaced: 0 of 4 right"
    assert after["w_o2"].title.startswith("W_O² replaced by zero: ")
    assert after["accuracy"].title.startswith("As trained, ")
    assert not after["w_o2"].figure.data[0]["z"].any()
    scale = [panels["w_o2"].figure.layout["coloraxis"]["cmax"] for panels in (before, after)]
    assert scale[0] == scale[1] > 0


def test_the_headline_says_what_is_replaced_and_what_is_left(run):
    view = VIEW(graft_W_O2="zero")
    remaining = grafted.achieved(run, view)["accuracy"]
    trained = grafted.achieved(run, VIEW())["accuracy"]
    assert remaining < 0.1 < 0.9 < trained
    headline = EXPERIMENT.headline(run, view)
    assert f"with W_O² replaced by zero, {remaining:.0%} are right in context" in headline
    assert headline.endswith(f"(trained: {trained:.0%}).")
    early = EXPERIMENT.headline(run, replace(view, snapshot=5))
    assert early.endswith("with W_O² replaced by zero, 0 of 4 are right in the sequence below.")
    other = EXPERIMENT.headline(run, replace(view, snapshot=5, sequence="ß"))
    assert other.endswith("with W_O² replaced by zero.")
    view = VIEW(**dict.fromkeys(GRAFTS, "initial"))
    assert "3 matrices replaced" in EXPERIMENT.headline(run, view)


@pytest.mark.parametrize("part", ["zero", "constructed"])
def test_the_clock_moves_the_replaced_model(run, part):
    fields = dict.fromkeys(GRAFTS, part)
    for drawing in EXPERIMENT.drawings:
        if drawing.place == STAGE and drawing.applies(run.config):
            panels = [drawing.draw(run, VIEW(snapshot=index, **fields)) for index in (0, 9, 23)]
            assert len(clock_frames([panel.figure.to_dict() for panel in panels])) == 3
            assert all(len(panel.title) <= TITLE for panel in panels), panels[0].title


def test_what_is_replaced_is_said_with_its_panel_and_only_of_what_the_model_has(run):
    view = VIEW(graft_W_K1="zero", graft_W_O2="zero", graft_W_F="zero")
    parts = EXPERIMENT.replaced.parts(run.config, view)
    assert parts == [ReplacedPart("W_K¹", "zero", "w_k1"), ReplacedPart("W_O²", "zero", "w_o2")]
    assert visitor.in_words(parts) == "W_K¹ and W_O² replaced by zero"
    one_layer = replace(run.config, layers=1, feed_forward=True)
    assert [part.part for part in EXPERIMENT.replaced.parts(one_layer, view)] == ["W_O²", "W_F"]
    assert not EXPERIMENT.replaced.parts(run.config, VIEW(strength=3.0))


def test_numbers_behind_a_cell_are_those_of_the_replaced_weights(run):
    view = VIEW(graft_W_O2="zero", graft_W_K1="constructed")
    for name in ("first", "w_k1", "w_o2"):
        (explained,) = DRAWINGS[name].explanations(run, view)
        expected = DRAWINGS[name].draw(run, view).figure.data[0]["z"]
        np.testing.assert_allclose(explained.matrix, expected, atol=1e-4)


def test_the_text_above_the_stage_is_what_the_maps_show():
    for id in ("birth.induction", "birth.constructed", "birth.steps", "birth.counting"):
        experiment = registry.experiment(id)
        run = shipped(id, experiment.presets[0].name)
        text = experiment.typed.example(run, experiment.view())
        second = next(drawing for drawing in experiment.drawings if drawing.name == "second")
        rows = second.draw(run, experiment.view()).figure.layout["yaxis"]["categoryarray"]
        assert [row.split("'")[1] for row in rows] == list(text), id
        view = experiment.view(**{experiment.typed.field: text})
        assert second.draw(run, view).figure.layout["yaxis"]["categoryarray"] == rows

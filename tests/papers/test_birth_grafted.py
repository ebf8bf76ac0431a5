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
from icl_core.runs import store

EXPERIMENT = registry.experiment("birth.induction")
DRAWINGS = {drawing.name: drawing for drawing in EXPERIMENT.drawings}
TITLE = 38  # letters that stand on one line


@pytest.fixture(scope="module")
def run():
    header = store.default().preset("birth.induction", "fastest")
    assert header is not None
    return store.default().load(header)


def view(**fields):
    return EXPERIMENT.view(**fields)


def replaced_by_hand(run, name, part, snapshot):
    """The weights with one matrix replaced, without the module that is tested."""
    trained = weights_at(run, snapshot)
    matrix = {
        "zero": lambda: torch.zeros_like(trained[name]),
        "initial": lambda: torch.tensor(run.snapshot(name, 0)),
        "constructed": lambda: (lambda found: found.aligned.factor * found.matrix)(
            compare(name, trained, run.config)
        ),
    }[part]()
    return trained.with_(**{name: matrix})


@pytest.mark.parametrize("snapshot", [9, 23])
@pytest.mark.parametrize("part", ["zero", "initial", "constructed"])
@pytest.mark.parametrize("name", ["W_K1", "W_K2", "W_O2"])
def test_maps_and_predictions_are_those_of_the_replaced_weights(run, name, part, snapshot):
    asked = view(snapshot=snapshot, **{f"graft_{name}": part})
    weights = replaced_by_hand(run, name, part, snapshot)
    sequence = typed(task_of(run.config), *on_stage(task_of(run.config)))
    with torch.no_grad():
        logits, first, second = forward(weights, sequence.inputs[None], 2)
    drawn = {each: DRAWINGS[each].draw(run, asked) for each in ("first", "second", "w_o2")}
    past = np.tril_indices(len(sequence.inputs))
    for panel, attention in (("first", first), ("second", second)):
        np.testing.assert_allclose(
            drawn[panel].figure.data[0]["z"][past], attention[0].numpy()[past], atol=1e-5
        )
    texts = next(trace for trace in drawn["second"].figure.data if trace["type"] == "scatter")
    best = [sequence.task.characters[token] for token in logits[0].argmax(1).tolist()]
    said = [text.split()[0] if text.strip() else " " for text in texts["text"]]
    assert said == ["␣" if each == " " else "↵" if each == "\n" else each for each in best]
    scores = memory_scores("W_O2", weights, sequence.task).matrix.numpy()
    np.testing.assert_allclose(drawn["w_o2"].figure.data[0]["z"], scores, atol=1e-4)


def test_without_its_output_matrix_the_model_predicts_something_else_and_looks_as_before(run):
    before, after = (
        {name: DRAWINGS[name].draw(run, each) for name in ("first", "second", "accuracy", "w_o2")}
        for each in (view(), view(graft_W_O2="zero"))
    )
    for name in ("first", "second"):
        np.testing.assert_array_equal(
            before[name].figure.data[0]["z"], after[name].figure.data[0]["z"]
        )
    assert before["second"].title == "Layer 2 finds what followed: 4 of 4"
    assert after["second"].title == "Layer 2, W_O² replaced: 0 of 4 right"
    assert after["w_o2"].title.startswith("W_O² replaced by zero: ")
    assert after["accuracy"].title.startswith("As trained, ")
    assert not after["w_o2"].figure.data[0]["z"].any()
    scale = [panels["w_o2"].figure.layout["coloraxis"]["cmax"] for panels in (before, after)]
    assert scale[0] == scale[1] > 0


def test_the_headline_says_what_is_replaced_and_what_is_left(run):
    asked = view(graft_W_O2="zero")
    left = grafted.achieved(run, asked)["accuracy"]
    trained = grafted.achieved(run, view())["accuracy"]
    assert left < 0.1 < 0.9 < trained
    said = EXPERIMENT.headline(run, asked)
    assert f"with W_O² replaced by zero, {left:.0%} are right in context" in said
    assert said.endswith(f"(trained: {trained:.0%}).")
    early = EXPERIMENT.headline(run, replace(asked, snapshot=5))
    assert early.endswith("with W_O² replaced by zero, 0 of 4 are right in the sequence below.")
    refused = EXPERIMENT.headline(run, replace(asked, snapshot=5, sequence="ß"))
    assert refused.endswith("with W_O² replaced by zero.")
    three = dict.fromkeys(("graft_W_K1", "graft_W_K2", "graft_W_O2"), "initial")
    assert "3 matrices replaced" in EXPERIMENT.headline(run, view(**three))


@pytest.mark.parametrize("part", ["zero", "constructed"])
def test_the_clock_moves_the_replaced_model(run, part):
    fields = dict.fromkeys(("graft_W_K1", "graft_W_K2", "graft_W_O2"), part)
    for drawing in EXPERIMENT.drawings:
        if drawing.place == STAGE and drawing.applies(run.config):
            panels = [drawing.draw(run, view(snapshot=index, **fields)) for index in (0, 9, 23)]
            assert len(clock_frames([panel.figure.to_dict() for panel in panels])) == 3
            assert all(len(panel.title) <= TITLE for panel in panels), panels[0].title


def test_what_is_replaced_is_said_with_its_panel_and_only_of_what_the_model_has(run):
    asked = view(graft_W_K1="zero", graft_W_O2="zero", graft_W_F="zero")
    parts = EXPERIMENT.replaced.parts(run.config, asked)
    assert parts == [ReplacedPart("W_K¹", "zero", "w_k1"), ReplacedPart("W_O²", "zero", "w_o2")]
    assert visitor.in_words(parts) == "W_K¹ and W_O² replaced by zero"
    one_layer = replace(run.config, layers=1, feed_forward=True)
    assert [each.part for each in EXPERIMENT.replaced.parts(one_layer, asked)] == ["W_O²", "W_F"]
    assert not EXPERIMENT.replaced.parts(run.config, view(strength=3.0))


def test_numbers_behind_a_cell_are_those_of_the_replaced_weights(run):
    asked = view(graft_W_O2="zero", graft_W_K1="constructed")
    for name in ("first", "w_k1", "w_o2"):
        (held,) = DRAWINGS[name].explanations(run, asked)
        np.testing.assert_allclose(
            held.matrix, DRAWINGS[name].draw(run, asked).figure.data[0]["z"], atol=1e-4
        )


def test_the_text_above_the_stage_is_what_the_maps_show(run):
    for id in ("induction", "constructed", "steps", "counting"):
        experiment = registry.experiment(f"birth.{id}")
        header = store.default().preset(experiment_id := f"birth.{id}", experiment.presets[0].name)
        assert header is not None, experiment_id
        shown = store.default().load(header)
        text = experiment.typed.example(shown, experiment.view())
        second = next(each for each in experiment.drawings if each.name == "second")
        rows = second.draw(shown, experiment.view()).figure.layout["yaxis"]["categoryarray"]
        assert [row.split("'")[1] for row in rows] == list(text), id
        typed_too = replace(experiment.view(), **{experiment.typed.field: text})
        again = second.draw(shown, typed_too).figure.layout["yaxis"]["categoryarray"]
        assert again == rows

"""What Birth's predictions come to in the shipped runs, and that they are read from the run, not
written down."""

from dataclasses import replace

import numpy as np
import pytest

from icl_core import registry
from icl_core.contract import story
from icl_core.contract.experiment import Run
from icl_core.contract.story import Beat, Question
from tests.cells import shipped


def question_of(beat: Beat) -> Question:
    assert beat.ask is not None
    return beat.ask


def first_preset(name: str):
    """The first preset's run, its view, and the beats by name."""
    experiment = registry.experiment(f"birth.{name}")
    assert experiment.story is not None
    preset = experiment.presets[0]
    beats = {beat.name: beat for beat in experiment.story.beats}
    return shipped(f"birth.{name}", preset.name), experiment.view(**preset.view), beats


@pytest.mark.parametrize(
    ("experiment", "beat", "begins"),
    [
        ("induction", "output", "W_O²"),
        ("induction", "zero", "About half"),
        ("constructed", "pairs", "It falls"),
        ("constructed", "which", "W_K¹"),
    ],
)
def test_what_comes_out(experiment, beat, begins):
    run, view, beats = first_preset(experiment)
    question = question_of(beats[beat])
    beat_view = replace(view, **beats[beat].view)
    assert question.choices[question.right(run, beat_view)].startswith(begins)


def test_another_order_gives_another_answer_and_leaves_the_beat_out():
    run, view, beats = first_preset("induction")
    output = "curve/recall_W_O2"
    key = "curve/recall_W_K2"
    other = Run(run.config, {**run.tensors, output: run[key], key: run[output]})
    question = question_of(beats["output"])
    assert question.choices[question.right(other, view)].startswith("W_K²")
    assert beats["output"] not in story.resolve_beats(
        registry.experiment("birth.induction").story, other
    )


def test_what_training_quietens_is_read_from_the_run():
    run, view, beats = first_preset("constructed")
    sentence = story.sentence_of(beats["close"].say, run, view)
    assert "W_K²" in sentence and "W_O²" in sentence
    assert "W_K¹" not in sentence  # whose cross-talk training leaves louder
    louder = {
        name: array * 9 if name.startswith("beside/talk") else array
        for name, array in run.tensors.items()
    }
    sentence = story.sentence_of(beats["close"].say, Run(run.config, louder), view)
    assert "After training" not in sentence


def test_exact_pairs_could_have_helped_or_done_nothing():
    run, view, beats = first_preset("constructed")
    right = question_of(beats["pairs"]).right
    accuracy = run["sweep/accuracy_kept"]
    for change, index in ((0.1, 0), (0.0, 1), (-0.1, 2)):
        changed = {"sweep/accuracy_within": (accuracy + change).astype(np.float32)}
        assert right(Run(run.config, {**run.tensors, **changed}), view) == index

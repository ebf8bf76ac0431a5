"""What Birth's predictions come to in the shipped runs, and that they are read from the run, not
written down."""

from dataclasses import replace

import numpy as np
import pytest

from icl_core import registry
from icl_core.contract import story
from icl_core.contract.experiment import Run
from icl_core.contract.story import Beat, Question
from icl_core.runs import store


def question(beat: Beat) -> Question:
    assert beat.ask is not None
    return beat.ask


def told(name: str):
    """The first preset's run, its view, and the beats by name."""
    experiment = registry.experiment(f"birth.{name}")
    assert experiment.story is not None
    preset = experiment.presets[0]
    header = store.default().preset(f"birth.{name}", preset.name)
    assert header is not None
    run = store.default().load(header)
    assert run is not None
    return run, experiment.view(**preset.view), {beat.name: beat for beat in experiment.story.beats}


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
    run, view, beats = told(experiment)
    asked = question(beats[beat])
    here = replace(view, **beats[beat].view)
    assert asked.choices[asked.right(run, here)].startswith(begins)


def test_another_order_gives_another_answer_and_leaves_the_beat_out():
    run, view, beats = told("induction")
    swapped = {
        "curve/recall_W_O2": run["curve/recall_W_K2"],
        "curve/recall_W_K2": run["curve/recall_W_O2"],
    }
    other = Run(run.config, {**run.tensors, **swapped})
    asked = question(beats["output"])
    assert asked.choices[asked.right(other, view)].startswith("W_K²")
    assert beats["output"] not in story.resolve_beats(
        registry.experiment("birth.induction").story, other
    )


def test_what_training_quietens_is_read_from_the_run():
    run, view, beats = told("constructed")
    said = story.sentence_of(beats["close"].say, run, view)
    assert (
        "W_K²" in said and "W_O²" in said and "W_K¹" not in said
    )  # whose cross-talk training leaves louder
    louder = {
        name: each * 9 for name, each in run.tensors.items() if name.startswith("beside/talk")
    }
    assert "After training" not in story.sentence_of(
        beats["close"].say, Run(run.config, {**run.tensors, **louder}), view
    )


def test_exact_pairs_could_have_helped_or_done_nothing():
    run, view, beats = told("constructed")
    right = question(beats["pairs"]).right
    kept = run["sweep/accuracy_kept"]
    for change, index in ((0.1, 0), (0.0, 1), (-0.1, 2)):
        other = Run(
            run.config, {**run.tensors, "sweep/accuracy_within": (kept + change).astype(np.float32)}
        )
        assert right(other, view) == index

"""The stage of each experiment: its seats, its scales over all snapshots, its example."""

from dataclasses import replace

import numpy as np
import pytest

from icl_core.contract.experiment import STAGE, Drawing, Run
from icl_core.figures.frames import clock_frames
from icl_core.papers.birth.constructed import EXPERIMENT as CONSTRUCTED
from icl_core.papers.birth.induction import EXPERIMENT as INDUCTION
from icl_core.papers.birth.shared.sequence import choose, example
from icl_core.papers.birth.shared.task import count_text, make_task
from icl_core.papers.birth.shared.task_knobs import TRIGGERS
from tests.cells import shipped

TITLE = 38  # letters that stand on one line
HEADLINE = 100
EXPERIMENTS = {"birth.induction": INDUCTION, "birth.constructed": CONSTRUCTED}
RUNS = [
    (id, preset.name) for id, experiment in EXPERIMENTS.items() for preset in experiment.presets
]


def drawing_of(name: str) -> Drawing:
    return next(drawing for drawing in INDUCTION.drawings if drawing.name == name)


def on_stage(experiment_id: str, run: Run) -> list:
    drawings = EXPERIMENTS[experiment_id].drawings
    return [
        drawing for drawing in drawings if drawing.place == STAGE and drawing.applies(run.config)
    ]


def views(experiment_id: str, run: Run) -> list:
    """A view of every snapshot; the only one where there are none."""
    view = EXPERIMENTS[experiment_id].view()
    return [replace(view, snapshot=index) for index in range(len(run.snapshot_steps))] or [view]


def scales(figure: dict) -> dict:
    """The ranges of all axes and of the colours."""
    ranges = {name: part.get("range") for name, part in figure["layout"].items() if "axis" in name}
    return ranges | {
        "colours": [figure["layout"].get("coloraxis", {}).get(end) for end in ("cmin", "cmax")]
    }


@pytest.mark.long
@pytest.mark.parametrize(("experiment_id", "preset"), RUNS)
def test_the_stage_has_the_same_traces_and_scales_at_every_snapshot(experiment_id, preset):
    run = shipped(experiment_id, preset)
    seats = on_stage(experiment_id, run)
    assert len(seats) in (4, 6)  # none is wide; five would leave a hole
    for drawing in seats:
        panels = [drawing.draw(run, view) for view in views(experiment_id, run)]
        figures = [panel.figure.to_dict() for panel in panels if panel.figure is not None]
        assert len(clock_frames(figures)) == len(panels)  # refuses traces that differ
        assert all(scales(figure) == scales(figures[0]) for figure in figures), drawing.name
        assert max(len(panel.title) for panel in panels) <= TITLE, [panel.title for panel in panels]


@pytest.mark.parametrize(("experiment_id", "preset"), RUNS)
def test_the_headline_is_one_line_at_every_snapshot(experiment_id, preset):
    run = shipped(experiment_id, preset)
    headlines = [
        EXPERIMENTS[experiment_id].headline(run, view) for view in views(experiment_id, run)
    ]
    assert max(map(len, headlines)) <= HEADLINE, max(headlines, key=len)
    assert (
        all(line.endswith(".") for line in headlines) and len(set(headlines)) >= len(headlines) / 2
    )


@pytest.mark.parametrize("triggers", TRIGGERS)
@pytest.mark.parametrize(("N", "K"), [(65, 5), (65, 1), (16, 10)])
def test_the_example_can_be_known_in_every_vocabulary(triggers, N, K):
    task = make_task(N, min(K, N - 8), 64, triggers)
    text, marked = example(task)
    assert len(text) == 10 and set(text) <= set(task.characters) and len(marked) <= K
    sequence = choose(task, replace(INDUCTION.view(), sequence=text, marked=marked))
    judged = {text[index] for index in np.flatnonzero(sequence.in_context.numpy())}
    assert judged == set(marked)
    if task.fixed_triggers is not None:
        assert judged <= {task.characters[i] for i in task.fixed_triggers}
    assert all(
        text.count(trigger + task.characters[sequence.truth[task.characters.index(trigger)]]) > 1
        for trigger in judged
    )


def test_the_example_is_the_papers_picture_where_it_can_be():
    assert example(make_task(65, 5, 64, "random")) == ("abcXabcXab", "abcX")
    assert example(make_task(65, 1, 64, "random")) == ("aXZYaXZYaX", "a")


def test_the_example_of_a_text_is_made_of_its_most_frequent_letters():
    counts = count_text("aB" + "the tree, the sheet " * 9)
    assert example(make_task(9, 5, 64, counts=counts)) == ("ethrethret", "ethr")
    assert example(make_task(9, 1, 64, counts=counts)) == ("etrhetrhet", "e")


@pytest.mark.parametrize("triggers", ["fixed", "fixed rare"])
def test_only_fixed_triggers_are_judged_in_a_typed_sequence(triggers):
    task = make_task(65, 2, 64, triggers)
    assert task.fixed_triggers is not None
    trigger = task.characters[int(task.fixed_triggers[1])]
    sequence = choose(task, replace(INDUCTION.view(), sequence=f"x{trigger}yx{trigger}yx"))
    assert np.flatnonzero(sequence.in_context.numpy()).tolist() == [4]


def test_layer_one_and_its_memory_are_on_stage_only_if_there_is_one():
    order, one_layer = (
        {
            drawing.name
            for drawing in on_stage("birth.induction", shipped("birth.induction", preset))
        }
        for preset in ("order", "one layer")
    )
    assert order - one_layer == {"first", "w_k1"}


def test_a_long_sequence_of_ones_own_is_shown_as_far_as_it_can_be_read():
    run = shipped("birth.induction", "fastest")
    view = INDUCTION.view(sequence="ab" * 100)
    figure = drawing_of("second").draw(run, view).figure
    assert figure is not None and figure.data[0]["z"].shape == (64, 64)
    width, height = figure.needed
    assert width > height > 64 * 10  # ten pixels a cell, beside what stands around them


def test_both_sides_of_a_large_map_of_positions_count_alike():
    run = shipped("birth.induction", "order, paper size")
    figure = drawing_of("w_k1").draw(run, INDUCTION.view()).figure
    assert figure is not None
    assert figure.data[0]["z"].shape == (64, 64)  # of 256 positions, four by four
    assert figure.layout["xaxis"]["ticktext"] == ["64", "128", "192", "256"]
    assert set(figure.layout["xaxis"]["ticktext"]) <= set(figure.layout["yaxis"]["ticktext"])

"""What Memformers' scripts say of runs other than the shipped one, and what they keep back before a
question."""

from dataclasses import replace

import numpy as np
import pytest

from icl_core import registry
from icl_core.contract import story
from icl_core.contract.experiment import Run
from icl_core.papers.memformers.speed.claims import nearest
from tests.cells import shipped


def first(name: str):
    """The experiment, its first preset's run and view, and its beats by name."""
    experiment = registry.experiment(f"memformers.{name}")
    run = shipped(f"memformers.{name}", experiment.presets[0].name)
    assert experiment.story is not None
    return experiment, run, experiment.view(), {beat.name: beat for beat in experiment.story.beats}


def planted(run: Run, steps, distances) -> Run:
    """The same with these distances, of every layer and seed."""
    rows = np.tile(np.array(distances), (run.config.seeds, 1))
    curves = {f"curve/distance_{layer}": rows for layer in range(run.config.layers)}
    return Run(run.config, {**run.tensors, **curves, "curve/step": np.array(steps)})


@pytest.mark.parametrize(
    ("away", "step", "words"),
    [
        ([0.9, 0.05, 0.05, 0.05], 100, "from step 100 on"),
        ([0.9, 0.05, 0.2, 0.05], 2500, "from step 2,500 on"),
        ([0.9, 0.05, np.nan, 0.05], 2500, "from step 2,500 on"),
        ([0.9, 0.05, 0.05, 0.2], None, ""),
    ],
)
def test_from_when_on_all_layers_are_close(away, step, words):
    _, run, view, beats = first("convergence")
    other = planted(run, [0, 100, 1000, 2500], away)
    assert story.step_of(beats["found"], other) == step
    if step is not None:
        assert words in story.sentence_of(beats["found"].say, other, view)


def test_without_another_seed_none_is_compared():
    experiment, run, *_ = first("convergence")
    distances = [name for name in run.tensors if name.startswith("curve/distance")]
    alone = {name: run[name][:1] for name in distances}
    single = Run(replace(run.config, seeds=1), {**run.tensors, **alone})
    beats = {beat.name for beat in story.resolve_beats(experiment.story, single)}
    assert "seeds" not in beats and {"noise", "steps", "close"} <= beats


def test_nothing_before_the_question_tells_how_far_fixed_steps_come():
    experiment, run, view, _ = first("methods")
    drawings = {drawing.name: drawing for drawing in experiment.drawings}
    for snapshot, answered in ((0, False), (1, True)):
        here = replace(view, snapshot=snapshot)
        traces = drawings["by_depth"].draw(run, here).figure.data
        lines = {trace["name"]: trace["y"] for trace in traces if "name" in trace}
        assert bool(np.isfinite(np.array(lines["floor"], float)).all()) == answered
        assert ("the floor" in experiment.headline(run, here)) == answered
        traces = drawings["path"].draw(run, here).figure.data
        paths = [trace["x"] for trace in traces if trace.get("name") == "construction"]
        assert paths and any(np.ptp(np.array(x, float)) > 0 for x in paths) == answered


def test_a_rate_counts_as_large_from_where_it_is_the_nearest():
    _, run, view, beats = first("speed")
    is_done = beats["rate"].done
    assert is_done is not None
    for rate in (0.03, 0.05, 0.054, 0.06, 0.1):
        large = run["rate/values"][nearest(run, rate)] >= 0.1
        assert not is_done(replace(view, rate=rate)) or large
    assert is_done(replace(view, rate=0.1))


def test_tasks_are_told_as_a_setting_has_them():
    experiment = registry.experiment("memformers.variances")
    task = experiment.story.task
    tasks = {preset.name: story.task_of(task, preset.config) for preset in experiment.presets}
    assert "directions of its own" in tasks["figure 8"]
    assert "the same directions" in tasks["one covariance"]
    other = replace(experiment.presets[0].config, variances="1, 4")
    assert "variance 1 or 4" in story.task_of(task, other)

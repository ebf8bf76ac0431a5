"""What Memformers' scripts say of runs other than the shipped one, and what they keep back before a
question."""

from dataclasses import replace

import numpy as np
import pytest

from icl_core import registry
from icl_core.contract import story
from icl_core.contract.experiment import Run
from icl_core.papers.memformers.speed.claims import nearest
from icl_core.runs import store


def first(name: str):
    """The experiment, its first preset's run and view, and its beats by name."""
    experiment = registry.experiment(f"memformers.{name}")
    header = store.default().preset(f"memformers.{name}", experiment.presets[0].name)
    assert header is not None
    run = store.default().load(header)
    assert run is not None and experiment.story is not None
    return experiment, run, experiment.view(), {beat.name: beat for beat in experiment.story.beats}


def planted(run: Run, steps, away) -> Run:
    """The same with these distances, of every layer and seed."""
    rows = np.tile(np.array(away), (run.config.seeds, 1))
    curves = {f"curve/distance_{layer}": rows for layer in range(run.config.layers)}
    return Run(run.config, {**run.tensors, **curves, "curve/step": np.array(steps)})


@pytest.mark.parametrize(
    ("away", "step", "said"),
    [
        ([0.9, 0.05, 0.05, 0.05], 100, "from step 100 on"),
        ([0.9, 0.05, 0.2, 0.05], 2500, "from step 2,500 on"),
        ([0.9, 0.05, np.nan, 0.05], 2500, "from step 2,500 on"),
        ([0.9, 0.05, 0.05, 0.2], None, ""),
    ],
)
def test_from_when_on_all_layers_are_close(away, step, said):
    _, run, view, beats = first("convergence")
    other = planted(run, [0, 100, 1000, 2500], away)
    assert story.step_of(beats["found"], other) == step
    if step is not None:
        assert said in story.sentence_of(beats["found"].say, other, view)


def test_without_another_seed_none_is_compared():
    experiment, run, *_ = first("convergence")
    alone = {
        name: each[:1] for name, each in run.tensors.items() if name.startswith("curve/distance")
    }
    single = Run(replace(run.config, seeds=1), {**run.tensors, **alone})
    told = [beat.name for beat in story.resolve_beats(experiment.story, single)]
    assert "seeds" not in told and {"noise", "steps", "close"} <= set(told)


def test_nothing_before_the_question_tells_how_far_fixed_steps_come():
    experiment, run, view, _ = first("methods")
    by_depth, path = (
        next(each for each in experiment.drawings if each.name == name)
        for name in ("by_depth", "path")
    )
    for snapshot, told in ((0, False), (1, True)):
        here = replace(view, snapshot=snapshot)
        lines = {
            trace["name"]: trace["y"]
            for trace in by_depth.draw(run, here).figure.data
            if "name" in trace
        }
        assert bool(np.isfinite(np.array(lines["floor"], float)).all()) == told
        assert ("the floor" in experiment.headline(run, here)) == told
        built = [
            trace
            for trace in path.draw(run, here).figure.data
            if trace.get("name") == "construction"
        ]
        assert built and any(np.ptp(np.array(trace["x"], float)) > 0 for trace in built) == told


def test_a_rate_counts_as_large_from_where_it_is_the_nearest():
    _, run, view, beats = first("speed")
    done = beats["rate"].done
    assert done is not None
    for rate in (0.03, 0.05, 0.054, 0.06, 0.1):
        large = run["rate/values"][nearest(run, rate)] >= 0.1
        assert not done(replace(view, rate=rate)) or large
    assert done(replace(view, rate=0.1))


def test_tasks_are_told_as_a_setting_has_them():
    experiment = registry.experiment("memformers.variances")
    tasks = {
        each.name: story.task_of(experiment.story.task, each.config) for each in experiment.presets
    }
    assert (
        "directions of its own" in tasks["figure 8"]
        and "the same directions" in tasks["one covariance"]
    )
    other = replace(experiment.presets[0].config, variances="1, 4")
    assert "variance 1 or 4" in story.task_of(experiment.story.task, other)

"""How long a preset takes: a short run is timed whole, a long one in parts, by a clock that the
steps themselves move on."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from house import TOY, house

from icl_core import registry
from icl_core.build import time_presets
from icl_core.cli import main
from icl_core.jobs import estimate, preset_timing
from icl_core.machine import device
from icl_core.machine.pace import Pace
from icl_core.training import batched, loop, phases
from icl_core.training.phases import Phase

STEP, EVALUATION, END = 0.05, 0.2, 3.0  # seconds


class Clock:
    """A clock of computing that only work moves on."""

    def __init__(self) -> None:
        self.now = 0.0

    def work(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(device, "clock", lambda: made.now)
    monkeypatch.setattr(preset_timing.findings, "measure", lambda *given: made.work(END))
    return made


def phase(clock: Clock, name: str, steps: int) -> Phase:
    """A training whose steps and evaluations take fixed times."""

    def train(resumed, report):
        w = torch.zeros(1)
        generator = torch.Generator().manual_seed(0)

        def gradient(step):
            clock.work(STEP)
            return {"w": torch.ones(1)}, {"loss": 1.0}

        def evaluate(step):
            clock.work(EVALUATION)
            return {"away": float(w)}

        problem = loop.Problem(
            {"w": w}, gradient, evaluate, partial(torch.optim.SGD, lr=0.1), (generator,), "loss"
        )
        state = loop.train(problem, steps, loop.evaluations(steps, 5, 20), resumed, report)
        clock.work(END)
        assert len(state.batch["loss"]) == steps  # also those of the steps that were skipped
        return state.now()

    return Phase(name, steps, train)


def experiment(clock: Clock, lengths: list[int]):
    plan = [phase(clock, f"training {index}", steps) for index, steps in enumerate(lengths)]

    def run(config, progress):
        clock.work(1.0)  # before the first training
        return phases.run(plan, progress, lambda results: {})

    toy = registry.experiment(TOY)
    return replace(toy, run=run)


def whole(lengths: list[int]) -> float:
    """The seconds of the whole run."""
    trainings = [
        steps * STEP + len(loop.evaluations(steps, 5, 20)) * EVALUATION + END for steps in lengths
    ]
    return 1.0 + sum(trainings) + END


def test_a_short_run_is_timed_to_its_end(clock):
    made = experiment(clock, [20, 30])
    assert preset_timing.time_run(made, None) == pytest.approx(whole([20, 30]))
    assert clock.now == pytest.approx(whole([20, 30]))


@pytest.mark.parametrize("lengths", [[3000], [20, 4000, 1000]], ids=str)
def test_a_long_run_is_timed_in_parts(clock, lengths):
    """Evaluations are rarer the longer it goes on; only a part of the steps is made."""
    made = experiment(clock, lengths)
    expected = whole(lengths) - END  # without metrics, of tensors that mean nothing
    assert preset_timing.time_run(made, None) == pytest.approx(expected, rel=0.05)
    assert clock.now < whole(lengths) / 2.5


def with_curves_that_do_not_fit(clock, steps: int):
    """An experiment whose run fails at its end, where it puts its curves together."""
    complete = experiment(clock, [steps])

    def run(config, progress):
        complete.run(config, progress)
        raise ValueError("curves of different lengths")

    return replace(complete, run=run)


def test_curves_of_skipped_trainings_need_not_fit_together(clock):
    seconds = preset_timing.time_run(with_curves_that_do_not_fit(clock, 3000), None)
    assert seconds == pytest.approx(whole([3000]) - END, rel=0.05)


def test_the_end_of_a_whole_run_may_not_fail(clock):
    with pytest.raises(ValueError, match="different lengths"):
        preset_timing.time_run(with_curves_that_do_not_fit(clock, 20), None)


def test_several_trainings_of_one_program_are_timed_in_parts(clock):
    """Every training reports; a part is counted once."""
    steps, count = 2000, 6

    def train(wanted):
        members = []
        for each in wanted.values():
            problem = loop.Problem(
                {"w": torch.zeros(1, 1)},
                lambda step: ({"w": torch.ones(1, 1)}, {"loss": np.ones(1)}),
                lambda step: {},
                partial(torch.optim.Adam, lr=0.1),
                (),
                "loss",
            )
            members.append(batched.Member(problem, each.resumed, each.report))

        def join(kinds):
            (kind,) = kinds
            rows = len(kind.indices)

            def gradient(step):
                clock.work(STEP)
                return [{"w": torch.ones(rows, 1)}], {"loss": np.ones(rows)}

            return batched.Whole(gradient, lambda step: [{}] * rows, list(range(rows)))

        for index, state in batched.train(members, join, steps, []):
            yield index, state if isinstance(state, Exception) else state.now()

    together = phases.Together(train)
    plan = [
        Phase(f"training {index}", steps, lambda *given: {}, together=together)
        for index in range(count)
    ]

    def run(config, progress):
        return phases.run(plan, progress, lambda results: {})

    made = replace(registry.experiment(TOY), run=run)
    assert preset_timing.time_run(made, None) == pytest.approx(steps * STEP, rel=0.05)
    assert clock.now < steps * STEP / 2


def test_trainings_of_one_program_are_taken_forward_together():
    saved = {
        "now/a/step": np.array([10]),
        "now/a/batch/loss": np.arange(10.0),
        "now/b/step": np.array([10]),
        "now/b/curve/step": np.arange(3),
        "phase/c/step": np.array([7]),
    }
    moved = preset_timing._at_step(saved, 20, 50)
    assert moved["now/a/step"] == moved["now/b/step"] == 25 and moved["phase/c/step"] == 7
    assert len(moved["now/a/batch/loss"]) == 25 and moved["now/a/batch/loss"][-1] == 9.0
    assert len(moved["now/b/curve/step"]) == 3


def test_trainings_that_are_not_in_step_are_not_taken_forward(clock):
    """One of the program has ended, and another is done alone."""
    progress = preset_timing._TimedProgress()
    progress.start_clock()
    progress.enter("two models at once", 0, 2000)
    state = {"now/a/step": np.array([1000]), "now/b/step": np.array([10])}
    progress.report(1010, 2000, 1.0, dict, lambda: state)
    clock.work(100.0)
    progress.report(1100, 2000, 1.0, dict, lambda: {**state, "now/b/step": np.array([100])})
    clock.work(50.0)
    assert progress.total_seconds() == pytest.approx(150.0)
    level = {"now/a/step": np.array([550]), "now/b/step": np.array([550])}
    with pytest.raises(preset_timing._TakenForward):
        progress.report(1200, 2000, 1.0, dict, lambda: level)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    with house(tmp_path, monkeypatch) as made:
        yield made


def test_the_build_times_presets_and_keeps_those_of_others(runs, monkeypatch, capsys):
    busy, idle, slow = Pace(0.05, 0.01), Pace(0.03, 0.012), Pace(0.06, 0.02)
    paces = iter((busy, idle, slow, slow))
    monkeypatch.setattr("icl_core.build.measure_pace", lambda: next(paces))
    monkeypatch.setattr(preset_timing, "time_run", lambda *given: 10.0)
    first, second = (preset.name for preset in registry.experiment(TOY).presets[:2])
    gone = {TOY: {"gone": 1.0, first: 5.0}}
    estimate.write_preset_seconds(estimate.PresetSeconds(Pace(0.03, 0.01), gone))
    time_presets([TOY], [second])
    known = estimate.load_preset_seconds()
    assert known and known.by_experiment[TOY] == {first: 5.0, second: 10.0}
    assert main(["build", TOY, "--time", "--preset", first]) == 0  # a machine of half the pace
    known = estimate.load_preset_seconds()
    assert known and known.pace == (0.06, 0.02)
    assert known.by_experiment[TOY] == {first: 10.0, second: 20.0}
    assert main(["build", TOY, "--time", "--preset", "gone"]) == 2
    assert f"{TOY} ({first}): 10 s" in capsys.readouterr().err


def test_the_seconds_of_the_classrooms_presets_are_shipped():
    """And of at least one preset of every experiment; none is of a preset that is gone."""
    known = estimate.load_preset_seconds()
    assert known
    for experiment_id in registry.experiment_ids():
        if experiment_id.startswith("toy."):
            continue
        presets = registry.experiment(experiment_id).presets
        classroom = {preset.name for preset in presets if preset.group == "Classroom"}
        measured = set(known.by_experiment[experiment_id])
        assert measured and classroom <= measured, experiment_id
        assert measured <= {preset.name for preset in presets}, experiment_id

"""Several trainings in one run: their order, what they show while they go on, and resumption after
a kill."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from icl_core.contract.experiment import Diverged
from icl_core.training import loop, phases
from icl_core.training.phases import Phase
from tests.recorder import Interrupted, Recorder

STEPS = 6


class Watched(Recorder):
    """Also keeps the curves of every report and the trainings that were entered."""

    def __init__(self, stop: int | None = None, saved=None) -> None:
        super().__init__(stop, saved)
        self.curves = []
        self.entered = []

    def steps(self) -> list[int]:
        return [done for done, _, _ in self.reports]

    def enter(self, what, first=0, steps=0):
        self.entered.append((what, first, steps))

    def report(self, done, total, loss, live, state, preview=dict):
        self.curves.append(live())
        super().report(done, total, loss, live, state, preview)


def one(name: str, start: float) -> Phase:
    def curves(state: loop.State) -> dict[str, np.ndarray]:
        return {"curve/w": np.array(state.curve["w"])} if state.curve else {}

    def train(resumed, report):
        weights = torch.tensor([start, -start])
        generator = torch.Generator().manual_seed(1)

        def gradient(step):
            gradients = {"w": weights - torch.randn(2, generator=generator)}
            return gradients, {"loss": (weights**2).numpy()}

        problem = loop.Problem(
            {"w": weights},
            gradient,
            lambda step: {"w": weights.numpy().copy()},
            lambda tensors: torch.optim.Adam(tensors, lr=0.1),
            (generator,),
            loss="loss",
            schedule=lambda step: 1 / (1 + step),
        )
        return curves(loop.train(problem, STEPS, list(range(STEPS + 1)), resumed, report))

    return Phase(name, STEPS, train, curves)


def run(progress) -> phases.Made:
    plan = [one("a", 1.0), one("b", 2.0)]
    return phases.run(
        plan, progress, lambda trainings: {f"{name}/curve": np.ones(1) for name in trainings}
    )


def test_every_training_gets_its_curves_with_a_value_a_seed():
    trainings = run(Watched())
    assert list(trainings) == ["a", "b"]
    assert trainings["a"]["curve/w"].shape == (STEPS + 1, 2)


def test_progress_counts_over_all_trainings():
    progress = Watched()
    run(progress)
    assert progress.steps() == [*range(STEPS + 1), *range(STEPS, 2 * STEPS + 1)]


def test_every_training_is_named_with_its_own_steps_and_what_follows_it():
    progress = Watched()
    first = one("a", 1.0)
    second = replace(one("b", 2.0), label="the other one")
    phases.run([first, second], progress, lambda trainings: {})
    assert progress.entered == [
        ("a", 0, STEPS),
        ("a: evaluating", 0, 0),
        ("the other one", STEPS, STEPS),
        ("the other one: evaluating", 0, 0),
        ("evaluating", 0, 0),
    ]
    alone = Watched()
    phases.run([first], alone, lambda trainings: {})
    assert alone.entered == [("", 0, STEPS), ("evaluating", 0, 0), ("evaluating", 0, 0)]


def test_nothing_is_shown_before_anything_is_recorded():
    progress = Watched()
    run(progress)
    assert progress.curves[0] == {} and set(progress.curves[1]) == {"a/curve"}
    assert "b/curve" in progress.curves[-1]


@pytest.mark.parametrize("at", [3, STEPS + 2])
def test_a_killed_run_goes_on_where_it_was(at):
    whole = run(Watched())
    killed = Watched(at)
    with pytest.raises(Interrupted):
        run(killed)
    resumed = Watched(saved=killed.saved)
    trainings = run(resumed)
    assert resumed.steps()[0] == at
    for name in whole:
        np.testing.assert_array_equal(trainings[name]["curve/w"], whole[name]["curve/w"])


@pytest.mark.parametrize(
    "saved",  # of an older form, of another plan, of no plan
    [
        {
            "pass/a/curve/w": np.zeros((7, 2)),
            "now/step": np.array([3]),
            "now/parameter/w": np.zeros(2),
        },
        {"phase/c/curve/w": np.zeros((7, 2)), "now/c/step": np.array([3])},
        {"step": np.array(3), "weights": np.zeros(2)},
    ],
)
def test_a_checkpoint_of_another_form_is_none(saved):
    whole = run(Watched())
    resumed = Watched(saved=saved)
    trainings = run(resumed)
    assert resumed.steps()[0] == 0 and list(trainings) == ["a", "b"]
    for name in whole:
        np.testing.assert_array_equal(trainings[name]["curve/w"], whole[name]["curve/w"])


def test_curves_and_final_find_what_a_phase_made():
    trainings = {"a": {"curve/w": np.ones(2), "final/w": np.zeros(3), "judged/loss": np.ones(1)}}
    assert list(phases.curves("a", trainings)) == ["curve/w"]
    assert phases.curves("b", trainings) == {}
    assert list(phases.final(trainings["a"])) == ["w"]


def dependent(*names: str) -> Phase:
    """A training that starts at the sum of what earlier ones made."""

    def train(*arguments):
        *earlier, resumed, report = arguments
        start = float(sum(training["curve/w"][-1, 0] for training in earlier))
        return one("", start).train(resumed, report) | {"start": np.array([start])}

    return Phase(f"of {' and '.join(names)}", STEPS, train, one("", 0.0).curves, names)


@pytest.mark.parametrize("at", [None, STEPS + 2, 2 * STEPS + 3, 3 * STEPS + 3])
def test_a_phase_is_handed_what_the_phases_it_names_have_made(at):
    """Also where these were made before a kill: in the second training, in the third,
    in the last."""
    plan = [one("a", 1.0), one("b", 2.0), dependent("b"), dependent("b", "a")]
    whole = phases.run(plan, Watched(), lambda trainings: {})
    saved = None
    if at is not None:
        killed = Watched(at)
        with pytest.raises(Interrupted):
            phases.run(plan, killed, lambda trainings: {})
        saved = killed.saved
    trainings = phases.run(plan, Watched(saved=saved), lambda trainings: {})
    a, b = (trainings[name]["curve/w"][-1, 0] for name in "ab")
    assert list(trainings) == ["a", "b", "of b", "of b and a"] and a != b
    assert trainings["of b"]["start"] == b and trainings["of b and a"]["start"] == a + b
    for name in whole:
        np.testing.assert_array_equal(trainings[name]["curve/w"], whole[name]["curve/w"])


def test_a_loss_above_the_ceiling_is_divergence_at_its_step():
    weights = torch.ones(1)
    problem = loop.Problem(
        {"w": weights},
        lambda step: ({"w": -weights}, {"loss": np.array([1.0, 10.0**step])}),
        lambda step: {},
        partial(torch.optim.SGD, lr=0.1),
        (),
        loss="loss",
        ceiling=500.0,
    )
    with pytest.raises(Diverged, match="diverged at step 3: the loss is 1e"):
        loop.train(problem, 10, [], None, lambda state, save: None)

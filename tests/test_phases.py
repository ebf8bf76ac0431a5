"""Several trainings in one run: their order, what they show while they go on, and resumption after
a kill."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from icl_core.contract.experiment import Diverged, NextTraining
from icl_core.training import loop, phases
from icl_core.training.phases import Phase

STEPS = 6


class Killed(Exception):
    pass


class Checkpointed:
    """Keeps the state of every report and dies before step `at`."""

    def __init__(self, at: int | None = None, saved=None) -> None:
        self.at, self.saved, self.seen, self.shown, self.entered = at, saved, [], [], []

    def resume(self):
        return self.saved

    def take(self, trainings):
        return NextTraining(trainings[0])

    def give(self, name, made):
        pass

    def earlier(self, name):
        return {}

    def end(self, name, state):
        pass

    def enter(self, what, first=0, steps=0):
        self.entered.append((what, first, steps))

    def report(self, done, total, loss, live, state, preview=dict):
        self.seen.append(done)
        self.shown.append(live())
        if done == self.at:
            self.saved = {name: array.copy() for name, array in state().items()}
            raise Killed


def one(name: str, start: float) -> Phase:
    def curves(state: loop.State) -> dict[str, np.ndarray]:
        return {"curve/w": np.array(state.curve["w"])} if state.curve else {}

    def train(resumed, report):
        weights, generator = torch.tensor([start, -start]), torch.Generator().manual_seed(1)

        def gradient(step):
            return {"w": weights - torch.randn(2, generator=generator)}, {
                "loss": (weights**2).numpy()
            }

        problem = loop.Problem(
            {"w": weights},
            gradient,
            lambda step: {"w": weights.numpy().copy()},
            lambda tensors: torch.optim.Adam(tensors, lr=0.1),
            (generator,),
            loss="loss",
            schedule=lambda step: 1 / (1 + step),
        )
        state = loop.train(problem, STEPS, list(range(STEPS + 1)), resumed, report)
        return curves(state)

    return Phase(name, STEPS, train, curves)


def run(progress) -> phases.Made:
    return phases.run(
        [one("a", 1.0), one("b", 2.0)],
        progress,
        lambda made: {f"{n}/curve": np.ones(1) for n in made},
    )


def test_every_training_gets_its_curves_with_a_value_a_seed():
    made = run(Checkpointed())
    assert list(made) == ["a", "b"]
    assert made["a"]["curve/w"].shape == (STEPS + 1, 2)


def test_progress_counts_over_all_trainings():
    progress = Checkpointed()
    run(progress)
    assert progress.seen == [*range(STEPS + 1), *range(STEPS, 2 * STEPS + 1)]


def test_every_training_is_named_with_its_own_steps_and_what_follows_it():
    progress = Checkpointed()
    first, second = one("a", 1.0), replace(one("b", 2.0), label="the other one")
    phases.run([first, second], progress, lambda made: {})
    assert progress.entered == [
        ("a", 0, STEPS),
        ("a: evaluating", 0, 0),
        ("the other one", STEPS, STEPS),
        ("the other one: evaluating", 0, 0),
        ("evaluating", 0, 0),
    ]
    alone = Checkpointed()
    phases.run([first], alone, lambda made: {})
    assert alone.entered == [("", 0, STEPS), ("evaluating", 0, 0), ("evaluating", 0, 0)]


def test_nothing_is_shown_before_anything_is_recorded():
    progress = Checkpointed()
    run(progress)
    assert (
        progress.shown[0] == {}
        and set(progress.shown[1]) == {"a/curve"}
        and "b/curve" in progress.shown[-1]
    )


@pytest.mark.parametrize("at", [3, STEPS + 2])
def test_a_killed_run_goes_on_where_it_was(at):
    whole = run(Checkpointed())
    killed = Checkpointed(at)
    with pytest.raises(Killed):
        run(killed)
    resumed = Checkpointed(saved=killed.saved)
    made = run(resumed)
    assert resumed.seen[0] == at
    for name in whole:
        np.testing.assert_array_equal(made[name]["curve/w"], whole[name]["curve/w"])


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
    whole, made = run(Checkpointed()), run(resumed := Checkpointed(saved=saved))
    assert resumed.seen[0] == 0 and list(made) == ["a", "b"]
    for name in whole:
        np.testing.assert_array_equal(made[name]["curve/w"], whole[name]["curve/w"])


def test_curves_and_final_find_what_a_phase_made():
    made = {"a": {"curve/w": np.ones(2), "final/w": np.zeros(3), "judged/loss": np.ones(1)}}
    assert list(phases.curves("a", made)) == ["curve/w"] and phases.curves("b", made) == {}
    assert list(phases.final(made["a"])) == ["w"]


def given(*names: str) -> Phase:
    """A training that starts at the sum of what earlier ones made."""

    def train(*handed):
        *earlier, resumed, report = handed
        start = float(sum(made["curve/w"][-1, 0] for made in earlier))
        return one("", start).train(resumed, report) | {"start": np.array([start])}

    return Phase(f"of {' and '.join(names)}", STEPS, train, one("", 0.0).curves, names)


@pytest.mark.parametrize("at", [None, STEPS + 2, 2 * STEPS + 3, 3 * STEPS + 3])
def test_a_phase_is_handed_what_the_phases_it_names_have_made(at):
    """Also where these were made before a kill: in the second training, in the third,
    in the last."""
    plan = [one("a", 1.0), one("b", 2.0), given("b"), given("b", "a")]
    whole, saved = phases.run(plan, Checkpointed(), lambda made: {}), None
    if at is not None:
        killed = Checkpointed(at)
        with pytest.raises(Killed):
            phases.run(plan, killed, lambda made: {})
        saved = killed.saved
    made = phases.run(plan, Checkpointed(saved=saved), lambda made: {})
    a, b = (made[name]["curve/w"][-1, 0] for name in "ab")
    assert list(made) == ["a", "b", "of b", "of b and a"] and a != b
    assert made["of b"]["start"] == b and made["of b and a"]["start"] == a + b
    for name in whole:
        np.testing.assert_array_equal(made[name]["curve/w"], whole[name]["curve/w"])


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

"""The trainings of one run as one program: every depth of every model has the digits that it has
alone, whoever trains it and however often it is killed."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_core import registry
from icl_core.contract.experiment import NextTraining
from icl_core.machine import device
from icl_core.papers.memformers.shared import batched_trainings, experts, task, test_set
from icl_core.papers.memformers.shared.experts import Case, Heads
from icl_core.papers.memformers.shared.task import Batch
from icl_core.training import batched
from icl_core.training.phases import Phase
from tests.parameters import first_is_short
from tests.recorder import Interrupted, Recorder

STEPS = 12  # of a training
KILLED = 5  # and those after which it is killed
# experiment, preset, what is smaller, and how many programs of how many trainings there are
RUNS = {
    "methods": ("lfom", {"steps": STEPS, "layers": 3}, [6]),
    "methods of five kinds": ("all", {"steps": STEPS, "layers": 2}, [8]),
    "methods behind first phases": ("all", {"steps": STEPS, "layers": 2, "first_steps": 10}, [8]),
    "variances": ("one covariance", {"steps": STEPS, "gate_steps": 10, "gate_prompts": 64}, [3]),
    "learned": ("to the end", {"steps": STEPS, "layers": 3}, [3, 3, 3, 3]),
}


@pytest.fixture(autouse=True)
def few_prompts(monkeypatch):
    """Few to draw batches from and to be judged on: it is the digits that are compared."""
    # two blocks of prompts, and one of the batches of a thousand whose losses are kept
    for name, count in (("PROMPTS", 2**10), ("WATCHED", 2**9), ("BLOCK", 2**9)):
        monkeypatch.setattr(test_set, name, count)
    monkeypatch.setattr(task, "FEWEST", 2**12)


@pytest.fixture(autouse=True)
def as_workers_compute():
    """At the precision of a worker: at another one libraries may round in another way."""
    before = torch.get_float32_matmul_precision()
    device.set_threads(1)
    yield
    torch.set_float32_matmul_precision(before)


@pytest.fixture
def outcomes(monkeypatch):
    """What each training of a program ended with."""
    outcomes = []
    train = batched.train

    def watched(*arguments):
        for index, outcome in train(*arguments):
            outcomes.append(outcome)
            yield index, outcome

    monkeypatch.setattr(batched_trainings.batched, "train", watched)
    return outcomes


class Watched(Recorder):
    """Counts the trainings of each program, and keeps the tensors of each by name."""

    def __init__(self, stop=None, saved=None, earlier_programs=None):
        super().__init__(stop, saved)
        self.earlier_programs = earlier_programs or {}
        self.tensors = {}

    def take(self, trainings):
        return NextTraining(trainings[0], self.earlier_programs.get(trainings[0]))

    def give(self, name, made):
        self.tensors[name] = {key: np.array(array) for key, array in made.items()}

    @property
    def programs(self) -> list[int]:
        """How many trainings each program had."""
        counts = [len({key.split("/")[1] for key in keys}) for keys in self.tensors.values()]
        return [count for count in counts if count > 1]


def setting(case: str):
    preset, changes, _ = RUNS[case]
    experiment = registry.experiment(f"memformers.{case.split()[0]}")
    configs = {preset.name: preset.config for preset in experiment.presets}
    return experiment, replace(configs[preset], **changes)


def same(one, other) -> bool:
    return one.keys() == other.keys() and all(
        np.asarray(one[name]).tobytes() == np.asarray(other[name]).tobytes() for name in other
    )


@pytest.mark.parametrize("case", first_is_short(RUNS))
def test_every_training_has_the_digits_that_it_has_alone(case, monkeypatch, outcomes):
    experiment, config = setting(case)
    progress = Watched()
    at_once = experiment.run(config, progress)
    assert progress.programs == RUNS[case][2]
    assert len(outcomes) == sum(RUNS[case][2])
    # Which kernels are others with more rows depends on the processor: on some machines half of the
    # trainings are done alone, on others none is.
    apart = sum(isinstance(outcome, batched.Differs) for outcome in outcomes)
    assert apart == 0 or (case != "variances" and apart < len(outcomes))
    monkeypatch.setattr(batched_trainings, "most", lambda config: 1)
    alone = Watched()
    assert same(at_once, experiment.run(config, alone)) and not alone.programs


def killed_run():
    """The experiment, its setting, and the progress of a run that was killed."""
    experiment, config = setting("methods")
    killed = Watched(stop=6 * KILLED)  # these steps of each
    with pytest.raises(Interrupted):
        experiment.run(config, killed)
    return experiment, config, killed


def test_a_program_that_is_killed_goes_on_to_the_same_digits():
    experiment, config, killed = killed_run()
    whole = experiment.run(config, Watched())
    assert same(experiment.run(config, Watched(saved=killed.saved)), whole)
    # goes on in pieces: a training in a checkpoint may be alone in it
    piece = {name: array for name, array in killed.saved.items() if name.startswith("now/main 3/")}
    assert same(experiment.run(config, Watched(saved=piece)), whole)


def test_a_program_may_be_another_workers():
    experiment, config = setting("methods behind first phases")
    first = Watched()
    whole = experiment.run(config, first)
    again = Watched(earlier_programs=first.tensors)
    assert same(experiment.run(config, again), whole) and not again.tensors


def test_models_that_need_every_example_are_trained_alone():
    _, config = setting("methods")
    plan = [Phase(f"main {depth}", 30, lambda *arguments: {}) for depth in (1, 2)]
    configs = {phase.name: replace(config, variant="token") for phase in plan}
    planned = batched_trainings.at_once(plan, configs)
    assert [phase.together for phase in planned] == [None, None]


def test_a_program_has_no_more_prompts_than_come_in_one_chunk():
    _, config = setting("methods")
    plan = [Phase(f"main {depth}", 30, lambda *arguments: {}) for depth in range(1, 8)]
    configs = {phase.name: replace(config, d=8, batch=4000) for phase in plan}
    assert batched_trainings.most(configs["main 1"]) == 2
    planned = batched_trainings.at_once(plan, configs)
    programs = [phase.together for phase in planned]
    assert [programs.count(program) for program in dict.fromkeys(programs)] == [2, 2, 2, 1]


def test_who_has_other_digits_is_trained_alone(monkeypatch, outcomes):
    """A library that rounds otherwise where there are more rows."""
    experiment, config = setting("methods")
    plain = batched_trainings.first_order.loss_and_slopes

    def other_digits(table, batch):
        loss, slopes = plain(table, batch)
        return loss, slopes * (1 + 1e-6 * (len(table) > 1))

    monkeypatch.setattr(batched_trainings.first_order, "loss_and_slopes", other_digits)
    tensors = experiment.run(config, Watched())
    assert len(outcomes) == 6
    assert all(isinstance(outcome, batched.Differs) for outcome in outcomes)
    monkeypatch.setattr(batched_trainings.first_order, "loss_and_slopes", plain)
    assert same(tensors, experiment.run(config, Watched()))


def test_what_is_resumed_counts_from_the_first_report_on():
    experiment, config, killed = killed_run()
    again = Watched(saved=killed.saved)
    experiment.run(config, again)
    assert again.reports[0][0] == 6 * KILLED
    steps = [done for done, _, _ in again.reports]
    assert steps == sorted(steps) and steps[-1] == 6 * STEPS


def test_a_program_that_is_stopped_is_saved_once():
    *_, killed = killed_run()
    assert len([done for done, _, _ in killed.reports if done >= 6 * KILLED]) == 1


@pytest.mark.parametrize("start", first_is_short(["even", "ones", "last"]))
def test_gates_that_are_learned_at_once_are_those_learned_alone(start):
    """On prompts of three variances, by heads of two seeds."""
    generator = torch.Generator().manual_seed(0)
    Gamma = torch.eye(3).repeat(2, 4, 1, 1)
    cases = []
    for scale in (0.5, 1.0, 3.0):
        A = scale * torch.randn(2, 4, 3, 5, 5, generator=generator)
        root = torch.randn(2, 5, 20, 200, generator=generator)
        S = torch.einsum("sinp,sjnp->sijp", root, root) / 20
        batch = Batch(S, torch.randn(2, 5, 1, 200, generator=generator))
        heads = Heads(Gamma, 0.1 * A)
        cases.append(Case(heads, batch, experts.starts(heads)[start]))
    at_once = experts.adapt_all(cases, 30)
    for case, adapted in zip(cases, at_once, strict=True):
        alone = experts.adapt(case.heads, case.batch, 30, False, case.start)
        assert torch.equal(adapted.gates, alone.gates)
        assert torch.equal(adapted.losses, alone.losses)
        assert torch.isfinite(adapted.gates).all()
    whole = experts._joined(cases)
    assert experts._has_same_digits(whole, cases)
    other = whole._replace(start=whole.start + 1e-3)
    assert not experts._has_same_digits(other, cases)

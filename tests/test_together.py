"""Several trainings as one program: each is what it is alone, to the last bit, whatever becomes of
the others."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
import torch

from icl_core import registry
from icl_core.contract.experiment import Cancelled, Diverged, Experiment
from icl_core.jobs import queue, spawn, table, worker
from icl_core.jobs.folder import Job
from icl_core.jobs.job_progress import JobProgress
from icl_core.machine import device
from icl_core.runs.file import read
from icl_core.runs.request import Request
from icl_core.training import batched, loop, rows, several_seeds
from tests.parameters import first_is_short
from tests.recorder import Interrupted, Recorder

STEPS = 40
AT = loop.evaluations(STEPS, 5)
TEACHER = torch.tensor([1.0, -2.0, 0.5])


def losses(weights: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Of every row [rows] on inputs [rows or 1, batch, 3]."""
    return ((weights - TEACHER)[:, None] * x).sum(2).square().mean(1)


def inputs(generator: torch.Generator) -> torch.Tensor:
    return torch.randn(1, 16, 3, generator=generator)


def gradient(weights: torch.Tensor, x: torch.Tensor):
    leaves = several_seeds.leaves({"w": weights})
    loss = losses(leaves["w"], x)
    return several_seeds.gradients(loss, leaves), {"loss": loss.detach().numpy()}


def problem(rate: float, seed: int = 0, ceiling: float = float("inf")) -> loop.Problem:
    """Two rows that find a teacher, with a rate of their own and inputs of their seed."""
    generator = torch.Generator().manual_seed(seed)
    w = torch.tensor([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    return loop.Problem(
        {"w": w},
        lambda step: gradient(w, inputs(generator)),
        lambda step: {"away": (w - TEACHER).abs().sum(1).numpy()},
        partial(torch.optim.Adam, lr=rate),
        (generator,),
        loss="loss",
        schedule=loop.cosine(STEPS),
        ceiling=ceiling,
    )


def train_at_once(members: list[batched.Member], seeds: list[int]) -> dict[int, batched.Ended]:
    def join(kinds) -> batched.Whole:
        (kind,) = kinds
        w = kind.parameters["w"]
        own = [seeds[index] for index in kind.indices]
        leaders = [own.index(seed) for seed in own]
        of = {leader: members[kind.indices[leader]].problem.generators[0] for leader in leaders}

        def step(_: int):
            x = {leader: inputs(generator) for leader, generator in of.items()}
            rows = torch.cat([x[leader].expand(2, -1, -1) for leader in leaders])
            of_rows, measures = gradient(w, rows)
            return [of_rows], measures

        def evaluate(_: int):
            away = {"away": (w - TEACHER).abs().sum(1).numpy()}
            return rows.by_member(away, [2] * len(own))

        return batched.Whole(step, evaluate, leaders)

    return dict(batched.train(members, join, STEPS, AT))


def no_report(state, save) -> None:
    pass


def train_alone(problem: loop.Problem, resumed=None, report=no_report) -> loop.State:
    return loop.train(problem, STEPS, AT, resumed, report)


def is_same(one: batched.Ended, other: loop.State) -> bool:
    """Bit for bit."""
    assert isinstance(one, loop.State), one
    snapshots = zip(one.snapshots, other.snapshots, strict=True)
    alike = all(a["w"].tobytes() == b["w"].tobytes() for a, b in snapshots)
    return alike and (one.step, one.batch, one.curve) == (other.step, other.batch, other.curve)


def stop_at(step: int, checkpoint: dict, why: type[Exception] = Interrupted):
    def report(state, save) -> None:
        if state.step >= step:
            checkpoint.update(save())
            raise why

    return report


RATES = (0.01, 0.05, 0.3, 0.002)
SEEDS = [0, 3, 0, 3]


def test_each_learns_what_it_learns_alone():
    problems = [problem(rate, seed) for rate, seed in zip(RATES, SEEDS, strict=True)]
    states = train_at_once([batched.Member(member, {}, no_report) for member in problems], SEEDS)
    for index, (rate, seed) in enumerate(zip(RATES, SEEDS, strict=True)):
        lone = problem(rate, seed)
        assert is_same(states[index], train_alone(lone))
        assert torch.equal(problems[index].parameters["w"], lone.parameters["w"])
        generator = problems[index].generators[0]
        assert index > 1 or torch.equal(generator.get_state(), lone.generators[0].get_state())


def test_one_that_is_cancelled_and_one_that_diverges_leave_the_others_alone():
    checkpoint: dict[str, np.ndarray] = {}
    # The second is cancelled at step 7, the third's loss comes above its ceiling.
    reports = [no_report, stop_at(7, checkpoint, Cancelled), no_report, no_report]
    ceilings = (float("inf"), float("inf"), 3.0, float("inf"))
    members = [
        batched.Member(problem(rate, ceiling=ceiling), {}, report)
        for rate, ceiling, report in zip(RATES, ceilings, reports, strict=True)
    ]
    states = train_at_once(members, [0] * 4)
    assert isinstance(states[1], Cancelled) and isinstance(states[2], Diverged)
    with pytest.raises(Diverged, match=str(states[2])):
        train_alone(problem(RATES[2], ceiling=3.0))
    assert all(is_same(states[index], train_alone(problem(RATES[index]))) for index in (0, 3))
    # as if it had never had company
    resumed = train_alone(problem(RATES[1]), resumed=checkpoint)
    assert is_same(resumed, train_alone(problem(RATES[1])))


def test_checkpoints_go_from_one_to_many_and_back_and_who_is_behind_catches_up():
    checkpoints: list[dict[str, np.ndarray]] = [{}, {}, {}]
    for step, checkpoint, rate in zip((5, 20), checkpoints, RATES, strict=False):
        with pytest.raises(Interrupted):
            train_alone(problem(rate), report=stop_at(step, checkpoint))
    members = [
        batched.Member(problem(rate), checkpoint, no_report)
        for rate, checkpoint in zip(RATES, checkpoints, strict=False)
    ]
    members[2] = replace(members[2], report=stop_at(30, checkpoints[2]))
    states = train_at_once(members, [0] * 3)
    assert isinstance(states[2], Interrupted) and checkpoints[2]["step"][0] == 30
    assert all(is_same(states[index], train_alone(problem(RATES[index]))) for index in (0, 1))
    resumed = train_alone(problem(RATES[2]), resumed=checkpoints[2])
    assert is_same(resumed, train_alone(problem(RATES[2])))


def test_other_digits_than_alone_are_refused(monkeypatch):
    monkeypatch.setattr(batched, "loop", loop)
    plain = losses
    monkeypatch.setitem(globals(), "losses", lambda w, x: plain(w, x) * (1 + 1e-6 * (len(w) > 2)))
    outcomes = train_at_once(
        [batched.Member(problem(rate), {}, no_report) for rate in RATES], [0] * 4
    )
    assert all(isinstance(outcome, batched.Differs) for outcome in outcomes.values())


@pytest.mark.parametrize("late", [0, batched.COMPARED - 1])
def test_who_has_other_digits_is_done_alone_and_the_others_go_on(monkeypatch, late):
    """The third training's row has other digits, from the first step on or from a later one."""
    plain = losses
    steps = iter(range(10**6))

    def other_digits(w, x):
        factor = torch.ones(len(w))
        if len(w) == 8 and next(steps) >= late:  # all four trainings as one
            factor[4] += 1e-6
        return plain(w, x) * factor

    monkeypatch.setitem(globals(), "losses", other_digits)
    members = [batched.Member(problem(rate), {}, no_report) for rate in RATES]
    outcomes = train_at_once(members, [0] * 4)
    assert isinstance(outcomes[2], batched.Differs)
    monkeypatch.setitem(globals(), "losses", plain)
    for index in (0, 1, 3):
        assert is_same(outcomes[index], train_alone(problem(RATES[index])))


def layered(layers: int, bias: bool, rate: float) -> loop.Problem:
    """Two rows of a sum of `layers` weights, with a bias or without: a kind of its own."""
    parameters = {"w": torch.linspace(0, 1, 2 * layers * 3).reshape(2, layers, 3)}
    if bias:
        parameters["b"] = torch.zeros(2, 1)
    generator = torch.Generator().manual_seed(0)
    return loop.Problem(
        parameters,
        lambda step: summed(parameters, inputs(generator)),
        lambda step: {},
        partial(torch.optim.Adam, lr=rate),
        (generator,),
        loss="loss",
        schedule=loop.cosine(STEPS),
    )


def summed(parameters: dict[str, torch.Tensor], x: torch.Tensor):
    """The gradient of the rows [rows, layers, 3]; one layer after the other is added."""
    leaves = several_seeds.leaves(parameters)
    weights = torch.zeros(len(leaves["w"]), 3)
    for layer in leaves["w"].unbind(1):
        weights = weights + layer
    loss = losses(weights + leaves["b"] if "b" in leaves else weights, x)
    return several_seeds.gradients(loss, leaves), {"loss": loss.detach().numpy()}


def test_trainings_of_several_kinds_and_sizes_are_each_what_they_are_alone():
    """Of one, two and three layers; a layer that a row lacks is zero and stays it."""
    shapes = [(3, True), (1, True), (2, False), (2, True)]
    problems = [layered(*shape, rate) for shape, rate in zip(shapes, RATES, strict=True)]
    parameters: list[dict[str, torch.Tensor]] = []

    def join(kinds) -> batched.Whole:
        members = [index for kind in kinds for index in kind.indices]
        assert members == [0, 1, 3, 2]
        parameters[:] = [kind.parameters for kind in kinds]
        (generator,) = problems[members[0]].generators

        def step(_: int):
            x = inputs(generator)
            results = [summed(kind.parameters, x) for kind in kinds]
            for (gradients, _), kind in zip(results, kinds, strict=True):
                depths = torch.tensor([shapes[index][0] for index in kind.indices])
                layers = torch.arange(gradients["w"].shape[1])
                lacking = layers[None] >= depths.repeat_interleave(2)[:, None]  # [rows, layers]
                gradients["w"][lacking] = 0.0
            measures = {"loss": np.concatenate([measured["loss"] for _, measured in results])}
            return [gradients for gradients, _ in results], measures

        return batched.Whole(step, lambda _: [{}] * 4, [0] * 4)

    members = [
        batched.Member(member, {}, no_report, kind=bias)
        for member, (_, bias) in zip(problems, shapes, strict=True)
    ]
    outcomes = dict(batched.train(members, join, STEPS, AT))
    for index, (shape, rate) in enumerate(zip(shapes, RATES, strict=True)):
        lone = train_alone(layered(*shape, rate))
        outcome = outcomes[index]
        assert isinstance(outcome, loop.State)
        for one, other in zip(outcome.snapshots, lone.snapshots, strict=True):
            assert all(one[name].tobytes() == other[name].tobytes() for name in other)
        assert outcome.batch == lone.batch
    assert parameters[0]["w"].shape == (6, 3, 3) and not parameters[0]["w"][2:4, 1:].any()


EXPERIMENTS: Mapping[str, tuple[dict, list[dict]]] = {
    "memformers.convergence": (
        {"steps": 30, "batch": 200, "spectrum": "geometric"},
        [
            {"condition": 4.0},
            {"condition": 50.0, "learning_rate": 0.02, "initial": 0.2},
            {"seed": 3, "sigma2": 2.0},
        ],
    ),
    "memformers.convergence two seeds": (
        {
            "steps": 20,
            "batch": 100,
            "seeds": 2,
            "variant": "lfom",
            "batches": "fixed",
            "objective": "mean",
        },
        [{"learning_rate": 0.1}, {"learning_rate": 0.02}],
    ),
    "gdssm.layer": (
        {"steps": 20, "f": 4, "batch": 64},
        [{"learning_rate": 0.02}, {"learning_rate": 0.1}],
    ),
    "gdssm.layer two layers": (
        {"steps": 20, "f": 4, "batch": 64, "layers": 2, "recurrence": "scalar", "seeds": 2},
        [{"learning_rate": 0.02}, {"learning_rate": 0.1}],
    ),
}


def configs_of(name: str) -> tuple[Experiment, list]:
    """An entry's experiment and settings."""
    experiment = registry.experiment(name.split()[0])
    base, varied = EXPERIMENTS[name]
    return experiment, [
        replace(experiment.presets[0].config, **{**base, **fields}) for fields in varied
    ]


@cache
def rounds_alike() -> bool:
    """Return whether GD-SSM's layers have the digits of one alone in a batch, with the precision of
    a worker. Where a processor has bfloat16 tiles they do not, and runs are made one by one."""
    before = torch.get_float32_matmul_precision()
    experiment, configs = configs_of("gdssm.layer")
    device.set_threads(1)
    assert experiment.batching is not None
    runs = dict(experiment.batching.run(configs, [Recorder() for _ in configs]))
    torch.set_float32_matmul_precision(before)
    return not any(isinstance(run, batched.Differs) for run in runs.values())


@pytest.fixture(autouse=True)
def precision_that_rounds_alike(monkeypatch):
    """Compute exactly where "medium" rounds otherwise in a batch."""
    if not rounds_alike():
        monkeypatch.setenv("ICL_PRECISION", "highest")


@pytest.mark.parametrize("name", first_is_short(EXPERIMENTS))
def test_runs_that_are_made_as_one_equal_those_made_alone_bit_for_bit(name):
    experiment, configs = configs_of(name)
    device.set_threads(1)  # and the precision of products, as in a worker
    assert experiment.batching is not None and experiment.batching.most(configs[0]) >= len(configs)
    assert len({experiment.batching.alike(config) for config in configs}) == 1
    runs = dict(experiment.batching.run(configs, [Recorder() for _ in configs]))
    for index, config in enumerate(configs):
        lone = experiment.run(config, Recorder())
        run = runs[index]
        assert not isinstance(run, Exception), run
        assert list(run) == list(lone)
        for tensor, expected in lone.items():
            computed = np.asarray(run[tensor])
            assert (computed.dtype, computed.shape) == (expected.dtype, expected.shape), tensor
            assert computed.tobytes() == expected.tobytes(), tensor


LAYER = registry.experiment("gdssm.layer").config(steps=20, f=4, batch=64)


def ask(*rates: float, later: bool = True) -> list[str]:
    return [
        queue.submit(Request("gdssm.layer", replace(LAYER, learning_rate=rate)), later)
        for rate in rates
    ]


def statuses(keys: list[str]) -> list[str]:
    return [state.status if (state := queue.state(key)) else "" for key in keys]


def assert_same_as_alone(runs, key: str, rate: float) -> None:
    """The tensors of the run with this key are those of a training alone, to the last bit."""
    (path,) = (header.path for header in runs.headers("gdssm.layer") if header.key == key)
    tensors = read(path)[1]
    lone = registry.experiment("gdssm.layer").run(replace(LAYER, learning_rate=rate), Recorder())
    assert all(tensors[name].tobytes() == array.tobytes() for name, array in lone.items())


def test_jobs_of_one_shape_are_taken_at_once_and_each_is_a_run_of_its_own(runs, monkeypatch):
    seen: list[int] = []
    save = JobProgress.write_state
    monkeypatch.setattr(
        JobProgress, "write_state", lambda self: (seen.append(self.together), save(self))
    )
    keys = ask(0.02, 0.1, 0.003)
    other = queue.submit(Request("gdssm.layer", replace(LAYER, f=5)), later=True)  # another shape
    single = ask(0.05, later=False)[0]
    # nobody waits for others' runs
    assert worker.work(once=True, slots=1) == 1 and statuses([single]) == ["done"]
    assert worker.work(once=True, slots=1) == 3
    assert statuses([*keys, other]) == ["done", "done", "done", "queued"]
    headers = {header.key: header for header in runs.headers("gdssm.layer")}
    for key, rate in zip(keys, (0.02, 0.1, 0.003), strict=True):
        assert headers[key].config["rate"] == rate and headers[key].info["together"] == 3
        assert headers[key].info["metrics"] and not Job(key).checkpoint.exists()
    assert "together" not in headers[single].info and 3 in seen
    assert_same_as_alone(runs, keys[1], 0.1)


def test_two_workers_share_what_waits(runs, monkeypatch):
    """This one leaves half to the other, which is not started here: it would take its half."""
    monkeypatch.setattr(device, "idle_cores", lambda: 2)
    monkeypatch.setattr(spawn, "ensure_workers", lambda slots: 0)
    keys = ask(0.02, 0.1, 0.003, 0.004)
    assert worker.work(once=True, slots=2) == 2
    assert sorted(statuses(keys)) == ["done", "done", "queued", "queued"]


def test_one_job_is_cancelled_the_others_are_stopped_and_go_on_and_nothing_is_lost(
    runs, monkeypatch
):
    keys = ask(0.02, 0.1, 0.003)
    report = JobProgress.report
    stop: list[str] = []

    def reported(self, done, *rest):
        if done == 10 and not stop:
            queue.cancel(keys[0])
            table.cancel_request(self.job.key)
        if done == 15:
            stop.append("now")
        self._stopped = lambda: bool(stop)
        self._look = 0.0
        report(self, done, *rest)

    monkeypatch.setattr(JobProgress, "report", reported)
    assert worker.work(once=True, slots=1) == 3
    assert statuses(keys) == ["cancelled", "interrupted", "interrupted"]
    assert all(Job(key).checkpoint.exists() for key in keys) and queue.state(keys[0]).kept
    monkeypatch.setattr(JobProgress, "report", report)
    first_steps = []
    resume = JobProgress.resume
    monkeypatch.setattr(
        JobProgress, "resume", lambda self: first_steps.append(self.first_step) or resume(self)
    )
    assert worker.work(once=True, slots=1) == 2
    assert statuses(keys) == ["cancelled", "done", "done"] and min(first_steps) >= 15
    assert_same_as_alone(runs, keys[1], 0.1)


def test_a_program_that_cannot_be_is_no_jobs_failure(runs, monkeypatch, capsys):
    def differ(*_):
        raise batched.Differs("other digits here")

    monkeypatch.setattr(batched, "train", differ)
    keys = ask(0.02, 0.1)
    assert worker.work(once=True, slots=1) == 2 and statuses(keys) == ["done", "done"]
    assert "other digits here" in capsys.readouterr().err

"""Several trainings as one program: each is what it is alone, to the last bit, whatever becomes of
the others."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
import torch
from house import house

from icl_core import registry
from icl_core.contract.experiment import Cancelled, Diverged
from icl_core.jobs import queue, spawn, table, worker
from icl_core.jobs.folder import Job
from icl_core.jobs.job_progress import JobProgress
from icl_core.machine import device
from icl_core.runs.file import read
from icl_core.runs.request import Request
from icl_core.training import batched, loop, rows, several_seeds
from tests.recorder import Recorder

STEPS, AT = 40, loop.evaluations(40, 5)
TEACHER = torch.tensor([1.0, -2.0, 0.5])


class Interrupted(Exception):
    """The training was killed here."""


def losses(weights: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Of every row [rows] on inputs [rows or 1, batch, 3]."""
    return ((weights - TEACHER)[:, None] * x).sum(2).square().mean(1)


def drawn(generator: torch.Generator) -> torch.Tensor:
    return torch.randn(1, 16, 3, generator=generator)


def gradient(weights: torch.Tensor, x: torch.Tensor):
    leaves = several_seeds.leaves({"w": weights})
    found = losses(leaves["w"], x)
    return several_seeds.gradients(found, leaves), {"loss": found.detach().numpy()}


def problem(rate: float, seed: int = 0, ceiling: float = float("inf")) -> loop.Problem:
    """Two rows that find a teacher, with a rate of their own and inputs of their seed."""
    generator, w = (
        torch.Generator().manual_seed(seed),
        torch.tensor([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]),
    )
    return loop.Problem(
        {"w": w},
        lambda step: gradient(w, drawn(generator)),
        lambda step: {"away": (w - TEACHER).abs().sum(1).numpy()},
        partial(torch.optim.Adam, lr=rate),
        (generator,),
        loss="loss",
        schedule=loop.cosine(STEPS),
        ceiling=ceiling,
    )


def all_at_once(members: list[batched.Member], seeds: list[int]) -> dict[int, batched.Ended]:
    def join(kinds) -> batched.Whole:
        (kind,) = kinds
        w = kind.parameters["w"]
        own = [seeds[index] for index in kind.indices]
        leaders = [own.index(seed) for seed in own]
        of = {leader: members[kind.indices[leader]].problem.generators[0] for leader in leaders}

        def step(_: int):
            x = {leader: drawn(generator) for leader, generator in of.items()}
            rows = torch.cat([x[leader].expand(2, -1, -1) for leader in leaders])
            of_rows, measures = gradient(w, rows)
            return [of_rows], measures

        def evaluate(_: int):
            away = {"away": (w - TEACHER).abs().sum(1).numpy()}
            return rows.by_member(away, [2] * len(own))

        return batched.Whole(step, evaluate, leaders)

    return dict(batched.train(members, join, STEPS, AT))


def nothing(state, save) -> None:
    pass


def alone(of: loop.Problem, resumed=None, report=nothing) -> loop.State:
    return loop.train(of, STEPS, AT, resumed, report)


def same(one: batched.Ended, other: loop.State) -> bool:
    """Bit for bit."""
    assert isinstance(one, loop.State), one
    snapshots = zip(one.snapshots, other.snapshots, strict=True)
    alike = all(a["w"].tobytes() == b["w"].tobytes() for a, b in snapshots)
    return alike and (one.step, one.batch, one.curve) == (other.step, other.batch, other.curve)


def stopping(at: int, kept: dict, why: type[Exception] = Interrupted):
    def report(state, save) -> None:
        if state.step >= at:
            kept.update(save())
            raise why

    return report


RATES, SEEDS = (0.01, 0.05, 0.3, 0.002), [0, 3, 0, 3]


def test_each_learns_what_it_learns_alone():
    problems = [problem(rate, seed) for rate, seed in zip(RATES, SEEDS, strict=True)]
    found = all_at_once([batched.Member(each, {}, nothing) for each in problems], SEEDS)
    for index, (rate, seed) in enumerate(zip(RATES, SEEDS, strict=True)):
        lone = problem(rate, seed)
        assert same(found[index], alone(lone))
        assert torch.equal(problems[index].parameters["w"], lone.parameters["w"])
        assert (
            torch.equal(problems[index].generators[0].get_state(), lone.generators[0].get_state())
            or index > 1
        )


def test_one_that_is_cancelled_and_one_that_diverges_leave_the_others_alone():
    kept: dict[str, np.ndarray] = {}
    ceilings = (float("inf"), float("inf"), 3.0, float("inf"))  # the third's loss comes above it
    problems = [
        problem(rate, ceiling=ceiling) for rate, ceiling in zip(RATES, ceilings, strict=True)
    ]
    reports = [nothing, stopping(7, kept, Cancelled), nothing, nothing]
    found = all_at_once(
        [batched.Member(p, {}, r) for p, r in zip(problems, reports, strict=True)], [0] * 4
    )
    assert isinstance(found[1], Cancelled) and isinstance(found[2], Diverged)
    with pytest.raises(Diverged, match=str(found[2])):
        alone(problem(RATES[2], ceiling=3.0))
    assert same(found[0], alone(problem(RATES[0]))) and same(found[3], alone(problem(RATES[3])))
    assert same(
        alone(problem(RATES[1]), resumed=kept), alone(problem(RATES[1]))
    )  # as if it had never had company


def test_checkpoints_go_from_one_to_many_and_back_and_who_is_behind_catches_up():
    kept: list[dict[str, np.ndarray]] = [{}, {}, {}]
    for at, own, rate in zip((5, 20), kept, RATES, strict=False):
        with pytest.raises(Interrupted):
            alone(problem(rate), report=stopping(at, own))
    members = [
        batched.Member(problem(rate), own, nothing) for rate, own in zip(RATES, kept, strict=False)
    ]
    members[2] = replace(members[2], report=stopping(30, kept[2]))
    found = all_at_once(members, [0] * 3)
    assert isinstance(found[2], Interrupted) and kept[2]["step"][0] == 30
    assert all(same(found[index], alone(problem(RATES[index]))) for index in (0, 1))
    assert same(alone(problem(RATES[2]), resumed=kept[2]), alone(problem(RATES[2])))


def test_other_digits_than_alone_are_refused(monkeypatch):
    monkeypatch.setattr(batched, "loop", loop)
    plain = losses
    monkeypatch.setitem(globals(), "losses", lambda w, x: plain(w, x) * (1 + 1e-6 * (len(w) > 2)))
    ended = all_at_once([batched.Member(problem(rate), {}, nothing) for rate in RATES], [0] * 4)
    assert all(isinstance(outcome, batched.Differs) for outcome in ended.values())


@pytest.mark.parametrize("late", [0, batched.COMPARED - 1])
def test_who_has_other_digits_is_done_alone_and_the_others_go_on(monkeypatch, late):
    """The third training's row has other digits, from the first step on or from a later one."""
    plain = losses
    steps = iter(range(10**6))

    def other_digits(w, x):
        whole = len(w) == 8
        factor = torch.ones(len(w))
        if whole and next(steps) >= late:
            factor[4] += 1e-6
        return plain(w, x) * factor

    monkeypatch.setitem(globals(), "losses", other_digits)
    members = [batched.Member(problem(rate), {}, nothing) for rate in RATES]
    ended = all_at_once(members, [0] * 4)
    assert isinstance(ended[2], batched.Differs)
    monkeypatch.setitem(globals(), "losses", plain)
    for index in (0, 1, 3):
        assert same(ended[index], alone(problem(RATES[index])))


def layered(layers: int, bias: bool, rate: float) -> loop.Problem:
    """Two rows of a sum of `layers` weights, with a bias or without: a kind of its own."""
    parameters = {"w": torch.linspace(0, 1, 2 * layers * 3).reshape(2, layers, 3)}
    if bias:
        parameters["b"] = torch.zeros(2, 1)
    generator = torch.Generator().manual_seed(0)
    return loop.Problem(
        parameters,
        lambda step: summed(parameters, drawn(generator)),
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
    kept: list[dict[str, torch.Tensor]] = []

    def join(kinds) -> batched.Whole:
        members = [index for kind in kinds for index in kind.indices]
        assert members == [0, 1, 3, 2]
        kept[:] = [kind.parameters for kind in kinds]
        (generator,) = problems[members[0]].generators

        def step(_: int):
            x = drawn(generator)
            made = [summed(kind.parameters, x) for kind in kinds]
            for (gradients, _), kind in zip(made, kinds, strict=True):
                own = torch.tensor([shapes[index][0] for index in kind.indices]).repeat_interleave(
                    2
                )
                layers = torch.arange(gradients["w"].shape[1])
                gradients["w"][layers[None] >= own[:, None]] = 0.0
            measures = {"loss": np.concatenate([measured["loss"] for _, measured in made])}
            return [gradients for gradients, _ in made], measures

        return batched.Whole(step, lambda _: [{}] * 4, [0] * 4)

    members = [
        batched.Member(each, {}, nothing, kind=bias)
        for each, (_, bias) in zip(problems, shapes, strict=True)
    ]
    ended = dict(batched.train(members, join, STEPS, AT))
    for index, (shape, rate) in enumerate(zip(shapes, RATES, strict=True)):
        lone = loop.train(layered(*shape, rate), STEPS, AT, None, nothing)
        outcome = ended[index]
        assert isinstance(outcome, loop.State)
        for one, other in zip(outcome.snapshots, lone.snapshots, strict=True):
            assert all(one[name].tobytes() == other[name].tobytes() for name in other)
        assert outcome.batch == lone.batch
    assert kept[0]["w"].shape == (6, 3, 3) and not kept[0]["w"][2:4, 1:].any()


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


@cache
def rounds_alike() -> bool:
    """Return whether GD-SSM's layers have the digits of one alone in a batch, with the precision of
    a worker. Where a processor has bfloat16 tiles they do not, and runs are made one by one."""
    before = torch.get_float32_matmul_precision()
    experiment = registry.experiment("gdssm.layer")
    base, varied = EXPERIMENTS["gdssm.layer"]
    configs = [replace(experiment.presets[0].config, **{**base, **each}) for each in varied]
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


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_runs_that_are_made_as_one_equal_those_made_alone_bit_for_bit(name):
    experiment = registry.experiment(name.split()[0])
    base, varied = EXPERIMENTS[name]
    configs = [replace(experiment.presets[0].config, **{**base, **each}) for each in varied]
    device.set_threads(1)  # and the precision of products, as in a worker
    assert experiment.batching is not None and experiment.batching.most(configs[0]) >= len(configs)
    assert len({experiment.batching.alike(config) for config in configs}) == 1
    made = dict(experiment.batching.run(configs, [Recorder() for _ in configs]))
    for index, config in enumerate(configs):
        lone, run = experiment.run(config, Recorder()), made[index]
        assert not isinstance(run, Exception), run
        assert list(run) == list(lone)
        for tensor, array in lone.items():
            mine = np.asarray(run[tensor])
            assert (mine.dtype, mine.shape) == (
                array.dtype,
                array.shape,
            ) and mine.tobytes() == array.tobytes(), tensor


LAYER = registry.experiment("gdssm.layer").config(steps=20, f=4, batch=64)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    with house(tmp_path, monkeypatch) as made:
        yield made


def ask(*rates: float, later: bool = True) -> list[str]:
    return [
        queue.submit(Request("gdssm.layer", replace(LAYER, learning_rate=rate)), later)
        for rate in rates
    ]


def statuses(keys: list[str]) -> list[str]:
    return [state.status if (state := queue.state(key)) else "" for key in keys]


def test_jobs_of_one_shape_are_taken_at_once_and_each_is_a_run_of_its_own(runs, monkeypatch):
    seen: list[int] = []
    save = JobProgress.write_state
    monkeypatch.setattr(
        JobProgress, "write_state", lambda self: (seen.append(self.together), save(self))
    )
    keys = ask(0.02, 0.1, 0.003)
    other = queue.submit(Request("gdssm.layer", replace(LAYER, f=5)), later=True)  # another shape
    single = ask(0.05, later=False)[0]
    assert worker.work(once=True, slots=1) == 1 and statuses([single]) == [
        "done"
    ]  # nobody waits for others' runs
    assert worker.work(once=True, slots=1) == 3 and statuses([*keys, other]) == ["done"] * 3 + [
        "queued"
    ]
    headers = {header.key: header for header in runs.headers("gdssm.layer")}
    for key, rate in zip(keys, (0.02, 0.1, 0.003), strict=True):
        assert headers[key].config["rate"] == rate and headers[key].info["together"] == 3
        assert headers[key].info["metrics"] and not Job(key).checkpoint.exists()
    assert "together" not in headers[single].info and 3 in seen
    lone = registry.experiment("gdssm.layer").run(replace(LAYER, learning_rate=0.1), Recorder())
    kept = read(headers[keys[1]].path)[1]
    assert all(kept[name].tobytes() == array.tobytes() for name, array in lone.items())


def test_two_workers_share_what_waits(runs, monkeypatch):
    """This one leaves half to the other, which is not started here: it would take its half."""
    monkeypatch.setattr(device, "idle_cores", lambda: 2)
    monkeypatch.setattr(spawn, "ensure_workers", lambda slots: 0)
    keys = ask(0.02, 0.1, 0.003, 0.004)
    assert worker.work(once=True, slots=2) == 2 and sorted(statuses(keys)) == [
        "done",
        "done",
        "queued",
        "queued",
    ]


def test_one_job_is_cancelled_the_others_are_stopped_and_go_on_and_nothing_is_lost(
    runs, monkeypatch
):
    keys, report = ask(0.02, 0.1, 0.003), JobProgress.report
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
    first = []
    resume = JobProgress.resume
    monkeypatch.setattr(
        JobProgress, "resume", lambda self: first.append(self.first_step) or resume(self)
    )
    assert (
        worker.work(once=True, slots=1) == 2
        and statuses(keys) == ["cancelled", "done", "done"]
        and min(first) >= 15
    )
    lone = registry.experiment("gdssm.layer").run(replace(LAYER, learning_rate=0.1), Recorder())
    kept = read(
        next(header.path for header in runs.headers("gdssm.layer") if header.key == keys[1])
    )[1]
    assert all(kept[name].tobytes() == array.tobytes() for name, array in lone.items())


def test_a_program_that_cannot_be_is_no_jobs_failure(runs, monkeypatch, capsys):
    def differ(*_):
        raise batched.Differs("other digits here")

    monkeypatch.setattr(batched, "train", differ)
    keys = ask(0.02, 0.1)
    assert worker.work(once=True, slots=1) == 2 and statuses(keys) == ["done", "done"]
    assert "other digits here" in capsys.readouterr().err

"""Parts of one computation on several cores: in their order, with the digits of one core, and on no
core that others use."""

import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from icl_core.machine import cores, device
from icl_core.papers.birth.dimension import train as dimension
from icl_core.papers.birth.shared import gradient, model, train
from icl_core.papers.birth.shared.full import head_scores
from icl_core.papers.birth.shared.full import model as full_model
from icl_core.papers.birth.shared.full import train as full_train
from icl_core.papers.birth.shared.full.settings import Config as FullConfig
from icl_core.papers.birth.shared.settings import Config
from icl_core.papers.birth.shared.task import make_task, sample
from icl_core.papers.birth.transformer.ablation import Bench, each_alone
from icl_core.papers.gdssm.shared.sequence_models import settings as comparison_settings
from icl_core.papers.gdssm.shared.sequence_models import train as comparison
from icl_core.papers.gdssm.shared.sequence_models.all_models import learners
from icl_core.training import loop


@pytest.fixture
def on_threads(monkeypatch):
    """Have computations on the CPU take so many threads."""
    monkeypatch.setattr(device, "is_gpu", lambda: False)
    return lambda count: monkeypatch.setattr(cores, "free_cores", lambda: count)


@pytest.mark.parametrize("threads", [1, 2, 16])
def test_results_come_in_the_order_of_the_parts(on_threads, threads):
    on_threads(threads)
    computed_by = set()

    def work(part: int) -> int:
        time.sleep(0.001 * (7 - part % 8))  # later parts end first
        computed_by.add(threading.current_thread().name)
        return part**2

    assert list(cores.in_order(work, range(20))) == [part**2 for part in range(20)]
    assert (len(computed_by) > 1) == (threads > 1)


def test_no_more_parts_are_in_memory_than_there_are_threads(on_threads):
    on_threads(3)
    begun = []

    def parts():
        for part in range(10):
            begun.append(part)
            yield part

    for result in cores.in_order(lambda part: part, parts()):
        assert len(begun) <= result + 4  # three at work, and the one that takes the place of this


def test_a_fault_of_a_part_is_raised(on_threads):
    on_threads(2)
    with pytest.raises(ZeroDivisionError):
        list(cores.in_order(lambda part: 1 / part, [1, 0]))


def test_where_torch_has_several_threads_it_keeps_them(on_threads, monkeypatch):
    on_threads(2)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    threads = set(cores.in_order(lambda part: threading.current_thread().name, range(8)))
    assert threads == {threading.current_thread().name}


@pytest.fixture
def batch():
    """512 sequences: eight chunks of the simplified model and sixteen of the full one."""
    return sample(make_task(16, 2, 64), 512, torch.Generator().manual_seed(0))


def _assert_same_bits(on_threads, compute):
    """Compute gradients and measures on one, two and sixteen threads."""
    outcomes = []
    for threads in (1, 2, 16):
        on_threads(threads)
        outcomes.append(compute())
    gradients, measures = outcomes[0]
    for other_gradients, other_measures in outcomes[1:]:
        assert other_measures == measures
        for name, expected in gradients.items():
            assert torch.equal(other_gradients[name], expected), name


def test_the_gradient_of_the_simplified_model_has_the_same_bits_on_any_number_of_cores(
    on_threads, batch
):
    weights = model.initialise(16, 16, 64, torch.Generator().manual_seed(1))
    _assert_same_bits(on_threads, lambda: gradient.loss_and_gradient(weights, batch, "all"))


def test_the_gradient_of_the_full_model_has_the_same_bits_on_any_number_of_cores(on_threads, batch):
    weights = full_model.initialise(16, 16, 64, 2, torch.Generator().manual_seed(1))
    compute = partial(full_train.loss_and_gradient, weights, batch, 2, "all", list(weights))
    _assert_same_bits(on_threads, compute)


def test_what_trains_one_memory_at_all_rates_has_the_same_bits_on_any_number_of_cores(
    on_threads, batch
):
    weights = model.initialise(16, 16, 64, torch.Generator().manual_seed(1))
    matrices = torch.randn(5, 16, 16, generator=torch.Generator().manual_seed(2))  # five rates

    def compute():
        read = dimension.attended(weights, batch)
        losses, gradients = dimension.loss_and_gradient(weights.W_U, matrices, *read)
        return {"W_O2": gradients}, losses.tolist()

    _assert_same_bits(on_threads, compute)


def test_what_heads_do_has_the_same_bits_on_any_number_of_cores(on_threads, batch):
    weights = full_model.initialise(16, 16, 64, 2, torch.Generator().manual_seed(1))
    task = make_task(16, 2, 64)
    heads = [(1, 1), (1, 2)]

    def compute():
        achieved, behaviour = head_scores.look(weights, batch, heads=2)
        effects = each_alone(Bench(weights, task, batch, 2), heads)
        # NaN: what a way of replacing does not measure
        by_way = {way: torch.from_numpy(effect).nan_to_num() for way, effect in effects.items()}
        return {**behaviour._asdict(), **by_way}, achieved

    _assert_same_bits(on_threads, compute)


def test_an_evaluation_of_the_comparison_has_the_same_bits_on_any_number_of_cores(on_threads):
    setting = comparison_settings.Config(f=3, N=5, batch=2048, seeds=2)
    learner = next(each for each in learners(setting) if each.model.id == "linear-1")
    weights = learner.initial([0, 1])
    tasks = comparison.tasks(setting, setting.batch, torch.Generator().manual_seed(0))
    assert len(tasks) > 2 * comparison.EVALUATED

    def compute():
        return {}, comparison.evaluate(learner, weights, tasks).tolist()

    _assert_same_bits(on_threads, compute)


@pytest.mark.parametrize("threads", [1, 2, 16])
def test_what_is_drawn_ahead_is_what_would_be_drawn(on_threads, threads):
    on_threads(threads)
    generator = torch.Generator().manual_seed(0)
    alone = torch.Generator().manual_seed(0)
    draw = cores.ahead(lambda source: torch.randn(5, generator=source), generator)
    for _ in range(4):
        assert torch.equal(draw(), torch.randn(5, generator=alone))
        assert torch.equal(generator.get_state(), alone.get_state())  # for a checkpoint
    alone.manual_seed(1)
    generator.manual_seed(1)  # as a checkpoint sets it
    assert torch.equal(draw(), torch.randn(5, generator=alone))


@pytest.mark.parametrize(("module", "config"), [(train, Config()), (full_train, FullConfig())])
def test_a_training_that_goes_on_on_other_cores_ends_in_the_same_bits(on_threads, module, config):
    """Two steps on one core, and two more on sixteen, from a checkpoint; against four on two."""
    config = replace(config, N=16, T=32, d=16, K=2, batch=64, steps=10)
    saved: dict[str, np.ndarray] = {}

    def parameters_after(steps: int, threads: int, resumed: dict[str, np.ndarray]):
        on_threads(threads)
        weights, generator = module.begun(config)
        training = module.problem(config, weights, generator, lambda step: {})
        loop.train(training, steps, [], resumed, lambda state, save: saved.update(save()))
        return training.parameters

    expected = parameters_after(4, 2, {})
    parameters_after(2, 1, {})
    parameters = parameters_after(4, 16, dict(saved))
    for name, tensor in expected.items():
        assert torch.equal(parameters[name], tensor), name


def test_where_no_thread_can_be_started_one_is_enough(on_threads, monkeypatch):
    on_threads(4)
    pool = ThreadPoolExecutor(1)
    pool.shutdown()  # it takes no more work
    monkeypatch.setattr(cores, "_pool", lambda: pool)
    assert list(cores.in_order(abs, [-1, -2, -3])) == [1, 2, 3]
    draw = cores.ahead(lambda source: torch.rand(1, generator=source), torch.Generator())
    assert draw() != draw()


@pytest.mark.parametrize(
    ("used", "idle", "free"),
    [
        (1.0, 7.0, 8),  # alone on eight cores
        (2.0, 0.0, 2),  # it uses two, and others the rest
        (1.9, 2.3, 4),
        (0.2, 0.1, 1),  # never none
        (1.0, 60.0, 8),  # never more than this process may use
    ],
)
def test_cores_that_others_use_are_not_free(monkeypatch, used, idle, free):
    """Over two seconds."""
    monkeypatch.setattr(cores, "_last", cores._Look(100.0, 50.0, 900.0, 1))
    monkeypatch.setattr(device, "core_count", lambda: 8)
    monkeypatch.setattr(cores, "_idle_seconds", lambda: 900.0 + 2 * idle)
    monkeypatch.setattr(cores, "_room", lambda: 100)
    clock = SimpleNamespace(monotonic=lambda: 102.0, process_time=lambda: 50.0 + 2 * used)
    monkeypatch.setattr(cores, "time", clock)
    assert cores.free_cores() == free
    assert cores.free_cores() == free  # looked up once a second


@pytest.mark.parametrize(
    ("seconds", "room", "free"), [(2.0, 100, 8), (2.0, 2, 3), (3600.0, 100, 1)]
)
def test_neither_more_than_fits_nor_what_was_free_long_ago(monkeypatch, seconds, room, free):
    monkeypatch.setattr(cores, "_last", cores._Look(100.0, 50.0, 900.0, 1))
    monkeypatch.setattr(device, "core_count", lambda: 8)
    monkeypatch.setattr(cores, "_idle_seconds", lambda: 900.0 + 8 * seconds)
    monkeypatch.setattr(cores, "_room", lambda: room)
    clock = SimpleNamespace(monotonic=lambda: 100.0 + seconds, process_time=lambda: 50.0)
    monkeypatch.setattr(cores, "time", clock)
    assert cores.free_cores() == free


def test_trainings_side_by_side_share_the_cores_and_one_that_is_left_has_them_all(monkeypatch):
    """Of eight cores, which the system shares evenly among the threads of all."""
    count = 8
    monkeypatch.setattr(device, "core_count", lambda: count)
    monkeypatch.setattr(cores, "_room", lambda: 100)
    none = cores._Look(-math.inf, 0.0, 0.0, 1)
    trainings = [SimpleNamespace(threads=1, used=0.0, last=none) for _ in range(3)]
    idle = 0.0
    shares = []
    for now in range(100, 130):
        if now == 115:
            trainings = trainings[:1]
        threads = sum(training.threads for training in trainings)
        idle += 2 * max(0, count - threads)
        monkeypatch.setattr(cores, "_idle_seconds", lambda idle=idle: idle)
        for training in trainings:
            training.used += 2 * training.threads * min(1.0, count / threads)
            clock = SimpleNamespace(
                monotonic=lambda now=now: 2.0 * now, process_time=lambda used=training.used: used
            )
            monkeypatch.setattr(cores, "time", clock)
            monkeypatch.setattr(cores, "_last", training.last)
            training.threads = cores.free_cores()
            training.last = cores._last
        shares.append([training.threads for training in trainings])
    assert sum(shares[14]) <= count + 1 and min(shares[14]) >= 2
    assert shares[-1] == [count]

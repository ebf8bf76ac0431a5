"""Parts of one computation on several cores: in their order, with the digits of one core, and on no
core that others use."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from icl_core.machine import cores, device
from icl_core.papers.birth.shared import gradient, model
from icl_core.papers.birth.shared.full import model as full_model
from icl_core.papers.birth.shared.full import train as full_train
from icl_core.papers.birth.shared.task import make_task, sample


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


def test_where_no_thread_can_be_started_one_is_enough(on_threads, monkeypatch):
    on_threads(4)
    pool = ThreadPoolExecutor(1)
    pool.shutdown()  # it takes no more work
    monkeypatch.setattr(cores, "_pool", lambda: pool)
    assert list(cores.in_order(abs, [-1, -2, -3])) == [1, 2, 3]


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

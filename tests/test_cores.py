"""Parts of one computation on several cores: in their order, with the digits of one core, and on no
core that others use."""

import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from icl_core import registry
from icl_core.machine import cores, device
from tests import golden
from tests.recorder import Recorder


@pytest.fixture
def on_threads(monkeypatch):
    """Have computations take so many threads."""
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


def test_a_fault_of_a_part_is_raised(on_threads):
    on_threads(2)
    with pytest.raises(ZeroDivisionError):
        list(cores.in_order(lambda part: 1 / part, [1, 0]))


def test_where_torch_has_several_threads_it_keeps_them(on_threads, monkeypatch):
    on_threads(2)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    threads = set(cores.in_order(lambda part: threading.current_thread().name, range(8)))
    assert threads == {threading.current_thread().name}


@pytest.mark.parametrize("id", ["birth.induction", "birth.transformer"])
def test_a_run_has_the_same_bits_on_any_number_of_cores(on_threads, id):
    """Of sequences that make many chunks."""
    experiment = registry.experiment(id)
    config = replace(golden.ten_steps(experiment), seeds=1, batch=256, d=16, T=32)
    runs = []
    for threads in (1, 2, 16):
        on_threads(threads)
        runs.append(experiment.run(config, Recorder()))
    for tensors in runs[1:]:
        assert tensors.keys() == runs[0].keys()
        for name, array in tensors.items():
            assert array.tobytes() == runs[0][name].tobytes(), name


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
    clock = SimpleNamespace(monotonic=lambda: 102.0, process_time=lambda: 50.0 + 2 * used)
    monkeypatch.setattr(cores, "time", clock)
    times = SimpleNamespace(idle=900.0 + 2 * idle)
    monkeypatch.setattr(cores, "psutil", SimpleNamespace(cpu_times=lambda: times))
    assert cores.free_cores() == free
    assert cores.free_cores() == free  # looked up once a second

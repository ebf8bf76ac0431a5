"""A machine whose memory runs out, or whose GPU is lost: the job says so, its checkpoint stays,
others go on."""

import errno
import os
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from house import ask
from streamlit.testing.v1 import AppTest

from icl_core.contract.experiment import Run
from icl_core.evidence import measurements
from icl_core.jobs import faults, job_progress, phase_helper, queue, train, worker
from icl_core.jobs.faults import GPU, MEMORY, fault_kind
from icl_core.jobs.folder import Job
from icl_core.machine import device
from icl_core.papers.birth.shared.settings import Config as Birth

FULL = (
    "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 139.80 "
    "GiB\nadvice"
)
LOST = "CUDA error: unspecified launch failure\nCUDA kernel errors might be asynchronously reported"


@pytest.fixture
def breaks(runs, monkeypatch):
    """From the call on, step 10 of a training raises that problem, of a class and words, right
    behind a checkpoint."""
    monkeypatch.setattr(worker, "know_pace", lambda: None)
    for name in ("FIRST_CHECKPOINT", "CHECKPOINT"):
        monkeypatch.setattr(job_progress, name, 0.0)
    report = job_progress.JobProgress.report
    problems = []

    def reports(self, done, *rest):
        report(self, done, *rest)
        if done == 10 and problems:
            kind, words = problems[0]
            raise kind(words)  # a new one: it holds the training's frames, and so its lock

    monkeypatch.setattr(job_progress.JobProgress, "report", reports)
    return lambda *problem: problems.append(problem) if problem else problems.clear()


def work() -> int:
    return worker.work(once=True, slots=1)


def real(make) -> BaseException:
    with pytest.raises((RuntimeError, MemoryError)) as raised:
        make()
    return raised.value


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (real(lambda: torch.empty(2**58)), MEMORY),
        (real(lambda: np.empty(2**58)), MEMORY),
        (torch.OutOfMemoryError(FULL), MEMORY),
        (torch.AcceleratorError("CUDA error: out of memory"), MEMORY),
        (torch.AcceleratorError(LOST), GPU),
        (
            RuntimeError(
                "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"
            ),
            MEMORY,
        ),
        (
            RuntimeError("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm`"),
            GPU,
        ),
        (real(lambda: torch.ones(2) @ torch.ones(3)), ""),
        (ValueError("CUDA error"), ""),
        (OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), MEMORY),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), ""),
        (ImportError("libtorch.so: failed to map segment from shared object"), MEMORY),
        (ImportError("no module named torch"), ""),
        (RuntimeError("could not create a primitive"), MEMORY),
        (RuntimeError("can't start new thread"), MEMORY),
    ],
)
def test_faults_of_a_machine_are_told_from_those_of_an_experiment(problem, expected):
    assert fault_kind(problem) == expected


def test_where_memory_ran_out_the_job_fails_in_words_and_goes_on_when_asked_again(runs, breaks):
    broken = ask()
    other = ask(seed=1)
    breaks(torch.OutOfMemoryError, FULL)
    work()
    state = queue.state(broken)
    assert state.status == "failed" and state.kept and Job(broken).checkpoint.exists()
    assert "ran out: 20.00 GiB more were asked for" in state.message
    assert "are free now" in state.message
    assert "The last checkpoint is kept" in state.message and "advice" not in state.message
    breaks()
    work()
    assert queue.state(other).status == "done"
    first_steps = []
    with pytest.MonkeyPatch.context() as patch:
        progress = job_progress.JobProgress
        resume = progress.resume
        patch.setattr(
            progress, "resume", lambda self: first_steps.append(self.first_step) or resume(self)
        )
        assert ask() == broken and work() == 1
    assert queue.state(broken).status == "done"
    assert first_steps == [10]
    assert not Job(broken).checkpoint.exists()


def test_the_batch_that_would_fit_is_the_estimates_or_half(monkeypatch):
    config = Birth(batch=256)
    estimate = device.estimated(lambda: Birth(batch=256))
    less = device.estimated(lambda: Birth(batch=112))
    assert less < estimate
    monkeypatch.setattr(device, "release", lambda: less)
    message = faults.memory_message(
        config, "DefaultCPUAllocator: can't allocate memory: you tried to allocate 3221225472 bytes"
    )
    assert "a batch of 112 is estimated to fit" in message
    assert "3.0 GiB more were asked for" in message
    monkeypatch.setattr(device, "release", lambda: 2 * estimate)  # it should have fitted
    assert "a batch of 128 may fit" in faults.memory_message(config, "")
    monkeypatch.setattr(device, "release", lambda: 1)
    assert "its settings are too large" in faults.memory_message(config, "")


def test_an_estimate_refuses_nothing_and_what_follows_it_is_refused(monkeypatch):
    monkeypatch.setattr(device, "memory", lambda: 2**20)
    assert device.estimated(Birth) > 2**20
    with pytest.raises(ValueError, match="must fit the memory"):
        Birth()


def test_a_lost_gpu_ends_the_worker_and_the_next_goes_on(runs, breaks):
    key = ask()
    breaks(torch.AcceleratorError, LOST)
    assert worker.work(slots=1) == 0  # and did not wait for more
    state = queue.state(key)
    assert state.status == "interrupted"
    assert state.message == "the GPU was lost: CUDA error: unspecified launch failure"
    assert Job(key).checkpoint.exists()
    breaks()
    assert work() == 1 and queue.state(key).status == "done"


def test_a_gpu_that_is_lost_three_times_at_one_place_fails_the_job(runs, breaks):
    key = ask()
    breaks(torch.AcceleratorError, LOST)
    for _ in range(train.DEATHS + 1):
        work()
    state = queue.state(key)
    assert state.status == "failed"
    assert "killed 3 times without getting beyond step 10; the GPU was lost" in state.message


def test_a_gpu_lost_among_the_metrics_fails_no_metric(runs, monkeypatch):
    key = ask()
    problems = [torch.AcceleratorError(LOST)]
    measure = measurements.measure
    monkeypatch.setattr(
        measurements,
        "measure",
        lambda *of: (_ for _ in ()).throw(problems.pop()) if problems else measure(*of),
    )
    work()
    assert queue.state(key).status == "interrupted" and not runs.headers()
    work()
    assert queue.state(key).status == "done" and runs.headers()[0].info["metrics"]


@pytest.mark.parametrize(("message", "lost"), [(LOST, True), (FULL, False)], ids=["lost", "full"])
def test_a_helper_whose_gpu_is_lost_ends_and_one_without_memory_gives_it_back(
    runs, monkeypatch, message, lost
):
    key = ask()
    releases = []
    monkeypatch.setattr(device, "release", lambda: releases.append(1) or 1)
    monkeypatch.setattr(
        phase_helper.SharedTrainings,
        "begin",
        lambda *of: (_ for _ in ()).throw(torch.AcceleratorError(message)),
    )
    if lost:
        with pytest.raises(faults.GpuLost):
            phase_helper.assist(Job(key), lambda: False, lambda: False)
    else:
        assert phase_helper.assist(Job(key), lambda: False, lambda: False) == 0
    assert bool(releases) != lost


@pytest.mark.parametrize(("where", "expected"), [("cuda", "highest"), ("cpu", "medium")])
def test_metrics_have_whole_products_on_a_gpu_and_what_was_set_on_a_cpu(
    monkeypatch, where, expected
):
    before = torch.get_float32_matmul_precision()
    monkeypatch.setattr(device, "current_device", lambda: torch.device(where))
    precisions = []

    def metrics(run):
        precisions.append(torch.get_float32_matmul_precision())
        return []

    experiment = SimpleNamespace(claims=(), metrics=metrics)
    try:
        torch.set_float32_matmul_precision("medium")
        records = measurements.measure(experiment, Run(None, {}))  # type: ignore[arg-type]
        assert records == [] and precisions == [expected]
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)


@pytest.mark.gpu
def test_a_gpu_without_room_says_so_and_its_metrics_are_exact():
    assert fault_kind(real(lambda: torch.empty(2**45, device="cuda"))) == MEMORY
    x = torch.randn(512, 512, generator=torch.Generator().manual_seed(0))
    torch.set_float32_matmul_precision("medium")
    with device.exact():
        product = (x.cuda() @ x.cuda()).cpu()
    assert torch.allclose(product, (x.double() @ x.double()).float(), atol=1e-3)


def page_without_memory():
    import streamlit as st

    from pages.ui.look.memory_fault import say_if_memory_ends

    @st.fragment
    @say_if_memory_ends
    def part(problem):
        raise problem

    part(MemoryError("nothing is left"))
    part(ValueError("a fault"))


def test_a_fragment_of_a_page_says_that_memory_has_run_out_and_nothing_else():
    app = AppTest.from_function(page_without_memory, default_timeout=60).run()
    (error,) = app.error
    assert "of this server has run out" in error.value and "nothing is left" in error.value
    assert len(app.exception) == 1

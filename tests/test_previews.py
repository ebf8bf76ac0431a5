"""The model of a run in training: how often and how large it is written, and that it is the one of
the checkpoint; what a cancelled job keeps."""

import numpy as np
import pytest
from house import TOY, config

from icl_core import registry
from icl_core.contract.experiment import CannotDraw
from icl_core.jobs import job_progress, queue, worker
from icl_core.jobs.folder import Job
from icl_core.jobs.job_progress import (
    LARGEST_PREVIEW,
    JobProgress,
    PreviewWriter,
    packed_preview,
    read_preview,
)
from icl_core.runs import store
from icl_core.runs.file import read
from icl_core.runs.header import stored_settings
from icl_core.runs.request import Request
from tests.recorder import Recorder

pytestmark = pytest.mark.usefixtures("runs")

STEP = {"snapshot/step": np.array([7])}


def record(**more):
    values = stored_settings(config())
    times = {"step": 7, "total": 20, "seconds": 1.0}
    return {"experiment": TOY, "version": 1, "config": values, **times, **more}


def of_random(*shape: int) -> dict[str, np.ndarray]:
    numbers = np.random.default_rng(0).normal(size=shape)
    return {**STEP, "final/W": numbers.astype(np.float32)}


@pytest.mark.parametrize("duration, pause", [(0.001, 1.0), (0.06, 2.0)])
def test_it_is_written_at_most_once_a_second_and_for_a_share_of_the_time(tmp_path, duration, pause):
    clock = [100.0]
    writer = PreviewWriter(tmp_path / "preview", lambda: clock[0])

    def model():
        clock[0] += duration
        return of_random(4, 4)

    written = []
    while clock[0] < 120:
        if writer.write(model, record):
            written.append(clock[0] - duration)
        clock[0] += 0.0005  # a step of the training
    apart = np.diff(written)
    assert written[0] == 100  # before the first step: a page shows the model at once
    assert len(written) > 5 and np.all(apart >= 1)
    assert np.all(apart == pytest.approx(pause, abs=0.002))
    assert duration * len(written) <= job_progress.PREVIEW_SHARE * 20


@pytest.mark.parametrize("d, error", [(128, 2**-11), (280, 1 / 254), (600, None)])
def test_it_is_small(d, error):
    """In half precision, in a byte an entry where that is too much, or not at all."""
    model = of_random(3, d, d)
    content = packed_preview(model, record())
    assert len(content) <= LARGEST_PREVIEW and bool(content) == (error is not None)
    if content:
        job = Job("toy")
        job.folder.mkdir(parents=True)
        job.preview.write_bytes(content)
        run = read_preview("toy")
        assert run is not None and not run.finished and run.snapshot_steps == [7]
        exact = model["final/W"]
        largest = np.abs(exact).max(-1, keepdims=True)
        assert run["final/W"].dtype == np.float32
        assert np.all(np.abs(run["final/W"] - exact) <= error * largest + 1e-7)
        with pytest.raises(CannotDraw, match="when the training has ended"):
            run["evaluated/loss"]


def test_a_file_that_disappears_or_is_damaged_counts_as_none():
    assert job_progress.preview_stamp("nobody") == 0 and read_preview("nobody") is None
    job = Job("toy")
    job.folder.mkdir(parents=True)
    job.preview.write_bytes(b"half a fi")
    assert job_progress.preview_stamp("toy") > 0 and read_preview("toy") is None


def stopped_at(step: int, monkeypatch) -> str:
    """The key of a job that was cancelled after so many steps."""
    key = queue.submit(Request(TOY, config()))
    report = JobProgress.report

    def reports(self, done, *rest):
        self._look_at = 0.0
        if done == step:
            self._preview._due = 0.0
            queue.cancel(key)
        report(self, done, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(JobProgress, "report", reports)
        worker.work(once=True, slots=1)
    return key


def test_a_cancelled_job_goes_on_and_ends_as_one_long_training(monkeypatch):
    key = stopped_at(7, monkeypatch)
    state = queue.state(key)
    assert (state.status, state.kept, state.step) == ("cancelled", True, 7)
    seen = []
    resume = JobProgress.resume
    monkeypatch.setattr(
        JobProgress, "resume", lambda self: seen.append(self.first_step) or resume(self)
    )
    assert queue.submit(Request(TOY, config())) == key and Job(key).checkpoint.exists()
    worker.work(once=True, slots=1)
    assert queue.state(key).status == "done" and seen == [7]
    assert not Job(key).checkpoint.exists() and not Job(key).preview.exists()
    run = store.default().load(store.default().exact(TOY, key))
    alone = registry.experiment(TOY).run(config(), Recorder())
    assert run.tensors.keys() == alone.keys()
    for name, array in alone.items():
        assert np.array_equal(run[name], array), name


def test_its_preview_is_the_checkpoints_model(monkeypatch):
    key = queue.submit(Request(TOY, config()))
    report = JobProgress.report

    def reports(self, done, total, loss, live, state, preview):
        if done == 7:
            self._preview._due = self._checkpoint_at = 0.0
            report(self, done, total, loss, live, state, preview)
            _, saved = read(Job(key).checkpoint)
            run = read_preview(key)
            exact = saved["now/walk/parameter/weights"]
            assert run.snapshot_steps == [7] and run.info["step"] == 7
            assert np.allclose(run["snapshot/weights"][0], exact, rtol=2**-11, atol=1e-7)
            panel = registry.experiment(TOY).drawings[1].panel(run, registry.experiment(TOY).view())
            assert panel.title == "The student meets the teacher"
            checked.append(done)

    checked = []
    monkeypatch.setattr(JobProgress, "report", reports)
    worker.work(once=True, slots=1)
    assert checked == [7]


def test_what_is_kept_of_cancelled_jobs_is_bounded(monkeypatch):
    key = stopped_at(7, monkeypatch)
    queue.forget_ended(["cancelled"])
    assert Job(key).checkpoint.exists()
    monkeypatch.setattr(queue, "LARGEST_KEPT", Job(key).training_size() - 1)
    queue.forget_ended(["cancelled"])
    assert Job(key).training_size() == 0 and not queue.state(key).kept


def test_a_job_that_everybody_left_keeps_nothing():
    key = queue.submit(Request(TOY, config()))
    Job(key).checkpoint.write_bytes(b"a checkpoint")
    queue.cancel(key, "left")
    assert not queue.state(key).kept and not Job(key).checkpoint.exists()

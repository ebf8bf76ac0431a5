"""The induction head's own training, killed and resumed by real workers, ends in the file of an
uninterrupted one."""

import json
import signal
import subprocess
import sys

import pytest

from icl_core.jobs import queue, worker
from icl_core.jobs.folder import Job
from icl_core.papers.birth.shared.settings import Config
from icl_core.runs.file import read
from icl_core.runs.request import Request
from tests.house import ROOT, SOON, house, wait_for

ID = "birth.induction"
WANTED = Config(N=16, d=32, T=64, K=3, batch=64, steps=30)


def content(path) -> tuple[dict, dict]:
    """The tensors' bytes and all metadata but those of timing."""
    record, tensors = read(path)
    for name in ("seconds", "waited", "pace", "date"):
        record.pop(name, None)
    return json.loads(json.dumps(record)), {
        name: array.tobytes() for name, array in tensors.items()
    }


@pytest.mark.long
def test_sigkill_in_mid_training_changes_no_byte(tmp_path, monkeypatch):
    with house(tmp_path / "killed", monkeypatch) as store:
        key = queue.submit(Request(ID, WANTED))
        process = subprocess.Popen([sys.executable, "-c", SOON], cwd=ROOT)
        wait_for(Job(key).checkpoint.exists, "the first checkpoint")
        process.send_signal(signal.SIGKILL)
        process.wait(90)
        assert queue.state(key).status == "interrupted"
        assert worker.work(once=True, slots=9) == 1
        killed = content(store.find(Request(ID, WANTED)).path)
    with house(tmp_path / "whole", monkeypatch) as store:
        queue.submit(Request(ID, WANTED))
        assert worker.work(once=True, slots=9) == 1
        assert content(store.find(Request(ID, WANTED)).path) == killed

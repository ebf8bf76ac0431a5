"""What a cluster's files may say of a job, and what becomes of a worker there."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from icl_core.cluster import dispatcher, remote_job, transfer
from icl_core.jobs import (
    folder,
    spawn,
)
from icl_core.runs import store
from icl_core.runs.file import Damaged

pytestmark = pytest.mark.usefixtures("runs")

STEPS_BACK = """
import os
from icl_core.cluster import dispatcher
told = lambda: dispatcher.AUTOGROUP.read_text().strip() if dispatcher.AUTOGROUP.exists() else ""
print(told())
dispatcher._lower_priority()
print(told())
print(os.nice(0))
"""


@pytest.mark.parametrize("value", [-1, math.nan, math.inf, "1", None, 2**64, [1]], ids=str)
@pytest.mark.parametrize("name", remote_job._NUMBERS)
def test_a_count_of_a_state_is_a_number_from_zero_on(name, value):
    assert remote_job._is_state({"status": "running", name: 0})
    assert remote_job._is_state({"status": "running", name: 1.5})
    assert not remote_job._is_state({"status": "running", name: value})


def test_what_is_told_of_a_cluster_is_kept_for_its_scheduler_and_what_is_not_that_is_nothing(
    monkeypatch,
):
    news = folder.ClusterStatus(3, "so", ["a", "b"])
    folder.write_cluster_status(news)
    assert folder.read_cluster_status() == folder.ClusterStatus()  # none is in use
    monkeypatch.setenv("ICL_SCHEDULER", " tcp://here ")
    assert folder.scheduler() == "tcp://here"
    folder.write_cluster_status(news)
    assert folder.read_cluster_status() == news
    assert spawn.where() == "on the cluster"
    assert spawn.trainings() == 3
    good = {"workers": 3, "message": "so", "refused": ["a", "b"]}
    path = folder.scheduler_lock().with_suffix(".json")
    assert json.loads(path.read_bytes()) == good
    for bad in (
        {**good, "workers": "3"},
        {**good, "message": 1},
        {**good, "refused": [1]},
        {"workers": 3},
        [],
    ):
        path.write_text(json.dumps(bad))
        assert folder.read_cluster_status() == folder.ClusterStatus() and spawn.trainings() == 1
    monkeypatch.setenv("ICL_SCHEDULER", "tcp://there")
    assert folder.scheduler_lock().with_suffix(".json") != path


def test_a_parcel_is_laid_out_where_it_belongs_or_not_at_all(runs):
    files = {"jobs/a/live.safetensors": b"{}", "x": b""}
    placed = transfer.lay_out(transfer.unpack(transfer.pack(files)))
    assert {
        path.relative_to(store.default().local).as_posix(): path.read_bytes() for path in placed
    } == files
    with pytest.raises(
        Damaged, match=r"expected a path within the folder of the parcel, got '\.\./x'"
    ):
        transfer.lay_out({"../x": b""})
    with pytest.raises(Damaged, match="expected a parcel"):
        transfer.unpack(b"no parcel")


@pytest.mark.parametrize("own", [True, False], ids=["its own session", "somebody's"])
def test_a_worker_steps_back_as_a_session_if_it_is_its_own(own):
    output = subprocess.run(
        [sys.executable, "-c", STEPS_BACK],
        cwd=Path(__file__).parents[1],
        start_new_session=own,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    before, after, niceness = output.splitlines()
    assert int(niceness) == min(os.nice(0) + dispatcher.NICE, 19)
    if (
        own
        and before
        and Path("/proc/sys/kernel/sched_autogroup_enabled").read_text().strip() == "1"
    ):
        assert after.endswith(f" nice {dispatcher.NICE}")
    else:
        assert after == before

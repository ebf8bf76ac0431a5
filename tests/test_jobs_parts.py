"""The parts of a job one by one: what its files may say, whose turn it is, when it is tried again,
what is told."""

import errno
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
from house import TOY, house
from test_jobs import ask, config

from icl_core import registry
from icl_core.cluster import dispatcher, remote_job, transfer
from icl_core.contract import settings_io
from icl_core.jobs import (
    estimate,
    folder,
    job_progress,
    phase_helper,
    queue,
    spawn,
    starts,
    table,
    terminal,
    train,
)
from icl_core.jobs.estimate import FIGURES, NEAR, TRAINED_HERE, PresetSeconds
from icl_core.jobs.folder import LONGEST_PAUSE, Job, hold_lock, is_put_off, jobs_folder
from icl_core.jobs.phase_helper import SharedTrainings
from icl_core.jobs.table import CANCELLED, ENDED, LEFT
from icl_core.jobs.train import code_difference
from icl_core.machine import device, folders
from icl_core.machine.pace import Pace
from icl_core.runs import store
from icl_core.runs.disk import write_whole
from icl_core.runs.file import Damaged
from icl_core.runs.header import key_of, stored_settings
from icl_core.runs.request import Request

NOW = 1_000_000.0
STEPS_BACK = """
import os
from icl_core.cluster import dispatcher
told = lambda: dispatcher.AUTOGROUP.read_text().strip() if dispatcher.AUTOGROUP.exists() else ""
print(told())
dispatcher._lower_priority()
print(told())
print(os.nice(0))
"""


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    with house(tmp_path, monkeypatch) as own_store:
        yield own_store


@pytest.fixture
def now(monkeypatch):
    """The clock, which goes only when it is set."""
    clock = SimpleNamespace(time=NOW)
    for module in (folder, train):
        monkeypatch.setattr(module.time, "time", lambda: clock.time)
    return clock


@pytest.mark.parametrize("value", [-1, math.nan, math.inf, "1", None, 2**64, [1]], ids=str)
@pytest.mark.parametrize("name", remote_job._NUMBERS)
def test_a_count_of_a_state_is_a_number_from_zero_on(name, value):
    assert remote_job._is_state({"status": "running", name: 0})
    assert remote_job._is_state({"status": "running", name: 1.5})
    assert not remote_job._is_state({"status": "running", name: value})


@pytest.mark.parametrize(
    ("state", "fits"),
    [
        *(
            ({"status": status}, True)
            for status in ("queued", "interrupted", "running", "done", "failed", "cancelled")
        ),
        ({"status": "cancelled", "loss": math.nan, "seconds_left": math.inf}, True),
        ({"status": "running", "seconds_left": None, "message": "", "phase": "a"}, True),
        ({"status": "running", "seconds_left": "soon"}, False),
        ({"status": "running", "loss": None}, False),
        ({"status": "running", "message": None}, False),
        ({"status": "running", "phase": 1}, False),
        ({"status": "cancelling"}, False),
        ({}, False),
        ([], False),
    ],
    ids=str,
)
def test_a_state_says_how_far_a_job_is(state, fits):
    assert remote_job._is_state(state) == fits


def test_a_file_that_does_not_fit_is_set_aside(runs, tmp_path):
    def is_ours(value):
        return isinstance(value, dict)

    path = tmp_path / "key" / "state.json"
    assert folder.read_json(path, is_ours, "a state") is None and runs.messages() == []
    write_whole(path, b'{"status": "queued"}')
    assert folder.read_json(path, is_ours, "a state") == {"status": "queued"} and path.exists()
    path.write_bytes(b"{")
    assert folder.read_json(path, is_ours, "a state") is None and not path.exists()
    (file,) = (runs.local / "aside").iterdir()
    assert file.name.startswith("state-") and file.suffix == ".json" and file.read_bytes() == b"{"
    assert runs.messages() == [
        f"{path} was set aside in {file.parent}: expected a state, got something else."
    ]


@pytest.mark.parametrize(
    ("seconds", "later"),
    [(-1.0, False), (0.0, False), (0.5, True), (LONGEST_PAUSE, True), (LONGEST_PAUSE + 1, False)],
)
def test_a_job_is_put_off_until_its_time_but_no_longer_than_any_pause(now, seconds, later):
    """A time beyond that was told by a clock that has been set back."""
    assert is_put_off(NOW + seconds) == later and not is_put_off(0.0)
    key = ask()
    Job(key).write_state(status="interrupted", retry_at=NOW + seconds)
    assert Job(key).is_due() != later and queue.is_ready(queue.state(key)) != later


def test_a_job_is_due_when_it_was_asked_for_and_has_not_ended():
    key = ask()
    assert Job(key).is_due() and not Job("0" * 20).is_due()
    for status in ENDED:
        Job(key).write_state(status=status)
        assert not Job(key).is_due()


@pytest.mark.parametrize(
    ("tries", "pause"),
    [
        (0, 15.0),
        (1, 30.0),
        (3, 120.0),
        (4, 240.0),
        (9, LONGEST_PAUSE),
        (1024, LONGEST_PAUSE),
        (10**19, LONGEST_PAUSE),
    ],
)
def test_a_run_without_room_is_tried_again_later_and_later_but_never_too_late(now, tries, pause):
    job = Job(ask())
    state = train.postponed_state(job, tries, OSError(errno.ENOSPC, "No space left on device"))
    assert (state["tries"], state["retry_at"], state["status"]) == (
        tries + 1,
        NOW + pause,
        "interrupted",
    )
    assert state["seconds_left"] is None
    assert "the disk is full; the run will be kept" in state["message"]


@pytest.mark.parametrize(
    ("number", "free", "full"),
    [
        (errno.ENOSPC, 2**30, True),
        (errno.EDQUOT, 2**30, True),
        (errno.EIO, 2**20 - 1, True),
        (errno.EIO, 2**20, False),
    ],
)
def test_why_nothing_could_be_written_is_said_in_words(monkeypatch, number, free, full):
    monkeypatch.setattr(folder.shutil, "disk_usage", lambda path: SimpleNamespace(free=free))
    message = folder.write_problem(OSError(number, "what it says"))
    assert message == (
        "the disk is full" if full else f"nothing can be written: [Errno {number}] what it says"
    )


def test_who_is_asked_to_end_is_told_as_what():
    key = ask()
    assert table.cancel_request(key) == ""
    for status in (CANCELLED, LEFT):
        table.write_cancel(key, status)
        assert table.cancel_request(key) == status


def test_what_has_ended_stays_as_it_ended_and_what_nobody_asked_for_stays_unknown():
    key = ask()
    for status in ENDED:
        Job(key).write_state(status=status)
        assert queue.cancel(key) and queue.state(key).status == status
    assert queue.cancel("0" * 20) and queue.state("0" * 20) is None
    assert [state.key for state in queue.states()] == [key]


def test_a_lock_is_held_by_one_and_told_to_all():
    job = Job(ask())
    assert not job.is_locked()
    with hold_lock(job.folder / "lock") as mine:
        assert mine and mine() and job.is_locked()
        (job.folder / "lock").unlink()
        assert not mine()
    assert not job.is_locked()


def test_asking_changes_a_number_and_a_reserve_shows_that_there_is_room():
    assert table.request_count() == 0
    ask()
    first = table.request_count()
    ask(seed=1)
    assert 0 < first < table.request_count()
    assert folder.has_room() and (jobs_folder() / "reserve").stat().st_size == 2**16


def job(visitor="", turn=1, later=False, status="queued"):
    return SimpleNamespace(
        visitor=visitor, turn=turn, later=later, status=status, ended=status in ENDED
    )


@pytest.mark.parametrize(
    ("jobs", "turn"),
    [
        ([], 1),
        ([job("a", 3)], 4),
        ([job("b", 3)], 3),
        ([job("b", 3), job("b", 5)], 3),
        ([job("b", 3, status="running"), job("b", 5, status="cancelling"), job("c", 2)], 5),
        ([job("a", 9, status="done"), job("b", 7, later=True)], 1),
        ([job("a", 2), job("a", 6), job("b", 3, status="running")], 7),
        ([job("b", 0)], 1),
    ],
    ids=str,
)
def test_a_turn_is_one_after_the_visitors_last_and_never_before_that_being_served(jobs, turn):
    assert table.next_turn("a", False, jobs) == turn


def test_a_visitors_runs_are_counted_until_they_have_ended():
    mine = [job("a"), job("a", later=True), job("a", status="running"), job("a", status="failed")]
    jobs = [*mine, job("b")]
    assert [table.count_jobs(visitor, jobs) for visitor in "abc"] == [3, 1, 0]


def test_what_is_foretold_is_the_weighted_mean_of_the_logarithms(runs):
    """By hand: each known run counts by the inverse square of its distance, one trained here four
    times as much as a preset's."""
    experiment = registry.experiment(TOY)
    settings = config(d=10)
    preset = experiment.presets[0]
    trainings = [(preset.config, 3.0), (config(d=30), 50.0)]
    estimate.write_preset_seconds(PresetSeconds(Pace(1.0, 1.0), {TOY: {preset.name: 3.0}}))
    runs.save(TOY, config(d=30), {}, {"seconds": 50.0, "device": device.describe()})
    distances = [
        settings_io.distance(experiment.config, stored_settings(settings), stored_settings(trained))
        for trained, _ in trainings
    ]
    weights = [
        weight / (distance + NEAR) ** 2
        for weight, distance in zip((1.0, TRAINED_HERE), distances, strict=True)
    ]
    logs = [math.log(seconds / experiment.cost(trained)) for trained, seconds in trainings]
    pace = math.exp(sum(map(lambda w, log: w * log, weights, logs)) / sum(weights))
    expected = FIGURES + pace * experiment.cost(settings)
    assert estimate.estimate_seconds(Request(TOY, settings)) == pytest.approx(expected, rel=1e-9)


def test_runs_made_together_do_not_count_for_one_that_goes_alone_where_others_are_known(runs):
    info = {"device": device.describe()}
    runs.save(TOY, config(seed=1), {}, {**info, "seconds": 1.0, "together": 4})
    assert estimate.estimate_seconds(Request(TOY, config())) == pytest.approx(1.0 + FIGURES)
    runs.save(TOY, config(seed=2), {}, {**info, "seconds": 9.0})
    assert estimate.estimate_seconds(Request(TOY, config())) == pytest.approx(9.0 + FIGURES)
    (both,) = estimate.estimates(TOY, [config()])
    assert both == pytest.approx(3.0 + FIGURES)  # the geometric mean


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"seconds": 0.1}',
        b'{"small": "x", "products": 1}',
        b'{"small": null, "products": 1}',
    ],
)
def test_a_pace_that_cannot_be_read_is_none(content):
    write_whole(jobs_folder() / "machine_pace.json", content)
    assert estimate.machine_pace() is None


def test_a_pace_is_forgotten_after_a_day(monkeypatch):
    paces = iter((Pace(1.0, 1.0), Pace(3.0, 1.0), Pace(2.0, 1.0)))
    monkeypatch.setattr(estimate, "measure_pace", lambda: next(paces))
    path = jobs_folder() / "machine_pace.json"
    for age, expected in ((0, 1.0), (estimate.OLD - 100, 1.0), (estimate.OLD + 100, 2.0)):
        if path.exists():
            changed = path.stat().st_mtime
            monkeypatch.setattr(
                estimate.time, "time", lambda changed=changed, age=age: changed + age
            )
        estimate.know_pace()
        assert estimate.machine_pace() == (expected, 1.0)


def test_a_training_is_begun_by_one_and_its_steps_are_counted_by_the_others():
    shared_job = Job(ask())
    identity = {"experiment": TOY, "version": 1, "config": {}}
    mine = SharedTrainings(shared_job, identity)
    other = SharedTrainings(shared_job, identity)
    assert mine.not_begun(["a", "b"]) == ["a", "b"] and mine.begin("a") and not other.begin("a")
    mine.write_step("a", 7)
    assert other.not_begun(["a", "b"]) == ["b"]
    assert mine.steps_elsewhere() == 0 and other.steps_elsewhere() == 7
    mine.save_checkpoint("a", {"x": np.ones(2)})
    assert other.load_checkpoint("a")["x"].sum() == 2
    assert other.load_result("a") is None
    assert other.load_checkpoint("b") == {}
    mine.save_result("a", {"x": np.ones(3)}, 2.5)
    assert other.load_checkpoint("a") == {} and not other.begin("a")
    for _ in range(2):  # its seconds count once
        assert other.load_result("a")["x"].sum() == 3 and other.seconds == 2.5
    assert other.steps_elsewhere() == 0
    assert SharedTrainings(shared_job, {**identity, "version": 2}).load_result("a") is None


def test_what_a_page_is_told_while_a_run_goes_on(monkeypatch):
    own_job = Job(ask())
    clock = iter(range(100, 1000, 10))
    monkeypatch.setattr(job_progress.time, "monotonic", lambda: next(clock))
    identity = phase_helper.identity_of(own_job.request())
    # at 100
    progress = job_progress.JobProgress(own_job, identity, 1, lambda: False, lambda: True)
    progress._step = 30
    progress.total = 120
    progress.loss = 0.5
    progress.enter("walking", 20, 5)  # at 110
    state = own_job.state()
    assert (state["step"], state["total"]) == (30, 120)
    assert (state["loss"], state["status"]) == (0.5, "running")
    assert state["seconds_left"] == pytest.approx(10 * 90 / 30)
    assert (state["phase"], state["phase_step"], state["phase_steps"]) == ("walking", 5, 5)
    progress._step = 10
    progress.write_state()
    assert own_job.state()["phase_step"] == 0 and own_job.state()["pid"] == os.getpid()
    progress._step = 500
    progress.write_state()
    assert (own_job.state()["step"], own_job.state()["seconds_left"]) == (120, 0)
    progress._step = 0
    progress.write_state()
    assert own_job.state()["seconds_left"] is None


def test_what_a_training_took_is_told_with_what_it_made():
    own_job = Job(ask())
    identity = phase_helper.identity_of(own_job.request())
    progress = job_progress.JobProgress(own_job, identity, 1, lambda: False, lambda: True)
    other = SharedTrainings(own_job, identity)
    clock = iter((100.0, 103.5))
    progress._clock = lambda: next(clock)
    assert progress.take(["a"]).made is None
    progress.give("a", {"x": np.ones(1)})
    assert other.load_result("a") and other.seconds == 3.5


def test_a_longer_run_is_known_by_its_steps(monkeypatch):
    toy = registry.experiment(TOY)
    for steps, expected in ((30, [60, 150, 300]), (200_000, [400_000, 1_000_000])):
        assert [longer.steps for longer in toy.longer(config(steps=steps))] == expected
    # of 30 steps a fifth and a tenth are below the range
    for steps, expected in ((100, [50, 20, 10]), (30, [15]), (155, [31])):
        assert [shorter.steps for shorter in toy.shorter(config(steps=steps))] == expected


def test_the_ends_of_the_oldest_runs_go_first_and_the_newest_stay(monkeypatch):
    monkeypatch.setattr(phase_helper, "LARGEST_ENDS", 25)
    for number in range(4):
        path = jobs_folder() / f"job{number}" / "ends" / "a.safetensors"
        phase_helper.write_end_state(path, bytes(10))
        if path.exists():
            os.utime(path.parent, (number, number))
    ends = jobs_folder().glob("*/ends/*.safetensors")
    assert sorted(path.parts[-3] for path in ends) == ["job2", "job3"]
    phase_helper.write_end_state(jobs_folder() / "job4" / "ends" / "a.safetensors", bytes(26))
    assert not (jobs_folder() / "job4").exists()
    phase_helper.write_end_state(jobs_folder() / "job0" / "ends" / "a.safetensors", bytes(25))
    assert [path.parts[-3] for path in jobs_folder().glob("*/ends/*.safetensors")] == ["job0"]


@pytest.fixture
def commands(monkeypatch):
    """The commands of the workers that would have been started."""
    commands = []
    monkeypatch.setattr(
        spawn.subprocess,
        "Popen",
        lambda command, **options: commands.append((command, options)) or psutil.Process(),
    )
    return commands


def test_a_worker_is_started_apart_from_the_page_and_with_a_log_that_begins_anew_when_it_is_long(
    commands, monkeypatch
):
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    monkeypatch.setattr(spawn, "_LONGEST_LOG", 10)
    ask()
    log = jobs_folder() / "workers.log"
    for content, left in ((None, b""), (b"x" * 10, b"x" * 10), (b"x" * 11, b"")):
        if content:
            log.write_bytes(content)
        spawn._start_worker(3, {}, "--server", "7")
        assert log.read_bytes() == left
    command, options = commands[0]
    expected = [sys.executable, "-P", "-m", "icl_core", "work", "--slots", "3", "--server", "7"]
    assert command == expected
    assert options["start_new_session"] and options["stdin"] == subprocess.DEVNULL
    assert options["env"]["PYTHONPATH"] == os.pathsep.join([str(folders.LIBRARY), "elsewhere"])
    assert options["env"]["MALLOC_MMAP_MAX_"] == "0"
    assert options["env"]["HOME"] == os.environ["HOME"]


def test_so_many_workers_are_started_as_jobs_wait_and_slots_are_free_and_not_twice(
    commands, monkeypatch
):
    assert spawn.ensure_workers(4) == 0  # nothing waits
    for seed in range(3):
        ask(seed=seed)
    with hold_lock(spawn.slot_lock(0)):
        # a free worker, which trains nothing, will see one job by itself
        assert spawn.ensure_workers(4) == 2 == len(commands)
        assert spawn.ensure_workers(4) == 0  # these have not taken their slots yet
    starts.note_up()
    assert spawn.ensure_workers(2) == 2
    assert spawn.trainings(7) == 7
    assert spawn.where() == "on this machine"


def test_a_worker_is_kept_warm_unless_one_is_there(commands, monkeypatch):
    ask()
    monkeypatch.setattr(device, "workers", lambda: 2)
    with hold_lock(spawn.slot_lock(1)):
        spawn.warm()
    assert commands == []
    spawn.warm()
    assert commands[0][0][-4:] == ["--slots", "2", "--server", str(os.getpid())]


def test_a_job_of_what_is_not_here_or_not_yet_waits():
    state = queue.JobState("k", TOY, {}, "queued", version=registry.version(TOY))
    ready = [{}, {"status": "interrupted"}, {"version": 0}]
    waits = [
        {"status": "running"},
        {"status": "done"},
        {"version": 2},
        {"experiment": "no.such", "version": 1},
    ]
    assert all(queue.is_ready(queue.replace(state, **change)) for change in ready)
    assert not any(queue.is_ready(queue.replace(state, **change)) for change in waits)


@pytest.mark.parametrize(
    ("state", "spare"),
    [
        ({"seconds_left": 5.1}, 2),
        ({"seconds_left": 5.0}, 0),
        ({"seconds_left": None}, 0),
        ({"seconds_left": 60.0, "status": "queued"}, 0),
    ],
    ids=str,
)
def test_a_run_that_ends_soon_needs_no_other_worker(state, spare):
    job_state = queue.JobState("k", TOY, {}, **{"status": "running", "spare": 2, **state})
    assert spawn._spare_trainings(job_state) == spare


def test_what_keeps_jobs_waiting_is_said_once_and_in_order(monkeypatch):
    lines = []
    monkeypatch.setattr(
        terminal.tqdm, "write", lambda message, file: lines.append((message, file is sys.stderr))
    )
    status = folder.ClusterStatus(refused=["one was refused"])
    monkeypatch.setattr(folder, "read_cluster_status", lambda: status)
    states = [
        queue.JobState("a", TOY, {}, "queued", message="z is full"),
        queue.JobState("b", TOY, {}, "interrupted", message="a is full"),
        queue.JobState("c", TOY, {}, "done", message="its metrics failed"),
        queue.JobState("d", TOY, {}, "queued"),
    ]
    printed = set()
    terminal.print_obstacle(states, printed)
    terminal.print_obstacle(states, printed)
    assert lines == [("a is full", True), ("one was refused", True), ("z is full", True)]


@pytest.fixture
def bar(monkeypatch):
    """What the bar in the terminal showed, look by look; a worker of this process trains in
    between."""
    updates = []

    class Bar:
        def __init__(self, **options):
            self.options = options
            self.n = 0
            self.total = None

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def set_postfix_str(self, text, refresh):
            updates.append([self.options["desc"], text, refresh])

        def update(self, more):
            self.n += more
            updates[-1] += [more, self.total]

        refresh = staticmethod(lambda: None)
        write = staticmethod(lambda *_, **__: None)

    monkeypatch.setattr(terminal, "tqdm", Bar)
    monkeypatch.setattr(terminal, "_PAUSE", 0.0)
    return updates


def test_a_terminal_waits_for_a_run_and_shows_how_far_it_is(bar, monkeypatch):
    states = [
        queue.JobState("k", TOY, {}, "queued"),
        queue.JobState("k", TOY, {}, "running", step=30, total=120, loss=0.123456),
        queue.JobState("k", TOY, {}, "interrupted", step=20, total=120, loss=0.5),
        queue.JobState("k", TOY, {}, "done"),
    ]
    watches = []
    worker_starts = []
    monkeypatch.setattr(queue, "state", lambda key: states.pop(0))
    monkeypatch.setattr(queue, "watch", lambda *of: watches.append(of))
    monkeypatch.setattr(spawn, "ensure_workers", lambda *of: worker_starts.append(of))
    terminal._watch("k", TOY)
    assert bar == [
        [TOY, "queued", False, 0, None],
        [TOY, "loss 0.1235", False, 30, 120],
        [TOY, "loss 0.5", False, 0, 120],
    ]
    assert watches == [("k", f"terminal-{os.getpid()}")] * 3 and worker_starts == [()] * 3


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"status": "cancelled", "message": ""}, "the training was cancelled"),
        ({"status": "cancelled", "left": True}, "the training was cancelled"),
        ({"status": "failed", "message": "it diverged"}, "the training failed: it diverged"),
    ],
)
def test_a_terminal_says_how_a_training_ended(bar, monkeypatch, told, message):
    monkeypatch.setattr(queue, "state", lambda key: queue.JobState(key, TOY, {}, **told))
    with pytest.raises(terminal.Failed, match=f"^{message}$"):
        terminal._watch("k", TOY)


def test_a_run_that_is_there_is_not_asked_for_and_one_that_is_not_is_trained(
    runs, bar, monkeypatch
):
    def train(*of):
        runs.save(TOY, config(), {"x": np.ones(1)}, {})
        Job(key_of(TOY, config())).write_state(status="done")

    monkeypatch.setattr(spawn, "ensure_workers", train)
    header = terminal.train_or_load(Request(TOY, config()))
    assert header == runs.find(Request(TOY, config())) and bar
    bar.clear()
    assert terminal.train_or_load(Request(TOY, config())) == header and not bar
    monkeypatch.setattr(runs, "find", lambda *of: None)
    with pytest.raises(terminal.Failed, match="the run was made but is no longer in the cache"):
        terminal.train_or_load(Request(TOY, config()))


def test_a_terminal_that_is_interrupted_gives_its_run_up_unless_others_want_it(bar, monkeypatch):
    def interrupt(*of):
        raise KeyboardInterrupt

    monkeypatch.setattr(spawn, "ensure_workers", interrupt)
    ends = (("", "cancelled", "^cancelled; "), ("a", "queued", "goes on for others who asked"))
    for visitor, status, message in ends:
        if visitor:
            key = ask(visitor=visitor)
        with pytest.raises(KeyboardInterrupt, match=message):
            terminal.train_or_load(Request(TOY, config()))
        key = key_of(TOY, config())
        assert queue.state(key).status == status


def test_what_differs_is_said_in_order_and_what_is_missing_as_nothing():
    wanted = {"torch": "2.13.0", "numpy": "2.0", "icl_core": "0123456789abcdef"}
    assert code_difference(wanted, wanted) == ""
    assert code_difference(wanted, {"torch": "2.12.1", "icl_core": "f" * 16}) == (
        "torch 2.13.0 was expected, 2.12.1 came; numpy 2.0 was expected, nothing came; icl_core "
        "0123456789ab was expected, ffffffffffff came"
    )


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


def test_a_run_goes_on_from_the_ends_of_one_that_differs_in_its_steps_alone():
    of = {"experiment": TOY, "config": {"d": 1, "steps": 100}}
    ten = {"d": 1, "steps": 10}
    three = {"d": 1, "steps": 3}
    assert transfer._continues(of, {**of, "config": ten})
    assert transfer._continues(of, {**of, "config": {"d": 1, "steps": 50}})
    for other in (
        {**of, "config": three},
        of,
        {**of, "config": {**ten, "d": 2}},
        {"experiment": "x.y", "config": ten},
    ):
        assert not transfer._continues(of, other)


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

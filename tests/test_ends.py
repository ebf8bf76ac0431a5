"""A longer run goes on from where a shorter one ended, and nobody can tell from its weights."""

import pytest
from house import TOY, house

from icl_core import registry
from icl_core.jobs import phase_helper, queue, worker
from icl_core.jobs.folder import Job
from icl_core.papers.birth.induction.train import compute as induction
from icl_core.papers.birth.shared import train
from icl_core.papers.birth.shared.settings import Config as Birth
from icl_core.papers.memformers.methods.settings import Config as Methods
from icl_core.papers.memformers.methods.train import compute as methods
from icl_core.papers.memformers.shared import test_set
from icl_core.runs import store
from icl_core.runs.file import read
from icl_core.runs.header import key_of
from icl_core.runs.request import Request
from tests.recorder import Recorder

pytestmark = pytest.mark.usefixtures("runs")


def config(**values):
    return registry.experiment(TOY).config(**values)


def trained(settings):
    queue.submit(Request(TOY, settings))
    assert worker.work(once=True, slots=1) == 1
    return read(store.default().find(Request(TOY, settings)).path)[1]


def has_end(steps: int) -> bool:
    return phase_helper.has_end(Request(TOY, config(steps=steps)))


def trained_steps(monkeypatch):
    """The steps that are trained from now on."""
    from icl_core.training import loop

    steps = []
    check = loop.check_divergence
    monkeypatch.setattr(
        loop, "check_divergence", lambda step, *rest: (steps.append(step), check(step, *rest))
    )
    return steps


def test_a_longer_job_goes_on_where_a_shorter_one_ended(runs, monkeypatch, tmp_path):
    trained(config(steps=20))
    assert has_end(20) and not has_end(40)
    steps = trained_steps(monkeypatch)
    longer = trained(config(steps=40))
    assert steps == list(range(20, 40))
    with house(tmp_path / "another", monkeypatch):
        whole = trained(config(steps=40))
    assert longer.keys() == whole.keys()
    assert all(longer[name].tobytes() == whole[name].tobytes() for name in whole)


def test_the_longest_shorter_run_is_taken_and_other_settings_are_not(runs, monkeypatch):
    for count in (10, 50):
        trained(config(steps=count))
    trained(config(steps=50, seed=1))
    steps = trained_steps(monkeypatch)
    trained(config(steps=100))
    assert steps == list(range(50, 100))


def test_a_damaged_end_is_no_end(runs, monkeypatch):
    trained(config(steps=20))
    (end,) = Job(key_of(TOY, config(steps=20))).ends.iterdir()
    end.write_bytes(b"no tensors")
    steps = trained_steps(monkeypatch)
    trained(config(steps=40))
    assert steps == list(range(40))


def test_old_ends_make_room(runs, monkeypatch):
    trained(config(steps=20))
    (end,) = Job(key_of(TOY, config(steps=20))).ends.iterdir()
    monkeypatch.setattr(phase_helper, "LARGEST_ENDS", 3 * end.stat().st_size // 2)
    trained(config(steps=22))
    assert has_end(22) and not has_end(20)
    monkeypatch.setattr(phase_helper, "LARGEST_ENDS", 1)
    trained(config(steps=24))
    assert has_end(22) and not has_end(24)


def test_only_what_can_be_asked_for_is_longer():
    toy = registry.experiment(TOY)
    birth = registry.experiment("birth.induction")
    corrections = registry.experiment("gdssm.corrections")
    assert [longer.steps for longer in toy.longer(config(steps=20))] == [40, 100, 200]
    assert [longer.steps for longer in birth.longer(Birth(steps=1000))] == [2000]
    assert corrections.longer(corrections.config()) == []
    frozen = Birth(steps=600, freeze_until=300)
    # 120 would end before the thaw
    assert [shorter.steps for shorter in birth.shorter(frozen)] == [300]


SMALL = {"d": 3, "n": 4, "layers": 2, "batch": 50, "schedule": "halved"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("run", "of"),
    [
        (induction, lambda steps: Birth(N=16, d=32, T=32, K=3, batch=16, steps=steps, seeds=2)),
        (methods, lambda steps: Methods(**SMALL, batches="resampled", steps=steps)),
        (
            methods,
            lambda steps: Methods(
                **SMALL, batches="common", variant="token shared", seeds=2, steps=steps
            ),
        ),
    ],
)
def test_weights_are_those_of_a_run_that_was_asked_for_so_long(run, of, monkeypatch):
    monkeypatch.setattr(train, "WATCHED", 64)  # few held-out positions: weights are compared
    monkeypatch.setattr(train, "EVALUATED", 256)
    for name in ("PROMPTS", "WATCHED"):
        monkeypatch.setattr(test_set, name, test_set.BLOCK)
    short = Recorder()
    run(of(20), short)
    longer = run(of(40), Recorder(earlier=short.ended))
    whole = run(of(40), Recorder())
    assert longer.keys() == whole.keys()
    assert all(longer[name].tobytes() == whole[name].tobytes() for name in whole)


def test_a_rate_that_falls_over_the_whole_training_does_not_go_on():
    goes_on = registry.experiment("memformers.methods").goes_on
    assert goes_on(Methods(schedule="constant", steps=1000)) and not goes_on(Methods(steps=1000))
    # its pool is smaller than a longer one's
    assert not goes_on(Methods(schedule="constant", steps=20, batch=100))

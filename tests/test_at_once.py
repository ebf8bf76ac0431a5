"""What takes seconds trains by itself, one setting a visitor at a time, and what nobody watches is
given up."""

import time
from types import SimpleNamespace

import pytest
import streamlit as st
from house import TOY, change, house
from streamlit.testing.v1 import AppTest

from icl_core import registry
from icl_core.jobs import estimate, queue, spawn, worker
from icl_core.jobs.estimate import PresetSeconds
from icl_core.machine.pace import Pace
from icl_core.runs.header import key_of
from icl_core.runs.request import Request
from pages.ui.controls import auto_train
from pages.ui.link import visitors
from pages.ui.look import menu

SLOW = "100000"
HALF_A_MINUTE = "30000"


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    with house(tmp_path, monkeypatch) as own_store:
        config = registry.experiment(TOY).config()
        queue.submit(Request(TOY, config))
        worker.work(once=True, slots=1)
        header = own_store.find(Request(TOY, config))
        run = own_store.load(header)
        own_store.delete(header)
        own_store.ship(TOY, config, run.tensors, header.info)
        seconds = 10 * registry.experiment(TOY).cost(config)
        by_name = {registry.experiment(TOY).presets[0].name: seconds}
        estimate.write_preset_seconds(PresetSeconds(Pace(1.0, 1.0), {TOY: by_name}))
        monkeypatch.setattr(spawn, "ensure_workers", lambda count=None: 0)
        monkeypatch.setattr(spawn, "warm", lambda: None)
        # its links need the files of pages
        monkeypatch.setattr(menu, "frame", lambda *of, **more: st.container())
        yield own_store


def page() -> None:
    from pages.ui.paper_page import show

    show("toy")


def visitor(**query: str) -> AppTest:
    return asks(AppTest.from_function(page, default_timeout=120), **query)


def asks(app: AppTest, **query: str) -> AppTest:
    """The visitor goes to another setting."""
    app.query_params.clear()
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def key(**values) -> str:
    return key_of(TOY, registry.experiment(TOY).config(**values))


def waiting() -> list[str]:
    return [job.key for job in queue.states() if not job.ended]


def buttons(app: AppTest) -> list[str]:
    return [button.label.split(" ·")[0] for button in app.button]


def test_a_setting_of_seconds_is_asked_for_and_a_longer_one_has_its_button():
    visitor(seed="1")
    assert waiting() == [key(seed=1)]
    assert "Train it here" in buttons(visitor(steps=SLOW)) and len(waiting()) == 1


@pytest.fixture
def clock(monkeypatch):
    """The time that pages see; a test moves it."""
    seconds = [time.monotonic()]
    monkeypatch.setattr(auto_train, "time", SimpleNamespace(monotonic=lambda: seconds[0]))
    return seconds


def test_a_setting_of_less_than_a_minute_is_asked_for_once_the_knobs_have_rested(clock):
    app = visitor(steps=HALF_A_MINUTE)
    assert waiting() == []
    clock[0] += 0.9
    asks(app, steps=HALF_A_MINUTE, seed="1")
    clock[0] += 0.9
    asks(app, steps=HALF_A_MINUTE, seed="1")
    assert waiting() == []
    clock[0] += 0.2
    asks(app, steps=HALF_A_MINUTE, seed="1")
    assert waiting() == [key(steps=int(HALF_A_MINUTE), seed=1)]
    asks(app, steps=HALF_A_MINUTE, seed="2")  # a further move ends it
    assert waiting() == []


def test_what_was_to_begin_after_a_rest_does_not_where_the_knobs_come_back_to_a_run(clock):
    app = visitor(steps=HALF_A_MINUTE)
    clock[0] += 2
    asks(app)  # there is a run, and its page is drawn to the end
    assert waiting() == [] and auto_train._RESTING not in app.session_state
    asks(app, steps=HALF_A_MINUTE)
    assert waiting() == []


def switch(app: AppTest):
    """The switch of trainings that start by themselves, which stands under “More settings”."""
    app.session_state[f"{app.session_state['id']}:more"] = True
    return app.run().toggle(key="switch")


def test_where_others_use_the_machine_only_what_takes_seconds_is_asked_for(clock, monkeypatch):
    visitors._guests.clear()
    with monkeypatch.context() as away:
        away.setattr(visitors, "is_at_machine", lambda: False)
        app = visitor(steps=HALF_A_MINUTE)
        assert switch(app).label.endswith("(runs under 5 s)")
    clock[0] += 2
    app = asks(visitor(steps=HALF_A_MINUTE), steps=HALF_A_MINUTE)  # at the machine, with a guest
    clock[0] += 2
    asks(app, steps=HALF_A_MINUTE)
    assert waiting() == []
    visitors._guests.clear()


@pytest.mark.long
def test_many_settings_leave_one_job():
    app = visitor(seed="1")
    for seed in range(2, 9):
        asks(app, seed=str(seed))
    assert waiting() == [key(seed=8)]
    asks(app, seed="3")  # back at one that was given up
    assert waiting() == [key(seed=3)]
    asks(app)
    assert waiting() == []


def test_what_another_visitor_watches_goes_on():
    one = visitor(seed="1")
    other = visitor(seed="1")
    asks(one, seed="2")
    assert waiting() == [key(seed=1), key(seed=2)]
    asks(other, seed="0")  # it has not begun it
    assert waiting() == [key(seed=1), key(seed=2)]


def test_what_was_asked_for_by_its_button_is_never_given_up():
    app = visitor(steps=SLOW)
    app.button(key="run page").click().run()
    asks(app, seed="0")
    assert waiting() == [key(steps=int(SLOW))]


def test_what_was_begun_at_once_and_then_asked_for_by_its_button_is_not_given_up_either():
    app = visitor(seed="1")
    app.button(key="cancel").click().run()
    app.button(key="run page").click().run()
    asks(app, seed="0")
    assert key(seed=1) in waiting()


def test_what_the_visitor_cancelled_is_not_begun_again():
    app = visitor(seed="1")
    app.button(key="cancel").click().run()
    assert waiting() == [] and queue.state(key(seed=1)).status == "cancelled"
    asks(app, seed="0")
    assert waiting() == [] and "Run again" in buttons(asks(app, seed="1"))


def test_the_switch_holds_for_the_visit():
    app = visitor(seed="1", at_once="false")
    assert waiting() == [] and "Train it here" in buttons(app)
    asks(app, seed="2")
    assert waiting() == [] and not switch(app).value
    switch(app).set_value(True).run()
    assert waiting() == [key(seed=2)] and "at_once" not in app.query_params


def test_a_window_that_was_closed_watches_nothing():
    one = visitor(seed="1")
    visitor(seed="1")
    change("UPDATE watchers SET seen = 1e9 WHERE key = ?", key(seed=1))
    asks(one, seed="2")
    assert waiting() == [key(seed=2)]


def test_a_training_that_ends_while_the_page_is_drawn_is_shown(monkeypatch):
    """On a busy machine a page takes longer than some trainings: then nothing is left that would
    tell it of the end."""
    monkeypatch.setattr(spawn, "ensure_workers", lambda count=None: worker.work(once=True, slots=1))
    app = visitor(seed="1")
    assert waiting() == [] and queue.state(key(seed=1)).status == "done"
    assert "Train it here" not in buttons(app)
    assert any(caption.value.startswith("Trained here") for caption in app.caption)


def test_a_run_that_was_made_and_is_no_longer_kept_is_said_to_be(runs):
    config = registry.experiment(TOY).config(seed=1)
    queue.submit(Request(TOY, config))
    worker.work(once=True, slots=1)
    runs.delete(runs.exact(TOY, key(seed=1)))
    app = visitor(seed="1")
    page_text = " ".join(markdown.value for markdown in app.markdown)
    assert "This run was made here and is no longer stored" in page_text
    assert waiting() == [] and "Train it here" in buttons(app)

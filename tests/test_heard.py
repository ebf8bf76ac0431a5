"""What a browser still sends of widgets that the page has dropped changes nothing; what a visitor
changes does."""

from types import SimpleNamespace

import pytest
from house import TOY
from streamlit.testing.v1 import AppTest

from icl_core import registry
from pages.ui.controls import sweep
from pages.ui.link import address, pending_address, widget_events
from pages.ui.stage import playback, stage


def page() -> None:
    """Two states of a page, each with pills of its own that write where the visitor goes."""
    import streamlit as st

    from pages.ui.link.widget_events import widget_arguments

    at = st.query_params.get("at", "here")
    key = f"{at}: pills"

    def go(key: str) -> None:
        st.query_params["at"] = st.session_state[key] or at

    st.session_state[key] = at
    st.pills("Where", ["here", "there", "elsewhere"], **widget_arguments(key, go, key))
    st.button("Anything")


def test_a_widget_that_is_gone_takes_nobody_back():
    app = AppTest.from_function(page).run()
    app.button_group[0].set_value("there").run()
    assert app.query_params["at"] == "there"
    former = app._tree.get_widget_states()  # a browser that has yet to hear of what comes next
    app.query_params["at"] = "elsewhere"
    app.run()
    app._run(former)
    assert app.query_params["at"] == "elsewhere"
    app.button_group[0].set_value("here").run()
    assert app.query_params["at"] == "here"


def test_what_is_changed_and_changed_back_before_it_is_drawn_again_is_heard_twice(monkeypatch):
    session, told = {"knob": 1}, []
    monkeypatch.setattr(widget_events.st, "session_state", session)
    widget = widget_events.widget_arguments("knob", lambda: told.append(session["knob"]))
    for value in (1, 2, 2, 1):
        session["knob"] = value
        widget["on_change"](*widget["args"])
    assert told == [2, 1]


class Query(dict):
    """The address as Streamlit has it."""

    def from_dict(self, fields):
        self.clear()
        self.update(fields)


@pytest.fixture
def late_page(monkeypatch):
    """The address `a = 1` and then, by a move, `a = 2`, some seconds ago: both can be set."""
    page = SimpleNamespace(query_params=Query(a="1"), session_state={}, now=100.0)
    monkeypatch.setattr(pending_address, "st", page)
    monkeypatch.setattr(pending_address, "time", SimpleNamespace(monotonic=lambda: page.now))
    pending_address.write({"a": "2"})
    return page


@pytest.mark.parametrize(("passes", "expected"), [(0.5, "2"), (60.0, "1")])
def test_a_move_that_comes_with_the_address_of_before_undoes_nothing(late_page, passes, expected):
    late_page.query_params["a"], late_page.now = "1", 100.0 + passes
    pending_address.catch_up()
    assert late_page.query_params == {"a": expected}


def test_what_is_written_is_written_upon_what_was_written_before(late_page):
    for name in ("b", "c"):
        late_page.query_params.from_dict({"a": "1"})
        pending_address.write({**pending_address.query(), name: "0"})
    assert late_page.query_params == {"a": "2", "b": "0", "c": "0"}
    late_page.query_params.from_dict({"a": "1"})
    told = []
    late_page.query_params.from_dict = told.append
    pending_address.write(
        {"a": "1"}
    )  # a link to where the browser is still: it may be about to leave it
    assert told == [{"a": "1"}]


def test_every_address_of_before_is_one_and_where_the_last_move_led_is_none(late_page):
    pending_address.write({"a": "2", "b": "3"})
    pending_address.write({"a": "1"})  # back, by a move
    for before in ({"a": "2"}, {"a": "2", "b": "3"}, {"a": "1"}):
        late_page.query_params.from_dict(before)
        pending_address.catch_up()
        assert late_page.query_params == {"a": "1"}


def test_who_has_gone_back_is_there_and_so_is_who_went_elsewhere(late_page):
    late_page.query_params.from_dict({"a": "1"})
    pending_address.arrived()
    pending_address.catch_up()
    assert late_page.query_params == {"a": "1"}
    pending_address.write({"a": "2"})
    late_page.query_params.from_dict({"a": "9"})
    pending_address.catch_up()
    assert late_page.query_params == {"a": "9"}


def test_a_widget_is_told_only_what_it_does_not_show(monkeypatch):
    told = []

    class Session(dict):
        def __setitem__(self, key, value):
            told.append((key, value))
            super().__setitem__(key, value)

    monkeypatch.setattr(
        widget_events.st, "session_state", Session({"knob": 3, widget_events._OPTIONS: {}})
    )
    widget_events.set_widget("knob", 3)  # it is new here
    for value, *of in ((3,), (4,), (4,), (4, "more options"), (4, "more options")):
        widget_events.set_widget("knob", value, *of)
    widget_events.set_widget("other", 1)
    assert told == [("knob", 3), ("knob", 4), ("knob", 4), ("other", 1)]


@pytest.mark.parametrize(
    ("shown", "written"), [(TOY, ["snapshot", "step"]), ("birth.induction", [])]
)
def test_a_clock_that_is_gone_sets_no_step(monkeypatch, shown, written):
    experiment, told = registry.experiment(TOY), []
    monkeypatch.setattr(address.st, "session_state", {"id": shown})
    monkeypatch.setattr(address, "write_all", told.extend)
    monkeypatch.setattr(playback, "step", lambda key: 40)
    stage._rested(
        SimpleNamespace(id=TOY, experiment=experiment, preset=experiment.presets[0]), [0, 40]
    )
    assert told == written


@pytest.mark.parametrize(("shown", "opened"), [("chart a", [3]), ("chart b", [])])
def test_a_click_on_a_chart_that_is_gone_opens_nothing(monkeypatch, shown, opened):
    told, clicked = [], {"selection": {"points": [{"customdata": [3]}]}}
    monkeypatch.setattr(sweep.st, "session_state", {sweep._CHART: shown, "figure chart a": clicked})
    monkeypatch.setattr(sweep, "_open_cell", lambda setting, grid, index: told.append(index))
    sweep._clicked("chart a", None, None)
    assert told == opened

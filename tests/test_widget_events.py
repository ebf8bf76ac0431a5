"""A visitor's change counts; what a browser still sends of widgets that are gone does not."""

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


def test_a_widget_that_is_gone_changes_nothing():
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


def test_a_change_and_the_change_back_both_count_before_the_widget_is_drawn_again(monkeypatch):
    session = {"knob": 1}
    values = []
    monkeypatch.setattr(widget_events.st, "session_state", session)
    widget = widget_events.widget_arguments("knob", lambda: values.append(session["knob"]))
    for value in (1, 2, 2, 1):
        session["knob"] = value
        widget["on_change"](*widget["args"])
    assert values == [2, 1]


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
def test_a_change_that_comes_with_a_former_address_undoes_nothing(late_page, passes, expected):
    late_page.query_params["a"] = "1"
    late_page.now = 100.0 + passes
    pending_address.apply_pending()
    assert late_page.query_params == {"a": expected}


def test_each_write_builds_upon_the_last_one(late_page):
    for name in ("b", "c"):
        late_page.query_params.from_dict({"a": "1"})
        pending_address.write({**pending_address.current_query(), name: "0"})
    assert late_page.query_params == {"a": "2", "b": "0", "c": "0"}
    late_page.query_params.from_dict({"a": "1"})
    written = []
    late_page.query_params.from_dict = written.append
    # a link to where the browser still is, and which it may be about to leave
    pending_address.write({"a": "1"})
    assert written == [{"a": "1"}]


def test_all_former_addresses_count_as_former_and_the_current_one_does_not(late_page):
    pending_address.write({"a": "2", "b": "3"})
    pending_address.write({"a": "1"})  # back, by a move
    for former in ({"a": "2"}, {"a": "2", "b": "3"}, {"a": "1"}):
        late_page.query_params.from_dict(former)
        pending_address.apply_pending()
        assert late_page.query_params == {"a": "1"}


def test_a_visitor_who_went_back_or_elsewhere_stays_there(late_page):
    late_page.query_params.from_dict({"a": "1"})
    pending_address.note_arrival()
    pending_address.apply_pending()
    assert late_page.query_params == {"a": "1"}
    pending_address.write({"a": "2"})
    late_page.query_params.from_dict({"a": "9"})
    pending_address.apply_pending()
    assert late_page.query_params == {"a": "9"}


def test_a_widget_is_set_only_to_a_value_that_it_does_not_show(monkeypatch):
    assignments = []

    class Session(dict):
        def __setitem__(self, key, value):
            assignments.append((key, value))
            super().__setitem__(key, value)

    monkeypatch.setattr(
        widget_events.st, "session_state", Session({"knob": 3, widget_events._OPTIONS: {}})
    )
    widget_events.set_widget("knob", 3)  # it is new here
    for value, *of in ((3,), (4,), (4,), (4, "more options"), (4, "more options")):
        widget_events.set_widget("knob", value, *of)
    widget_events.set_widget("other", 1)
    assert assignments == [("knob", 3), ("knob", 4), ("knob", 4), ("other", 1)]


@pytest.mark.parametrize(
    ("experiment_id", "written"), [(TOY, ["snapshot", "step"]), ("birth.induction", [])]
)
def test_a_clock_that_is_gone_sets_no_step(monkeypatch, experiment_id, written):
    experiment = registry.experiment(TOY)
    fields = []
    monkeypatch.setattr(address.st, "session_state", {"id": experiment_id})
    monkeypatch.setattr(address, "write_all", fields.extend)
    monkeypatch.setattr(playback, "resting_step", lambda key: 40)
    stage._on_rest(
        SimpleNamespace(id=TOY, base_view=address.base_view(experiment, experiment.presets[0])),
        [0, 40],
    )
    assert fields == written


@pytest.mark.parametrize(("chart", "opened"), [("chart a", [3]), ("chart b", [])])
def test_a_click_on_a_chart_that_is_gone_opens_nothing(monkeypatch, chart, opened):
    cells = []
    click = {"selection": {"points": [{"customdata": [3]}]}}
    monkeypatch.setattr(sweep.st, "session_state", {sweep._CHART: chart, "figure chart a": click})
    monkeypatch.setattr(sweep, "_open_cell", lambda setting, grid, index: cells.append(index))
    sweep._clicked("chart a", None, None)
    assert cells == opened

"""What a browser still sends of widgets that the page has dropped changes nothing; what a visitor changes does."""

from types import SimpleNamespace

import pytest
from house import TOY
from streamlit.testing.v1 import AppTest

from icl_core import registry
from pages.ui import address, clock, heard, stage, sweep


def page() -> None:
    """Two states of a page, each with pills of its own that write where the visitor goes."""
    import streamlit as st

    from pages.ui.heard import heard

    at = st.query_params.get("at", "here")
    key = f"{at}: pills"

    def go(key: str) -> None:
        st.query_params["at"] = st.session_state[key] or at

    st.session_state[key] = at
    st.pills("Where", ["here", "there", "elsewhere"], **heard(key, go, key))
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
    monkeypatch.setattr(heard.st, "session_state", session)
    widget = heard.heard("knob", lambda: told.append(session["knob"]))
    for value in (1, 2, 2, 1):
        session["knob"] = value
        widget["on_change"](*widget["args"])
    assert told == [2, 1]


@pytest.mark.parametrize(("shown", "written"), [(TOY, ["snapshot", "step"]), ("birth.induction", [])])
def test_a_clock_that_is_gone_sets_no_step(monkeypatch, shown, written):
    experiment, told = registry.experiment(TOY), []
    monkeypatch.setattr(address.st, "session_state", {"id": shown})
    monkeypatch.setattr(address, "write_all", told.extend)
    monkeypatch.setattr(clock, "step", lambda key: 40)
    stage._rested(SimpleNamespace(id=TOY, experiment=experiment, preset=experiment.presets[0]), [0, 40])
    assert told == written


@pytest.mark.parametrize(("shown", "opened"), [("chart a", [3]), ("chart b", [])])
def test_a_click_on_a_chart_that_is_gone_opens_nothing(monkeypatch, shown, opened):
    told, clicked = [], {"selection": {"points": [{"customdata": [3]}]}}
    monkeypatch.setattr(sweep.st, "session_state", {sweep._CHART: shown, "figure chart a": clicked})
    monkeypatch.setattr(sweep, "_go", lambda setting, grid, index: told.append(index))
    sweep._clicked("chart a", None, None)
    assert told == opened

"""What moves the charts of a stage: a chart that was let go is never taken for the one that stands
there still."""

import json

import streamlit as st

from icl_core.contract.experiment import Panel
from icl_core.contract.figure import Figure
from pages.ui.stage import films, playback


def panel(value: float) -> Panel:
    return playback.tag_figure(
        Panel("title", figure=Figure().add_scatter(y=[1.0, value]), caption="caption"), "film", 0
    )


def test_a_chart_that_was_let_go_is_made_anew_of_the_same_figure() -> None:
    st.session_state.pop(films._CHARTS, None)
    first = films._new_chart("seat", panel(2.0), "name").sent.to_dict()
    assert films._charts()["seat"].sent.to_dict() is first
    films._charts().clear()
    second = films._new_chart("seat", panel(2.0), "name").sent.to_dict()
    assert first["data"] == second["data"] and first["layout"] != second["layout"]
    films._charts().clear()


def test_a_number_that_is_not_finite_is_none_in_what_the_browser_reads() -> None:
    for value in (float("nan"), float("inf")):
        whole = json.loads(
            playback.pack_figure("seat", "run", "film", panel(value)),
            parse_constant=lambda name: 1 / 0,
        )
        assert whole["whole"]["data"][0]["y"] == [1.0, None]
        assert json.loads(playback.pack_states("seat", "run", "film", [panel(2.0), panel(value)]))[
            "frames"
        ]

"""Films of the stage: a forgotten chart is never taken for the one that stands in its seat."""

import json
import zlib

import streamlit as st

from icl_core.contract.experiment import Panel
from icl_core.contract.figure import Figure
from icl_core.figures.frames import tag_figure
from icl_core.share.stage_films import figure_message, packed, states_message
from pages.ui.stage import films


def panel(value: float) -> Panel:
    return tag_figure(
        Panel("title", figure=Figure().add_scatter(y=[1.0, value]), caption="caption"), "film", 0
    )


def test_a_forgotten_chart_is_made_anew_of_the_same_figure() -> None:
    st.session_state.pop(films._CHARTS, None)
    first = films._new_chart("seat", panel(2.0)).sent.to_dict()
    assert films._charts()["seat"].sent.to_dict() is first
    films._charts().clear()
    second = films._new_chart("seat", panel(2.0)).sent.to_dict()
    assert first["data"] == second["data"] and first["layout"] != second["layout"]
    films._charts().clear()


def test_the_browser_reads_null_for_a_number_that_is_not_finite() -> None:
    for value in (float("nan"), float("inf")):
        whole = json.loads(
            zlib.decompress(packed(figure_message("seat", "run", "film", panel(value)))),
            parse_constant=lambda name: 1 / 0,
        )
        assert whole["whole"]["data"][0]["y"] == [1.0, None]
        states = packed(states_message("seat", "run", "film", [panel(2.0), panel(value)]))
        assert json.loads(zlib.decompress(states))["frames"]

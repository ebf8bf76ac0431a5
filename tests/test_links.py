"""Links as a visitor may mistype them, opened without a browser: what the core refuses is named
once, and nothing else is lost."""

import json
import re
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, quote

import pytest
import streamlit as st
from house import ROOT
from streamlit.testing.v1 import AppTest

from icl_core import registry
from icl_core.contract.experiment import CannotDraw
from icl_core.runs import store

MANY = "9" * 400


def open_page(page: str, link: str) -> AppTest:
    """The page as drawn for that link, on the shipped runs."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    app.switch_page(f"pages/{page}.py")
    for name, value in parse_qsl(link, keep_blank_values=True):
        app.query_params[name] = value
    return app.run()


def titles(app: AppTest) -> list[str]:
    """The titles of the panels on stage."""
    return re.findall(
        r'data-title="[^"]*">([^<]*)<', " ".join(element.proto.body for element in app.get("html"))
    )


def warnings_of(app: AppTest) -> list[str]:
    """The page's warnings without their escapes."""
    return [re.sub(r"\\(\W)", r"\1", warning.value) for warning in app.warning]


def labelled(elements, label: str):
    return next(element for element in elements if element.label == label)


@dataclass
class MarkedSlider:
    """A slider on which trained runs are marked; its value is a text."""

    key: str
    label: str
    value: str
    disabled: bool


def marked_sliders(app: AppTest) -> list[MarkedSlider]:
    """The sliders that mark trained runs, which AppTest does not know."""
    sliders = []
    for element in app.get("bidi_component"):
        if element.proto.component_name != "icl_atlas_slider":
            continue
        slider = json.loads(element.proto.json)["slider"]
        look = slider["look"]
        value = look["texts"][slider["at"]]
        sliders.append(MarkedSlider(element.proto.id, look["label"], value, look["disabled"]))
    return sliders


def clock_data(app: AppTest) -> dict[str, Any]:
    """What the clock is given."""
    parts = [
        json.loads(element.proto.json)
        for element in app.get("bidi_component")
        if element.proto.component_name == "icl_part" and element.proto.json
    ]
    return next(part for part in parts if "clock" in part)


def at(app: AppTest) -> int:
    """The snapshot at which the clock stands."""
    return clock_data(app)["at"]


OUT_OF_RANGE = [
    ("birth", "freeze_until=400", ["freeze_until must be at most steps, 300, got 400"]),
    (
        "birth",
        f"d=4000&seed={MANY}",
        [
            "d must be a whole number from 16 to 512, got 4000",
            "seed must be a whole number from 0 to 99, got 99",
        ],
    ),
    (
        "memformers",
        "experiment=methods&spectrum=own&own=" + quote("1, 1, 0, 1, 1"),
        ["eigenvalues must be numbers from 1e-06 to 1e+06, got '0'"],
    ),
    (
        "memformers",
        "experiment=methods&sigma2=0",
        ["sigma2 must be a number from 0.01 to 100.0, got 0"],
    ),
    (
        "memformers",
        "experiment=mixture&weights=" + quote("0.2, 0.3, 0.6"),
        ["weights must sum to 1, got 1.1"],
    ),
    (
        "gdssm",
        "N=0&f=99&r=nan&seed_shown=9&points=" + quote("1e400:1"),
        [
            "N must be a whole number from 1 to 100, got 0",
            "f must be a whole number from 1 to 40, got 99",
            "r must be a number from 0.1 to 4.0, got nan",
            "seed_shown must be a whole number from 1 to 5, got 9",
            "points must be pairs x:y of numbers, as 0.5:1, got '1e400:1'",
        ],
    ),
    (
        "gdssm",
        "preset=1-D&layers=3&r=9",
        [
            "recurrence must be scalar with several layers and scalar labels, got row",
            "r must be a number from 0.1",
        ],
    ),
    ("gdssm", "r=1e400", ["r must be a number from 0.1 to 4.0, got inf"]),
    ("gdssm", "alpha=1e400", ["alpha must be a number from 0.1 to 3.0, got inf"]),
    (
        "gdssm",
        "experiment=corrections&times=9&r=0",
        ["times must be a number from -1.0 to 3.0, got 9", "r must be a number"],
    ),
    (
        "gdssm",
        "experiment=sizes&pairs=" + quote("0, -3"),
        ["pairs must be whole numbers from 1 to 80, got '0'"],
    ),
    ("gdssm", "experiment=none", ["experiment must be one of"]),
    ("gdssm", "experiment=layr", ["got 'layr' (did you mean 'layer'?). You see layer."]),
    ("gdssm", "colour=red", ["no setting 'colour'"]),
    ("gdssm", "step=0&recurrance=full", ["'recurrance' (did you mean 'recurrence'?)."]),
]


@pytest.mark.parametrize(
    ("page", "link", "messages"),
    OUT_OF_RANGE,
    ids=[
        f"{page}-{link if len(link) < 100 else f'link{index}'}-said{index}"
        for index, (page, link, _) in enumerate(OUT_OF_RANGE)
    ],
)
def test_what_is_out_of_range_is_named_once_and_all_is_drawn(
    page: str, link: str, messages: list[str]
) -> None:
    app = open_page(page, link)
    warnings = warnings_of(app)
    assert not app.exception and not app.error
    for message in messages:
        assert sum(message in warning for warning in warnings) == 1, warnings
    assert len(warnings) == len(messages)
    # no run of another setting is there
    assert not any("nearest trained run" in markdown.value for markdown in app.markdown)
    assert len(app.get("plotly_chart")) >= 1 and len(titles(app)) >= 2  # the stage


@pytest.mark.parametrize("link", ["token=3&N=0", "token=3&preset=1-D&layers=3&r=9"])
def test_what_is_right_in_a_bad_link_is_shown(link: str) -> None:
    assert "after 3 pairs" in " ".join(titles(open_page("gdssm", link)))


def _with_first_drawing(monkeypatch, id: str, draw) -> None:
    """The experiment with another function for its first drawing."""
    experiment = registry.experiment(id)
    first, *others = experiment.drawings
    changed = replace(experiment, drawings=(replace(first, draw=draw), *others))
    monkeypatch.setattr(registry, "experiment", lambda name: changed if name == id else experiment)
    st.cache_resource.clear()


# a still panel, one that the clock moves
@pytest.mark.parametrize("name", ["corrections", "layer"])
def test_a_fault_in_a_drawing_is_shown_as_one_logged_and_takes_no_other_panel_with_it(
    monkeypatch, caplog, name
) -> None:
    _with_first_drawing(monkeypatch, f"gdssm.{name}", lambda run, view: {}["a name"])
    app = open_page("gdssm", f"experiment={name}")
    assert {error.value for error in app.error} == {
        "A fault of the program, not of your setting: KeyError. The log says where."
    }
    assert not app.exception and not app.warning and len(app.get("plotly_chart")) >= 1
    assert "a name" in caplog.text and "Traceback" in caplog.text


def test_what_a_view_cannot_show_is_said_as_advice(monkeypatch) -> None:
    def refuse(run, view):
        raise CannotDraw("nothing to see at this step")

    _with_first_drawing(monkeypatch, "gdssm.corrections", refuse)
    app = open_page("gdssm", "experiment=corrections")
    assert [warning.value for warning in app.warning] == ["nothing to see at this step"]
    assert not app.error


@pytest.mark.parametrize(
    ("page", "link"),
    [
        ("birth", "snapshot=3&rate=0.1"),
        ("gdssm", "snapshot=3&rate=0.01"),
        ("memformers", "experiment=convergence&rate=0.1"),
        ("memformers", "experiment=variances&tried=2"),
    ],
)
def test_a_link_in_words_of_before_still_opens(page: str, link: str) -> None:
    app = open_page(page, link)
    assert not app.exception and not app.error and not app.warning
    assert len(app.get("plotly_chart")) >= 1


def test_a_links_snapshot_is_the_one_shown() -> None:
    assert at(open_page("birth", "snapshot=3")) == 3
    assert at(open_page("birth", "")) > 3


def test_a_link_names_a_step_and_shows_the_last_snapshot_not_beyond_it() -> None:
    header = store.default().preset("birth.induction", "fastest")
    steps = store.default().load(header, typed=False).snapshot_steps
    for step in (31, 32, 100):
        assert at(open_page("birth", f"step={step}")) == sum(other <= step for other in steps) - 1
    assert at(open_page("birth", "step=0")) == 0
    assert at(open_page("birth", "step=999")) == at(open_page("birth", ""))
    (warning,) = open_page("birth", "step=-1").warning
    assert "step must be a whole number from 0" in warning.value


@pytest.mark.parametrize(
    ("page", "cell", "message"),
    [
        (
            "birth",
            "w_k2",
            "a map, a row and a column, as second:1:1, the map one of second, first, w_k1, w_k2, "
            "w_o2",
        ),
        ("birth", "w_k2:0:1", "a row from 1 to 65 and a column from 1 to 65 of w_k2"),
        ("birth", "second:x:11", "a row from 1 to 8 and a column from 1 to 8 of second"),
        ("birth", "accuracy:1:1", "a map, a row and a column"),
        ("gdssm", "weights:4:1:1", "a map from 1 to 3 of weights"),
        ("birth", f"w_k2:1:{MANY[:60]}", "a row from 1 to 65 and a column from 1 to 65 of w_k2"),
    ],
)
def test_a_cell_that_is_none_is_named(page: str, cell: str, message: str) -> None:
    app = open_page(page, f"drawer=Numbers&cell={quote(cell)}")
    (warning,) = [text.replace("\u2060", "") for text in warnings_of(app)]
    assert f"cell must be {message}" in warning and f"got '{cell}'" in warning
    assert not app.exception and not app.error
    assert app.subheader  # a number is explained all the same


def test_a_pinned_cell_explains_its_number() -> None:
    app = open_page("birth", "drawer=Numbers&cell=w_o2:3:4")
    assert app.subheader[0].value.startswith("W_O², output")
    bodies = [element.proto.body for element in app.get("html")]
    table = next(body for body in bodies if 'class="making"' in body)
    assert "their product" in table and "softmax" in table
    assert [field.value for field in app.number_input][-2:] == [3, 4]
    assert not app.warning and not app.exception


def test_the_page_says_how_many_seeds_are_loaded_and_to_which_preset_start_goes() -> None:
    def said(app: AppTest) -> str:
        return " ".join(element.proto.body for element in app.get("html"))

    first, second = registry.experiment("birth.data").presets[:2]
    page = open_page("birth", "experiment=data")
    assert first.config.seeds == 1 < first.seeds
    label = f"seeds ({first.seeds} loaded)"
    assert labelled(marked_sliders(page), label).value == str(first.config.seeds)
    assert "Start goes" not in said(page)
    page = open_page("birth", f"experiment=data&preset={second.name}")
    assert f"Start goes to the preset “{first.title}”." in said(page)

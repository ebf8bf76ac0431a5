"""Curves that a class draws: which a figure has, what counts as one, and who sees what of them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_classroom import asked, phone, refusal

from icl_core.classroom import export, figures, record
from icl_core.classroom.curves import FULL, PLACES, Curve, curves_of, drawable
from icl_core.classroom.question import MOVED, NEAR, Question
from icl_core.classroom.session import Result
from icl_core.classroom.sessions import Sessions
from icl_core.contract.figure import Figure, Trace
from icl_core.contract.story import seen_at
from icl_core.runs import store
from icl_core.site.scenes import Scenes

RISING = tuple(round(FULL * place / (PLACES - 1), 1) for place in range(PLACES))
CURVE = Curve("W", "training step", "recall", ((0.0, "0"), (1.0, "100")), ((0.0, "0"),), RISING)
DRAW = Question("toy.walk first ~ W, recall", "Draw “W”.", 0.0, curve=CURVE)
STRAIGHT = [round(height) for height in RISING]
FLAT = [50] * PLACES
ONE = st.one_of(st.booleans(), st.floats(), st.integers(0, FULL))


def test_a_curve_has_the_places_of_its_axes() -> None:
    """A line from 10 to 1,000 on a logarithmic axis from 1 to 1,000, over steps 50 to 100 of 100,
    rises from a third of the height to its top; before step 50 nothing is known of it."""
    x = np.linspace(50, 100, 11)
    line = Trace(x=x, y=10 ** (1 + (x - 50) / 25), name="a", mode="lines")
    band = Trace(x=x, y=x, mode="lines", fill="tonexty", name="its spread")
    mark = Trace(x=[60, 60, 60, 60], y=[1, 10, 100, 1000], mode="lines", name="step shown")
    path = Trace(x=[50, 80, 60, 90], y=[1, 2, 3, 4], mode="lines", name="a path in the plane")
    figure = Figure([line, band, mark, path])
    figure.update_xaxes(range=[0, 100], title={"text": "training step"})
    figure.update_yaxes(type="log", range=[0, 3], title={"text": "loss"})
    (curve,) = curves_of(figure)
    assert (curve.name, curve.x, curve.y) == ("a", "training step", "loss")
    assert curve.measured[: PLACES // 2] == (None,) * (PLACES // 2)
    known = curve.measured[PLACES // 2 :]
    np.testing.assert_allclose(known, np.linspace(100 / 3, 100, len(known)), atol=0.06)
    assert [text for _, text in curve.y_ticks] == ["1", "10", "100", "1000"]
    np.testing.assert_allclose([place for place, _ in curve.y_ticks], [0, 1 / 3, 2 / 3, 1])


@pytest.mark.parametrize("id", ["birth.induction", "gdssm.layer"])
def test_a_class_may_draw_what_is_not_on_screen(id: str) -> None:
    """Those of the trainings in closed drawers, with the ends that the panel draws; none of the
    stage but what the question hides."""
    scenes = Scenes(id)
    run = store.default().load(scenes.runs[0].header)
    story = scenes.experiment.story
    assert run and story
    beat = next(beat for beat in story.beats if beat.ask)
    view = seen_at(beat, run, scenes.runs[0].base)
    every = [drawing for drawing in scenes.experiment.drawings if drawing.live]
    closed = next(drawing for drawing in every if drawing.place != "stage")
    offered = drawable(scenes.experiment, run, view, (), "")
    assert not [curve for curve, is_hidden in offered if is_hidden]
    figure = closed.panel(run, view).figure
    assert figure is not None
    own = curves_of(figure)
    assert own and all((curve, False) in offered for curve in own)
    elsewhere = drawable(scenes.experiment, run, view, (), closed.place)
    assert not [curve for curve, _ in elsewhere if curve in own]
    on_stage = [drawing for drawing in every if drawing.place == "stage"]
    for drawing in on_stage:
        shown = drawing.panel(run, view).figure
        assert shown is not None
        hidden = drawable(scenes.experiment, run, view, (drawing.name,), "")
        assert [curve for curve, is_hidden in hidden if is_hidden] == curves_of(shown)


def test_curves_of_one_name_have_that_of_their_panel() -> None:
    scenes = Scenes("birth.data")
    run = store.default().load(scenes.runs[0].header)
    assert run
    hidden = ("w_o2", "w_k2", "w_k1")
    curves = [
        curve for curve, _ in drawable(scenes.experiment, run, scenes.runs[0].base, hidden, "")
    ]
    names = [(curve.name, curve.x, curve.y) for curve in curves]
    assert len(set(names)) == len(names) and "1 frequent (w k2)" in [name for name, _, _ in names]


def test_a_line_of_which_nothing_is_known_is_no_curve() -> None:
    nothing = Trace(x=[1, 2, 3, 4, 5], y=[np.nan] * 5, name="a", mode="lines")
    assert curves_of(Figure([nothing])) == []


@given(
    st.one_of(
        st.none(),
        st.text(max_size=5),
        st.integers(),
        st.lists(st.integers(-5, FULL + 5), min_size=PLACES - 1, max_size=PLACES + 1),
        st.lists(ONE, min_size=PLACES, max_size=PLACES),
    )
)  # fmt: skip
def test_only_a_drawn_curve_is_an_answer(answer: Any) -> None:
    is_curve = (
        isinstance(answer, list)
        and len(answer) == PLACES
        and all(type(one) is int and 0 <= one <= FULL for one in answer)
    )
    if is_curve:
        assert DRAW.read(answer) == tuple(answer)
    else:
        sentence, status = refusal(lambda: DRAW.read(answer))
        assert status == 400 and str(PLACES) in sentence


def test_near_is_a_mean_distance_and_places_without_a_measurement_do_not_count() -> None:
    at_edge = tuple(min(FULL, round(height) + NEAR) for height in RISING)
    assert DRAW.is_right(tuple(STRAIGHT)) and DRAW.is_right(at_edge)
    assert not DRAW.is_right((0,) * PLACES) and not DRAW.is_right((FULL,) * PLACES)
    half = Curve("W", "", "", (), (), (None,) * 16 + RISING[16:])
    guess = Question("k", "", 0.0, curve=half)
    assert guess.is_right((FULL,) * 16 + tuple(STRAIGHT[16:]))
    assert DRAW.differ(tuple(FLAT), (50 + MOVED,) * PLACES)
    assert not DRAW.differ(tuple(FLAT), (50 + MOVED - 1,) * PLACES)


def test_a_phone_sees_its_own_curve_and_the_measured_one_once_it_is_revealed() -> None:
    classes = Sessions()
    code = asked(classes, DRAW)
    classes.vote(code, phone(1), 1, 1, STRAIGHT)
    classes.vote(code, phone(2), 1, 1, FLAT)
    told = [json.loads(json.dumps(classes.state(code, phone(1))))]
    classes.open_answers("a")
    told.append(json.loads(json.dumps(classes.state(code, phone(1)))))
    classes.reveal("a", "toy.walk first")  # the story shows the answer to the beat's question
    shown = classes.state(code, phone(1))
    for state in told:
        assert state["own"] == [STRAIGHT] and state["curve"]["name"] == "W"
        assert "measured" not in json.dumps(state) and str(FLAT) not in json.dumps(state)
    assert shown["measured"] == RISING and "tally" not in shown
    classes.reveal("a", "toy.walk fir")  # another question's key
    drawer = replace(DRAW, key="toy.walk first in a drawer: W, recall")  # which stays closed
    assert not drawer.is_of("toy.walk first") and drawer.is_of(drawer.key)
    classes.vote_again("a")
    assert "measured" not in classes.state(code, phone(1))
    classes.vote(code, phone(2), 1, 2, STRAIGHT)
    classes.vote(code, phone(1), 1, 2, [height // 2 + 1 for height in STRAIGHT])
    classes.open_answers("a")
    seen = classes.seen("a")
    assert seen and seen.result
    assert (seen.result.both, seen.result.changed, seen.result.to_right) == (2, 2, 1)


TWICE = Result(DRAW, ((tuple(STRAIGHT), tuple(FLAT)), (tuple(STRAIGHT),)), 1, 0, 0)


def test_all_curves_lie_over_each_other_with_the_measured_one_on_top() -> None:
    before = figures.answers(TWICE, marks_right=False)
    names = [trace["name"] for trace in before.data]
    assert names == ["first vote", "second vote", "middle of the class"]
    first = np.reshape(before.data[0]["y"], (2, PLACES + 1))[:, :-1]
    assert first.tolist() == [STRAIGHT, FLAT]
    after = figures.answers(TWICE, marks_right=True)
    assert tuple(after.data[-1]["y"]) == RISING and "measured: W" in after.data[-1]["name"]
    said = figures.sentence(TWICE, marks_right=True)
    assert "measured curve, on average: 1, then 1" in said
    assert not [trace for trace in before.data if tuple(trace["y"]) == RISING]


def test_curves_are_kept_as_counts_and_exported_whole(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("ICL_CACHE_DIR", str(tmp_path))
    record.keep("a-1", TWICE)
    record.keep("b-1", TWICE)
    (rooms,) = record.records(["toy.walk first"])
    assert rooms.lines() == [
        "farther from the measured curve: 50%; voting twice 50%, then 0%",
        "✓ near the measured curve: 50%; voting twice 50%, then 100%",
    ]
    assert len(rooms.rooms) == 2
    rows = export.table([TWICE]).splitlines()
    assert len(rows) == 3 and " ".join(map(str, STRAIGHT)) in rows[1] + rows[2]
    page = export.page([TWICE], "A class")
    assert page.count("<svg") == 2 and page.count("<polyline") == 5

"""Lessons: what they fix, hide and ask for is there; their answers are right for the shipped run,
others are not."""

from collections import OrderedDict
from urllib.parse import urlencode

import pytest
from streamlit.testing.v1 import AppTest
from test_links import labelled, marked_sliders, open_page, warnings_of

from icl_core import registry
from icl_core.contract.experiment import STAGE
from icl_core.contract.knobs import knobs_of
from icl_core.contract.lesson import CONTROLS, Exercise, readings
from icl_core.runs import store
from pages.ui.link import answers

LESSONS = registry.lessons()
TAUGHT = [
    (name, exercise.name) for name, (_, lesson) in LESSONS.items() for exercise in lesson.exercises
]
OWN = {"The model", "View", "Numbers", "Evidence", "Why"}  # drawers that every experiment may have


@pytest.fixture(params=LESSONS)
def taught(request):
    """A lesson, its experiment, and the preset that it is given on."""
    paper, lesson = LESSONS[request.param]
    experiment = registry.experiment(f"{paper.name}.{lesson.experiment}")
    return lesson, experiment, {preset.name: preset for preset in experiment.presets}[lesson.preset]


def loaded(name: str):
    paper, lesson = LESSONS[name]
    header = store.default().preset(f"{paper.name}.{lesson.experiment}", lesson.preset)
    assert header is not None
    return store.default().load(header)


def test_every_paper_has_a_lesson():
    assert {paper.name for paper, _ in LESSONS.values()} == set(registry.papers()) - {"toy"}


def test_what_a_lesson_fixes_and_hides_is_there(taught):
    lesson, experiment, preset = taught
    assert preset in experiment.presets
    view = experiment.view(**preset.view)
    for field, value in lesson.fixed.items():
        owner = preset.config if field in knobs_of(experiment.config) else view
        knobs_of(type(owner))[field].check(field, value)
        # so that its run is there, and beats start from what it fixes
        assert getattr(owner, field) == value
    drawings = [drawing for drawing in experiment.drawings if drawing.applies(preset.config)]
    drawers = {drawing.place for drawing in drawings} - {STAGE} | OWN
    assert set(lesson.hidden) <= {*CONTROLS, *drawers}


def test_what_it_hides_or_fixes_no_beat_needs(taught):
    lesson, experiment, _ = taught
    beats = {beat.name: beat for beat in experiment.story.beats}
    assert set(lesson.predict) <= beats.keys() and all(beats[name].ask for name in lesson.predict)
    for beat in beats.values():
        assert beat.drawer not in lesson.hidden, beat.name
        assert not set(beat.view) & lesson.fixed.keys(), beat.name


def test_the_notes_show_what_there_is(taught):
    lesson, experiment, preset = taught
    view = experiment.view(**preset.view)
    drawings = {drawing.name: drawing for drawing in experiment.drawings}
    assert lesson.working
    assert lesson.minutes == lesson.working + sum(note.minutes for note in lesson.notes) <= 90
    assert len(lesson.able) == 3
    for note in lesson.notes:
        assert note.ask.endswith("?") and note.they_say and note.tell.endswith((".", "”.", ".”"))
        for field, value in note.show.fields.items():
            knobs_of(type(view))[field].check(field, value)
        places = {drawings[name].place for name in note.show.marks}
        assert places <= {STAGE, note.show.drawer}, note.show.say


def test_three_exercises_that_say_how_exact(taught):
    lesson, _, _ = taught
    assert len({exercise.name for exercise in lesson.exercises}) == 3
    for exercise in lesson.exercises:
        exactness = ("Within", "within", "decimal", "Exactly")
        assert any(word in exercise.ask for word in exactness), exercise.ask
        assert exercise.hint.endswith((".", "?")) and exercise.unit


@pytest.mark.parametrize(("name", "exercise"), TAUGHT)
def test_the_answer_of_the_run_is_right_and_guesses_are_not(name: str, exercise: str):
    run = loaded(name)
    task = next(task for task in LESSONS[name][1].exercises if task.name == exercise)
    right = task.right(run)
    answer = task.answer(run)
    assert task.accepts(run, f"{right:.12g}") and task.accepts(run, answer.split()[0].rstrip("."))
    assert "nan" not in answer and answer.endswith(".")
    guesses = ["0", "1", "0.5", "2", "3", "10", "50", "100", "1000", "", "x", "nan", "inf"]
    assert not any(task.accepts(run, guess) for guess in guesses)
    assert not task.accepts(run, f"{right * 1.1 + task.within:.6g}")
    assert task.within <= abs(right) / 20


@pytest.mark.parametrize(
    ("typed", "numbers"),
    [
        ("0.87", (0.87,)),
        (" 50.5 % ", (50.5,)),
        ("\N{MINUS SIGN}0,127", (-127.0, -0.127)),
        ("49,152", (49152.0, 49.152)),
        ("49 152", (49152.0,)),
        ("1,000,000", (1e6,)),
        (".5", (0.5,)),
        ("1e3", ()),
        ("nan", ()),
        ("", ()),
        ("1/16", ()),
    ],
)
def test_numbers_are_read_as_people_write_them(typed: str, numbers: tuple[float, ...]):
    assert readings(typed) == numbers


def test_an_answer_on_the_edge_counts():
    exercise = Exercise(
        "x", "How many? Within 1.", "pairs", lambda run: 10.0, 1, lambda run: "So.", "Look."
    )
    assert exercise.accepts(None, "11") and exercise.accepts(None, "9")
    assert not exercise.accepts(None, "11.01")
    assert exercise.answer(None) == "10. So."


def test_what_a_drawer_shows_of_one_seed_counts():
    from icl_core.papers.gdssm.layer.losses import at_scale
    from icl_core.papers.gdssm.layer.settings import View

    run = loaded("state-is-gradient")
    exercise = LESSONS["state-is-gradient"][1].exercises[2]
    for seed in range(1, run.config.seeds + 1):
        ours, _, zero, _ = at_scale(run, View(alpha=3.0, seed_shown=seed))
        assert exercise.accepts(run, f"{ours / zero:.1f}")


def sliders(app: AppTest) -> list:
    """Return the sliders that are drawn once every group of settings is open."""
    id = app.session_state["id"]
    app.session_state[f"{id}:more"] = True
    for knob in knobs_of(registry.experiment(id).config).values():
        app.session_state[f"{id}:group {knob.group}"] = True
    app.run()
    return [*app.select_slider, *marked_sliders(app)]


@pytest.mark.long
@pytest.mark.parametrize("name", LESSONS)
def test_whatever_a_link_says_the_lesson_holds(name: str):
    paper, lesson = LESSONS[name]
    settings = {"f": "3"} if "f" in lesson.fixed else {"seed": "7"}
    fixed = {
        field: str(not value) for field, value in lesson.fixed.items() if isinstance(value, bool)
    }
    link = {"lesson": name, "preset": "none", **settings, **fixed}
    app = open_page(paper.name, urlencode(link))
    assert not app.exception and not app.error
    assert len(warnings_of(app)) == 1 + len(settings) + len(fixed)
    for warning in warnings_of(app):
        assert warning.startswith("In this lesson ") and warning.endswith("is not used.")
    # the lesson's own run is on screen
    assert not any("nearest one" in markdown.value for markdown in app.markdown)
    disabled = {slider.key.rpartition(":")[2]: slider.disabled for slider in sliders(app)}
    assert "settings" in lesson.hidden or {*settings, *fixed} & disabled.keys()
    assert all(fast for field, fast in disabled.items() if field in (*settings, *fixed))


def test_a_lesson_survives_what_leaves_all_other_settings_and_not_another_experiment():
    app = open_page("gdssm", "lesson=state-is-gradient&seed=3&at_once=false")
    pairs = [slider for slider in sliders(app) if slider.label.startswith("context pairs")]
    assert pairs[0].disabled
    labelled(app.button, "Back to the preset").click().run()
    assert app.query_params["lesson"] == "state-is-gradient" and "seed" not in app.query_params
    labelled(app.button, "Leave the lesson").click().run()
    assert "lesson" not in app.query_params and app.query_params["experiment"] == "layer"
    assert not any(slider.disabled for slider in sliders(app))


def test_answers_are_kept_for_their_visitor_and_lesson_and_bounded(monkeypatch):
    visitor = ["a"]
    lesson = ["induction-head"]
    session = {}
    monkeypatch.setattr(answers, "_kept", OrderedDict())
    monkeypatch.setattr(answers, "VISITORS", 2)
    monkeypatch.setattr(answers, "ANSWERS", 2)
    monkeypatch.setattr(answers, "_lesson", lambda: lesson[0])
    monkeypatch.setattr(answers.visitors, "name", lambda: visitor[0])
    monkeypatch.setattr(answers.st, "session_state", session)

    def after_reload(visitor_name: str, lesson_name: str = "induction-head") -> dict:
        visitor[0] = visitor_name
        lesson[0] = lesson_name
        session.clear()
        answers.restore()
        return dict(session)

    for value in (1, 2):
        answers.store("first", value)
    answers.store("second", "x")
    answers.store("third", "too many")
    assert session["third"] == "too many"
    assert after_reload("a") == {"first": 2, "second": "x"}
    assert after_reload("b") == after_reload("a", "learned-steps") == after_reload("a", "") == {}
    answers.store("outside a lesson", 1)
    assert after_reload("a", "") == {}
    for visitor_name in "bc":
        after_reload(visitor_name)
        answers.store("first", 9)
    assert after_reload("a") == {} and after_reload("c") == {"first": 9}  # a was the first to go
    answers.clear()
    assert session == {} == after_reload("c") and after_reload("b") == {"first": 9}


@pytest.mark.parametrize(("page", "name"), [("birth", "nothing"), ("memformers", "induction-head")])
def test_a_lesson_that_is_not_here_is_told_with_those_there_are(page: str, name: str):
    warnings = warnings_of(open_page(page, f"lesson={name}"))
    assert len(warnings) == 1
    assert warnings[0].startswith(f"There is no lesson '{name}' on this page")
    assert all(other in warnings[0] for other in LESSONS)

"""The stage on the phones of a class: when it is seen, what of it is sent, and the page that draws
it."""

import gzip
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from test_classroom import CHOICE, NUMBER, phone, refusal
from test_classroom_page import first_question, labels, opened, press, the
from test_classroom_routes import ask, option, post
from test_links import open_page, titles
from test_site import loaded, of_presets, scenes_of

from icl_core.classroom import sessions
from icl_core.classroom.session import ShownStage
from icl_core.classroom.sessions import Sessions
from icl_core.contract.story import HEADLINE
from icl_core.share.stage_films import stage_drawings
from icl_core.site import stage_data

__all__ = ["option"]  # a fixture

STAGE = ShownStage("one", gzip.compress(b'{"steps": [3]}'))
OTHER = ShownStage("other", gzip.compress(b'{"steps": [4]}'))
MOST = 100_000  # bytes of a scene


@pytest.fixture(autouse=True)
def classes(monkeypatch) -> Iterator[Sessions]:
    classes = Sessions()
    monkeypatch.setattr(sessions, "ALL", classes)
    yield classes


def shown(classes: Sessions, code: str) -> Any:
    """The name of the stage that a phone is told; None if it is told of none."""
    return classes.state(code, phone(1)).get("stage")


def sent(answer: Any) -> Any:
    assert answer.status == 200
    return answer.said


def test_phones_are_told_the_stage_while_it_is_on_and_no_question_is_open(
    classes: Sessions,
) -> None:
    code = classes.open("a")
    classes.draw_stage("a", STAGE)
    assert shown(classes, code) is None  # off at first: nothing is taken
    classes.put_stage("a", True)
    assert shown(classes, code) == ""
    classes.draw_stage("a", STAGE)
    assert shown(classes, code) == "one"
    classes.draw_stage("a", None)  # a question of the story is open on the lecturer's page
    assert shown(classes, code) == ""
    classes.show("a", CHOICE)
    assert shown(classes, code) is None  # off again
    classes.put_stage("a", True)
    classes.draw_stage("a", STAGE)
    assert shown(classes, code) == ""  # while the question is open
    classes.open_answers("a")
    assert shown(classes, code) == "one"
    classes.vote_again("a")
    assert shown(classes, code) == ""
    classes.show("a", NUMBER)
    classes.show("a", CHOICE)
    assert shown(classes, code) is None


def test_a_phone_is_told_of_another_stage_and_not_of_the_same_one(classes: Sessions) -> None:
    code = classes.open("a")
    classes.put_stage("a", True)
    classes.draw_stage("a", STAGE)
    version = classes.state(code, phone(1))["version"]
    classes.draw_stage("a", ShownStage(STAGE.name, STAGE.scene))
    assert classes.state(code, phone(1), version) == {"version": version}
    classes.draw_stage("a", OTHER)
    assert classes.state(code, phone(1), version)["stage"] == "other"


def test_a_scene_is_its_own_classes_and_the_one_that_is_shown(classes: Sessions) -> None:
    codes = {owner: classes.open(owner) for owner in "ab"}
    for owner, stage in zip("ab", (STAGE, OTHER), strict=True):
        classes.put_stage(owner, True)
        classes.draw_stage(owner, stage)
    assert classes.scene(codes["a"], phone(1), "one") == STAGE.scene
    gone = "The screen shows another stage by now.", 409
    for code, name in ((codes["a"], "other"), (codes["b"], "one"), (codes["a"], None)):
        assert refusal(lambda code=code, name=name: classes.scene(code, phone(1), name)) == gone
    classes.show("a", CHOICE)
    classes.put_stage("a", True)
    classes.draw_stage("a", STAGE)
    assert refusal(lambda: classes.scene(codes["a"], phone(1), "one")) == gone  # it is open
    assert refusal(lambda: classes.scene("AAAA", phone(1), "one"))[1] == 404


def test_the_routes_send_the_scene_and_the_page_with_its_files(classes: Sessions, option) -> None:
    code = classes.open("a")
    classes.put_stage("a", True)
    classes.draw_stage("a", STAGE)
    scene = post("scene", code=code, phone=phone(1), name="one")
    assert sent(scene) == {"steps": [3]} and scene.headers["cache-control"] == "no-store"
    stale = post("scene", code=code, phone=phone(1), name="former")
    assert stale.status == 409 and stale.said["say"] == "The screen shows another stage by now."
    page = ask("/class/stage", method="GET")
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self';")
    assert "connect-src" not in policy and "frame-ancestors 'self'" in policy
    assert "frame-src 'self'" in ask("/join", method="GET").headers["content-security-policy"]
    files = re.findall(r'(?:href|src)="(files/[^"]+)"', page.body.decode())
    assert len(files) == 3
    for name in files:
        file = ask(f"/class/{name}", method="GET")
        assert file.status == 200 and "immutable" in file.headers["cache-control"]
    style = ask(f"/class/{files[0]}", method="GET").body.decode()
    assert "var(--icl-background)" in style and "BACKGROUND" not in style
    for font in re.findall(r'url\("([^"]+)"\)', style):
        beside = f"{files[0].rpartition('/')[0]}/{font}"
        assert ask(f"/class/{beside}", method="GET").status == 200
    for wrong in ("files/0000000000000000/stage.js", f"{files[1]}x", "files/../join.js"):
        assert ask(f"/class/{wrong}", method="GET").status == 404
    option("server.allowedHosts", ["localhost"])
    for path in ("/class/stage", f"/class/{files[1]}"):
        assert ask(path, method="GET", host="evil.example").status == 403


@pytest.mark.parametrize("id", ["gdssm.layer", "birth.constructed", "learners.prompt"])
def test_a_phone_gets_the_panels_of_the_site_at_one_snapshot_alone(id: str) -> None:
    scenes = scenes_of(id)
    (one,) = of_presets(scenes, every=False)
    run = loaded(one)
    preset = scenes.experiment.presets[0].config
    whole = stage_data.stage(scenes.experiment, id, run, one.base, preset)
    for index in sorted({0, len(whole["steps"]) // 2, len(whole["steps"]) - 1}):
        view = stage_data.view_at(one.base, index)
        scene = stage_data.snapshot(scenes.experiment, id, run, view, preset)
        assert scene["steps"] == [whole["steps"][index]]
        assert scene["headlines"] == [whole["headlines"][index]]
        for panel, every in zip(scene["panels"], whole["panels"], strict=True):
            assert len(panel["titles"]) == len(panel["frames"]) == 1
            titles = every["titles"]
            assert panel["titles"] == titles[index : index + 1] or panel["titles"] == titles
            assert panel["whole"]["layout"]["meta"]["snapshot"] == 0
            if index == len(whole["steps"]) - 1:
                assert panel["whole"]["data"] == every["whole"]["data"]
        assert len(gzip.compress(json.dumps(scene).encode())) < MOST


def test_what_questions_hide_is_not_in_the_scene() -> None:
    scenes = scenes_of("gdssm.layer")
    (one,) = of_presets(scenes, every=False)
    run = loaded(one)
    names = [drawing.name for drawing in stage_drawings(scenes.experiment, run)]
    hidden = (names[1], HEADLINE)
    preset = scenes.experiment.presets[0].config
    scene = stage_data.snapshot(scenes.experiment, "gdssm.layer", run, one.base, preset, hidden)
    assert [panel["name"] for panel in scene["panels"]] == [names[0], *names[2:]]
    assert scene["headlines"] == [""]
    every = stage_data.snapshot(scenes.experiment, "gdssm.layer", run, one.base, preset, names)
    assert every["panels"] == []


def scene_of(classes: Sessions) -> Any:
    """The scene that a phone would get of the only class; None if there is none to be seen."""
    seen = the(classes)
    name = shown(classes, seen.code)
    return name and json.loads(gzip.decompress(classes.scene(seen.code, phone(1), name)))


def test_the_lecturers_page_gives_its_class_the_stage_that_it_shows(classes: Sessions) -> None:
    app, _ = first_question("gdssm")
    press(app, "With the class")
    (toggle,) = app.toggle
    assert toggle.label == "Stage on phones" and not toggle.value
    assert scene_of(classes) is None
    press(app, "Open the answers")
    opened(app.toggle[0].set_value(True).run())
    assert scene_of(classes) == ""  # the question is open on the page
    press(app, "Show me")
    scene = scene_of(classes)
    assert scene["title"] and scene["panels"] and scene["headlines"] != [""]
    app.query_params["step"] = "25"
    opened(app.run())
    assert scene_of(classes)["steps"] == [25]
    opened(app.toggle[0].set_value(False).run())
    assert scene_of(classes) is None
    opened(app.toggle[0].set_value(True).run())
    press(app, "Fold")
    assert scene_of(classes)["steps"] == [25] and app.toggle[0].value
    assert "Open the answers" not in labels(app)


def test_two_windows_of_a_lecturer_agree(classes: Sessions) -> None:
    apps = [opened(open_page("gdssm", "")) for _ in range(2)]
    owner = apps[0].session_state["visitor"]
    apps[1].session_state["visitor"] = owner
    classes.open(owner)
    for app in apps:
        opened(app.run())
    opened(apps[0].toggle[0].set_value(True).run())
    for app in (*apps, *apps):
        assert opened(app.run()).toggle[0].value and the(classes).has_stage
    opened(apps[1].toggle[0].set_value(False).run())
    for app in apps:
        assert not opened(app.run()).toggle[0].value and not the(classes).has_stage


def test_a_run_that_stands_in_is_the_stage_too(classes: Sessions, monkeypatch) -> None:
    monkeypatch.setenv("ICL_READ_ONLY", "1")
    app = opened(open_page("gdssm", "f=7"))
    (owner,) = {app.session_state["visitor"]}
    classes.open(owner)
    classes.put_stage(owner, True)
    opened(app.run())
    scene = scene_of(classes)
    assert "f = 7" not in scene["line"]  # the nearest run's, as its figures are
    assert [panel["titles"][-1] for panel in scene["panels"]] == titles(app)

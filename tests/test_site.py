"""The site without a browser: its stages, headlines, stories and addresses are the dashboard's, and
every file that its pages ask for is there."""

import base64
import json
import re
import zlib
from collections.abc import Iterable, Mapping
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest
import streamlit as st
from house import TOY

from icl_core import registry
from icl_core.command.cli import main
from icl_core.contract import story as storytelling
from icl_core.contract.claims import CLASSROOM_ONLY, NOT_RUN
from icl_core.contract.experiment import CannotDraw, Drawing, Run
from icl_core.contract.knobs import BadSetting
from icl_core.contract.story import Beat
from icl_core.runs import store
from icl_core.share.stage_films import film_id, stage_drawings, steps_of
from icl_core.site import scripts, stage_data, texts, write
from icl_core.site.experiment_texts import experiment_texts
from icl_core.site.markup import html_of
from icl_core.site.scenes import Scenes, ShownRun, try_query
from pages.ui.link.address import Setting
from pages.ui.look import chart
from pages.ui.stage import films, playback, stage
from pages.ui.stage.playback import ClockOptions
from pages.ui.story import prediction, script, tour
from pages.ui.story.places import Place, answer_key
from pages.ui.story.tour import Way
from tests.parameters import first_is_short

IDS = [id for id in registry.experiment_ids() if id != TOY]
# One of each paper: a stage with a clock, whose frames take little time to draw.
SMALL = ("birth.laboratory", "memformers.convergence", "gdssm.states", "learners.trained")
SLOW = ("birth.induction", "birth.transformer", "gdssm.layer", "gdssm.comparison")
OF_PAGE = ("experiment", "preset", "step", "drawer", "marks", "beat", "tour")  # of an address
OWN_DRAWERS = {stage_data.MODEL, "Evidence", "Why"}
IN_DASHBOARD = {"View", "Sweep"}  # drawers of which the site says that the dashboard has them
WITHOUT_A_RUN = (NOT_RUN, CLASSROOM_ONLY)  # verdicts on claims whose setting may not have been run
FIRST_PICTURE = 300_000  # bytes before the first picture, without plotly.js
STAGES = [(id, False) for id in SMALL] + [
    pytest.param(id, True, marks=pytest.mark.long) for id in IDS
]
# What a story says of its run may take a while to measure.
STORIES = [pytest.param(id, marks=[pytest.mark.long] if id in SLOW else []) for id in IDS]
# Of these the files take little time; all but one have views that some drawers show, too.
WRITTEN = ("birth.data", "memformers.theorems", "memformers.speed", "learners.diversity")


@cache
def scenes_of(id: str) -> Scenes:
    return Scenes(id)


@cache
def index_of(id: str) -> dict[str, Any]:
    """What the browser finds a scene by, as it reads it."""
    return as_sent(scenes_of(id).index())


def loaded(shown: ShownRun) -> Run:
    run = store.default().load(shown.header)
    assert run is not None
    return run


def setting_of(scenes: Scenes, shown: ShownRun) -> Setting:
    """What the dashboard reads of the address of a preset's run."""
    experiment = scenes.experiment
    presets = {preset.name: preset for preset in experiment.presets}
    preset = presets[shown.presets[0]] if shown.presets else experiment.presets[0]
    name = scenes.id.partition(".")[2]
    return Setting(scenes.id, name, experiment, preset, shown.config, {}, shown.base, ())


def unpacked(message: bytes, film: str, name: str) -> dict[str, Any]:
    """A message to the browser with another name of its film and without the run's theme."""
    text = zlib.decompress(message).decode().replace(film, name)
    content = json.loads(text)
    return content | {"run": content["run"].removesuffix(" light")}


def as_sent(value: Any) -> Any:
    """A value as the browser reads it."""
    return json.loads(json.dumps(value, allow_nan=False))


def shown_text(html: str) -> str:
    """The text of HTML, without its marks."""
    return unescape(re.sub(r"<[^>]*>", "", html)).strip()


def of_presets(scenes: Scenes, every: bool) -> Iterable[ShownRun]:
    """The runs of an experiment's presets, or the first one."""
    shown = [run for run in scenes.runs if run.presets]
    return shown if every else shown[:1]


@pytest.mark.parametrize("id, every", STAGES)
def test_a_stage_is_what_the_dashboard_sends(id: str, every: bool) -> None:
    scenes = scenes_of(id)
    for shown in of_presets(scenes, every):
        run = loaded(shown)
        setting = setting_of(scenes, shown)
        drawings = stage_drawings(scenes.experiment, run)
        site = stage_data.stage(
            scenes.experiment, id, run, shown.base, scenes.experiment.presets[0].config
        )
        assert [panel["name"] for panel in site["panels"]] == [one.name for one in drawings]
        for drawing, panel in zip(drawings, site["panels"], strict=True):
            assert_sent_alike(setting, drawing, run, as_sent(panel))


def assert_sent_alike(setting: Setting, drawing: Drawing, run: Run, seat: dict[str, Any]) -> None:
    """A panel of the site is the dashboard's: its figure, its frames, its texts."""
    film = films._film_arguments(setting, drawing, run)
    if "problem" in seat:
        with pytest.raises((CannotDraw, BadSetting), match=re.escape(seat["problem"])):
            films._states(*film)
        return
    named = film_id(film[0]), seat["film"]
    titles, states = films._states(*film)
    expected = unpacked(films._whole_figure(*film), *named) | unpacked(states, *named)
    assert_close({name: seat[name] for name in expected}, expected)
    assert seat["titles"] == titles
    last = films._last_panel(*film)
    assert last.figure is not None
    assert (seat["whose"], seat["note"]) == (last.whose, last.note)
    assert seat["needs"] == list(last.figure.needed)
    assert seat["low"] == ('class="whose low' in chart._tag(last))


def assert_close(ours: Any, theirs: Any) -> None:
    """Two drawings are equal but for the last digits of their numbers, which a product of matrices
    need not repeat."""
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        if theirs.get("dtype") == "f3":
            np.testing.assert_allclose(map_of(ours), map_of(theirs), rtol=1e-4, atol=1e-6)
            return
        for name, value in theirs.items():
            assert_close(ours[name], value)
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_close(one, other)
    else:
        is_number = isinstance(theirs, float)
        assert ours == (pytest.approx(theirs, rel=1e-4, abs=1e-6) if is_number else theirs)


def map_of(packed: dict[str, Any]) -> np.ndarray:
    """The numbers of a map that has the upper three bytes of each, all of the lowest first."""
    planes = np.frombuffer(base64.b64decode(packed["bdata"]), np.uint8).reshape(3, -1)
    whole = np.zeros((planes.shape[1], 4), np.uint8)
    whole[:, 1:] = planes.T
    return whole.view("<f4")


@pytest.mark.parametrize("id, every", STAGES)
def test_a_clock_is_the_dashboards(id: str, every: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    clocks: list[tuple[Any, ...]] = []
    monkeypatch.setattr(playback, "show_clock", lambda *clock: clocks.append(clock))
    scenes = scenes_of(id)
    for shown in of_presets(scenes, every):
        run = loaded(shown)
        setting = setting_of(scenes, shown)
        steps = steps_of(run, setting.view)
        index = stage._snapshot_index(run, setting.view, steps, None)
        stage._clock(setting, run, steps, index, ClockOptions())
        _, _, steps, headlines, index, _, _, milestones = clocks.pop()
        site = stage_data.stage(
            scenes.experiment, id, run, shown.base, scenes.experiment.presets[0].config
        )
        assert (site["steps"], site["headlines"], site["at"]) == (steps, headlines, index)
        assert site["ticks"] == [(step, name) for name, step in milestones.items()]


@pytest.mark.parametrize("id", IDS)
def test_a_try_leads_where_it_leads_in_the_dashboard(id: str) -> None:
    scenes = scenes_of(id)
    story = scenes.experiment.story
    assert story is not None
    setting = setting_of(scenes, scenes.runs[0])
    for item in story.tries:
        assert try_query(scenes, item) == tour._try_query(setting, item)


def test_a_tour_stops_where_it_stops_in_the_dashboard() -> None:
    tours = texts.tours()
    assert list(tours) == [tour.ALL, *registry.papers()]
    for name, stops in tours.items():
        assert [stop[:3] for stop in stops] == [tuple(stop) for stop in tour.stops(name)]
        for (paper, experiment, beat, sets), stop in zip(stops, tour.stops(name), strict=True):
            fields = {"experiment": experiment, "beat": beat, "tour": name} | sets
            assert fields == tour.query(stop, name)
            if paper != TOY.partition(".")[0]:
                assert_in_sight(f"{paper}.{experiment}", fields)


def told(scenes: Scenes, shown: ShownRun, run: Run, beat: Beat, answer: int | None) -> list[str]:
    """What the dashboard writes of a beat, after an answer to its question or before one."""
    setting = setting_of(scenes, shown)
    story = scenes.experiment.story
    assert story is not None
    question = beat.ask if answer is None else None
    if answer is not None:
        st.session_state[answer_key(run, beat)] = answer
    beats = storytelling.resolve_beats(story, run)
    place = Place(beats, beat, question, False, (), (), None)
    lines: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        for module in (script, prediction):
            patch.setattr(module, "line", lambda _, text, more="": lines.append(text))
        script._show_beat(setting, run, story, place, beat, Way("", [], None))
    st.session_state.pop(answer_key(run, beat), None)
    return lines


@pytest.mark.parametrize("id", first_is_short(sorted(IDS, key="learners.prompt".__ne__)))
def test_a_task_is_that_of_the_run_on_screen(id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[tuple[str, str]] = []
    monkeypatch.setattr(script, "line", lambda _, text, more="": lines.append((text, more)))
    scenes = scenes_of(id)
    story = scenes.experiment.story
    assert story is not None
    tasks = experiment_texts(scenes)["tasks"]
    for shown in scenes.runs:
        script._show_task(setting_of(scenes, shown), story)
        text, example = lines.pop()
        task = tasks[shown.name]
        assert shown_text(task["say"]) == text
        pieces = "".join(piece for piece, _ in task["pieces"])
        answer = f" → {task['answer']}" if task["answer"] else ""
        assert f"{pieces}{answer}".strip() == shown_text(example)


@pytest.mark.parametrize("id", STORIES)
def test_a_beat_says_what_the_dashboard_says(id: str) -> None:
    scenes = scenes_of(id)
    story = scenes.experiment.story
    assert story is not None
    for preset, beats in as_sent(experiment_texts(scenes))["beats"].items():
        shown = scenes.run_of(preset)
        assert shown is not None
        run = loaded(shown)
        resolved = storytelling.resolve_beats(story, run)
        assert [beat["name"] for beat in beats] == [beat.name for beat in resolved]
        for beat, site in zip(resolved, beats, strict=True):
            said = " ".join(filter(None, (shown_text(site["say"]), site["do"])))
            if beat.ask is None:
                assert told(scenes, shown, run, beat, None) == [said]
                continue
            ask = site["ask"]
            assert told(scenes, shown, run, beat, None) == [shown_text(ask["ask"])]
            outcome = prediction._outcome(beat.ask, prediction.PASSED, ask["right"])
            answer = f"{outcome} {shown_text(ask['answer'])}"
            assert told(scenes, shown, run, beat, prediction.PASSED) == [answer, said]
            assert (ask["hides"], ask["there"]) == (list(beat.ask.hides), beat.ask.there)
            view = tour.beat_query(shown.base, beat)
            assert site["view"] | ({"drawer": beat.drawer} if beat.drawer else {}) == view
            assert site["at"] == storytelling.snapshot_of(beat, run)


def found(id: str, fields: Mapping[str, str]) -> ShownRun:
    """The run that the fields of an address ask for; its view, if it is another than the run's, is
    one that the site has."""
    index, scenes = index_of(id), scenes_of(id)
    preset = fields.get("preset", scenes.experiment.presets[0].name)
    (of_preset,) = (run for run in index["runs"].values() if preset in run["presets"])
    values = [
        fields.get(field, value)
        for field, value in zip(index["fields"], of_preset["values"], strict=True)
    ]
    names = [name for name, run in index["runs"].items() if run["values"] == values]
    if values == of_preset["values"]:
        names = [name for name in names if preset in index["runs"][name]["presets"]]
    run = index["runs"][names[0]]
    view = {
        field: value
        for field, value in fields.items()
        if field in run["base"] and run["base"][field] != value
    }
    assert fields.keys() - view.keys() <= {*OF_PAGE, *index["fields"]}
    if view:
        assert "&".join(f"{field}={view[field]}" for field in sorted(view)) in run["views"]
    return next(shown for shown in scenes.runs if shown.name == names[0])


def assert_in_sight(id: str, fields: Mapping[str, str]) -> None:
    """What an address asks for is there: run, view, drawer and panels."""
    shown = found(id, fields)
    every_drawing = registry.experiment(id).drawings
    drawings = [drawing for drawing in every_drawing if drawing.applies(shown.config)]
    drawers = {drawing.place for drawing in drawings} | OWN_DRAWERS | IN_DASHBOARD
    assert fields.get("drawer", stage_data.MODEL) in drawers
    marks = {*filter(None, fields.get("marks", "").split(","))}
    assert marks <= {drawing.name for drawing in every_drawing}


@pytest.mark.parametrize("id", STORIES)
def test_every_link_of_a_story_finds_its_scene(id: str) -> None:
    site = as_sent(experiment_texts(scenes_of(id)))
    for preset, beats in site["beats"].items():
        for beat in beats:
            fields = {"preset": preset, "marks": ",".join(beat["marks"]), "drawer": beat["drawer"]}
            given = {name: value for name, value in fields.items() if value}
            assert_in_sight(id, given | beat["view"])
    here = [item for item in site["tries"] if item["here"]]
    assert here
    for item in here:
        assert_in_sight(id, item["query"])


def test_every_note_of_a_lesson_finds_its_scene() -> None:
    for paper, lesson in registry.lessons().values():
        notes = texts.lesson_texts(paper, lesson)["notes"]
        assert [note["show"]["say"] for note in notes] == [note.show.say for note in lesson.notes]
        here = [note["show"] for note in notes if note["show"]["here"]]
        assert here
        for show in here:
            assert_in_sight(f"{paper.name}.{lesson.experiment}", show["query"])


def test_every_link_of_a_claim_finds_its_scene() -> None:
    for paper in texts.claims_texts()["papers"]:
        if paper["name"] == TOY.partition(".")[0]:
            continue  # it has no runs
        links = iter(re.findall('<a href="([^"]*)"', paper["table"]))
        for experiment, _, verdict in paper["rows"]:
            for address in (next(links), next(links)):  # what the claim is about; its evidence
                page, _, query = unescape(address).partition("?")
                fields = dict(parse_qsl(query))
                assert f"{page}.{fields['experiment']}" == experiment
                if verdict not in WITHOUT_A_RUN or fields.get("drawer") == "Evidence":
                    assert_in_sight(experiment, fields)
        assert next(links, None) is None


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of some small experiments."""
    data = tmp_path_factory.mktemp("site") / write.DATA
    for id in WRITTEN:
        write.write_experiment(data, id)
    return data


def read(data: Path, name: str) -> Any:
    """What a file of the site holds, as the browser unpacks it."""
    call = (data / f"{name}.js").read_text("ascii")
    held = re.fullmatch(r'iclTake\("([^"]*)","([^"]*)"\)\n', call)
    assert held is not None and held[1] == name
    return json.loads(zlib.decompress(base64.b64decode(held[2])))


@pytest.mark.parametrize("id", WRITTEN)
def test_every_file_that_a_page_asks_for_is_there(data: Path, id: str) -> None:
    site = read(data, id)
    asked = {"evidence", "tab"} if site["trains"] else {"evidence"}
    assert read(data, f"{id}/evidence")["html"]
    for name, run in site["runs"].items():
        stage = read(data, f"{id}/{name}")
        asked.add(name)
        if not run["presets"]:
            continue
        drawers = [drawer for drawer, _ in stage["drawers"]]
        for index in range(len(drawers)):
            held = read(data, f"{id}/{name}.{index}")
            assert held.get("diagram") or held["panels"]
            asked.add(f"{name}.{index}")
        for drawer, choices in run["drawers"].items():
            for number in choices["views"].values():
                held = read(data, f"{id}/{name}.{drawers.index(drawer)}.{number}")
                assert held.get("problem") or held["panels"]
                asked.add(f"{name}.{drawers.index(drawer)}.{number}")
        panels = [panel["name"] for panel in stage["panels"]]
        for view in run["views"].values():
            own = read(data, f"{id}/{view}")
            assert {panel["name"] for panel in own["panels"]} <= set(panels)
            assert len(own["headlines"]) == len(stage["headlines"])
            asked |= {view, *(f"{view}.{drawers.index(drawer)}" for drawer in own["drawers"])}
    there = {path.relative_to(data / id).as_posix() for path in (data / id).rglob("*")}
    assert there == {f"{name}.js" for name in asked}


def test_formulas_are_mathml_and_html_is_text() -> None:
    html = html_of("A rate $\\eta_1 < 2$ <b>bold</b>\n\n| a | b |\n|---|---|\n| $x$ | 2 |\n")
    assert html.count("<math") == 2 and "<msub>" in html and "$" not in html
    assert "&lt;b&gt;bold&lt;/b&gt;" in html and "<b>" not in html
    assert "<table>" in html and "<td>2</td>" in html
    assert 'display="block"' in html_of("$$\nx^2\n$$")


def test_a_folder_with_other_files_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept.txt"
    kept.write_text("mine")
    assert main(["site", str(tmp_path)]) == 2
    assert f"{tmp_path} must be an empty folder, or a new one" in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == [kept] and kept.read_text() == "mine"


def is_loaded(path: Path) -> bool:
    """Whether a file is loaded before the first picture: data and type, but no plotly.js."""
    return path.suffix in (".js", ".woff2") and "plotly" not in path.name


def test_a_first_picture_is_small(tmp_path: Path) -> None:
    write._put(tmp_path, "site", texts.site_texts())
    write._put(tmp_path, "front", texts.front_texts())
    sizes = [len(text.encode()) for text in scripts.files().values()]
    sizes += [
        path.stat().st_size for path in (*scripts.COPIED, *tmp_path.iterdir()) if is_loaded(path)
    ]
    assert len(sizes) == 8 and sum(sizes) < FIRST_PICTURE


def test_the_sites_own_style_leaves_the_marks_of_claims_alone():
    """Bars and scales of claims have these classes: a rule for one of them would reach all."""
    style = (Path(scripts.__file__).parent / "browser" / "site.css").read_text(encoding="utf-8")
    own = set(re.findall(r"^\.([\w-]+) \{", style, re.MULTILINE))
    assert "not-loaded" in own
    assert not own & {"kept", "open", "failed", "bar", "bars", "dot", "scale", "claims"}

"""The site in a browser, from a server under a path of its own and from a disk: everything is drawn
as in the dashboard, and nothing comes from elsewhere."""

import base64
import json
import math
import os
import random
import re
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import DEADLINE, ROOT, until
from driver import drag, let_go, together
from playwright.sync_api import Browser, Locator, Page, expect
from test_every_experiment import CUT, DESK, PHONE, PROJECTOR, SMALLEST, TOPS, UNEVEN
from test_pages import RULES, STILL

from icl_core import registry
from icl_core.contract.figure import Figure
from icl_core.contract.story import HEADLINE, MARKS
from icl_core.figures import enlarged, themed
from icl_core.figures.frames import clock_frames
from icl_core.runs import store
from icl_core.share.stage_films import stage_drawings
from icl_core.site.scenes import Scenes
from icl_core.site.stage_data import film_panels

pytestmark = pytest.mark.long

PAPERS = [name for name in registry.papers() if name != "toy"]
FIRST = {paper: next(iter(registry.papers()[paper].experiments)) for paper in PAPERS}
MIB = 2**20
# Where the page is that the address names, and everything on it is drawn.
DRAWN = """() => document.title !== "on the way" && document.querySelector("h1")
  && [...document.querySelectorAll(".stPlotlyChart")].every(box =>
    box.querySelector(".main-svg"))"""
# What the page's own policy has refused.
REFUSED = """window.refused = [];
addEventListener("securitypolicyviolation", ({violatedDirective, blockedURI}) =>
  window.refused.push(`${violatedDirective} ${blockedURI}`));"""

PASSED = -1  # in place of a choice: "Show me"
PLACES = ("seat", "seat-wide", "panel-half", "panel-wide")  # of panels, in the names of classes
NO_NUMBER = "Enter the result as a number: 1,250 or 0.5, for instance."
# The numbers of a map that is drawn, by the index of its trace.
CELLS = "(plot, trace) => plot._fullData[trace].z.map(row => [...row])"

Open = Callable[..., Page]


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as the command writes it, of all shipped runs."""
    folder = tmp_path_factory.mktemp("host") / "deep" / "er"
    environment = {name: value for name, value in os.environ.items() if name != "ICL_PAPERS"}
    command = [sys.executable, "-m", "icl_core", "site", str(folder)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture(scope="module")
def host(files: Path) -> Iterator[str]:
    """The address of the site on a server that has it in a folder of its own."""
    handler = partial(_Quiet, directory=str(files.parents[1]))
    server = ThreadingHTTPServer(("localhost", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_port}/deep/er/"
    server.shutdown()
    server.server_close()


@pytest.fixture(params=["host", "disk"])
def everywhere(request: pytest.FixtureRequest, files: Path) -> str:
    """The address of the site on the server, and on the disk."""
    if request.param == "host":
        return request.getfixturevalue("host")
    return f"{files.as_uri()}/index.html"


@pytest.fixture
def open_at(
    request: pytest.FixtureRequest, browser: Browser, hear: Callable[[Page], None]
) -> Iterator[Open]:
    """Open a page of a site in a window of its own. At the end of the test none has logged an
    error, asked for anything elsewhere, or been refused something by the page's policy. A page of a
    test that fails is asked nothing more: it may not answer."""
    failed = request.session.testsfailed
    pages: list[tuple[str, Page, list[str]]] = []

    def open_page(site: str, address: str = "", width: int = 1400, colours: str = "light") -> Page:
        page = browser.new_page()
        page.set_viewport_size({"width": width, "height": 1000})
        page.emulate_media(color_scheme=colours, reduced_motion="reduce")  # type: ignore[arg-type]
        page.set_default_timeout(DEADLINE * 1000)
        page.add_init_script(REFUSED)
        hear(page)
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        pages.append((site.removesuffix("index.html"), page, requests))
        page.goto(f"{site}#{address}")
        return settled(page)

    yield open_page
    for site, page, requests in pages:
        has_failed = request.session.testsfailed > failed
        refused = [] if has_failed else page.evaluate("window.refused")
        page.close()
        assert refused == []
        assert requests
        assert [url for url in requests if not url.startswith((site, "data:", "blob:"))] == []


def settled(page: Page) -> Page:
    """Wait until the page that the address names is drawn."""
    page.wait_for_function(DRAWN)
    return page


def visit(page: Page, address: str) -> Page:
    """Go to another address of the site."""
    page.evaluate(
        """address => {
            if (location.hash.slice(1) === address) return;
            document.title = "on the way";
            location.hash = address;
        }""",
        address,
    )
    return settled(page)


def held(files: Path, name: str) -> Any:
    """What a file of the site holds."""
    text = (files / "data" / f"{name}.js").read_text("ascii")
    return json.loads(zlib.decompress(base64.b64decode(text.split('"')[3])))


@pytest.mark.parametrize("paper", PAPERS)
def test_every_stage_is_drawn(everywhere: str, files: Path, open_at: Open, paper: str) -> None:
    page = open_at(everywhere)
    for name in registry.papers()[paper].experiments:
        visit(page, f"{paper}?experiment={name}")
        stage = held(files, f"{paper}.{name}/r0")
        titles = page.locator(".seat-title [data-title]")
        shown = [panel["titles"][stage["at"] :] or panel["titles"] for panel in stage["panels"]]
        expect(titles).to_have_text([of_panel[0] for of_panel in shown])
        expect(page.locator(".headline")).to_have_text(stage["headlines"][stage["at"]])
        if len(stage["steps"]) > 1:
            assert together(page) == stage["at"]


def slider(page: Page) -> Locator:
    return page.get_by_role("slider", name="training step shown")


def numbers(map_: Any) -> np.ndarray:
    """The numbers of a map as the site holds them: lists, or three bytes each, all of the lowest
    first; of the fourth, the lowest of single precision, there are none."""
    if not isinstance(map_, dict):
        return np.array(map_, np.float32)
    planes = np.frombuffer(base64.b64decode(map_["bdata"]), np.uint8).reshape(3, -1)
    whole = np.zeros((planes.shape[1], 4), np.uint8)
    whole[:, 1:] = planes.T
    rows, columns = map(int, map_["shape"].split(","))
    return whole.view("<f4").reshape(rows, columns)


def assert_maps_are_those_of(page: Page, stage: dict[str, Any], at: int) -> None:
    """Every map of the stage that moves shows the snapshot's numbers."""
    count = 0
    for panel in stage["panels"]:
        for index, trace in zip(*moved(panel, at), strict=True):
            if "z" not in trace:
                continue
            plot = page.locator(f".st-key-chart-{slug(panel['name'])} .js-plotly-plot")
            drawn = plot.evaluate(CELLS, index)
            expected = numbers(trace["z"])
            assert np.array_equal(np.array(drawn, np.float32), expected, equal_nan=True)
            count += 1
    assert count


def moved(panel: dict[str, Any], at: int) -> tuple[list[int], list[dict[str, Any]]]:
    """Which traces of a panel move, and what they show at a snapshot."""
    frames = panel["frames"]
    if not frames:
        return [], []
    traces = frames[0]["traces"]
    if at < len(frames):
        return traces, frames[at]["data"]
    return traces, [panel["whole"]["data"][trace] for trace in traces]


def slug(name: str) -> str:
    return name.replace(" ", "-")


def fields(page: Page) -> dict[str, str]:
    """The fields of the page's address."""
    return dict(parse_qsl(page.evaluate("location.hash").partition("?")[2]))


def test_the_clock_moves_all_panels(everywhere: str, files: Path, open_at: Open) -> None:
    stage = held(files, "birth.induction/r0")
    steps, last = stage["steps"], len(stage["steps"]) - 1
    page = open_at(everywhere, "birth")
    assert together(page) == last and "step" not in fields(page)
    page.keyboard.press("ArrowLeft")
    together(page, last - 1)
    until(lambda: fields(page).get("step") == str(steps[last - 1]), "the address has the step")
    expect(page.locator(".headline")).to_have_text(stage["headlines"][last - 1])
    titles = [panel["titles"] for panel in stage["panels"]]
    shown = [of[last - 1] if len(of) > 1 else of[0] for of in titles]
    expect(page.locator(".seat-title [data-title]")).to_have_text(shown)
    assert_maps_are_those_of(page, stage, last - 1)
    for key, place in (("Home", 0), ("ArrowRight", 1), ("ArrowRight", 2)):
        slider(page).press(key)
        together(page, place)
    assert_maps_are_those_of(page, stage, 2)
    drag(page, 8)
    together(page, 8)
    let_go(page)
    assert_maps_are_those_of(page, stage, 8)
    step, name = stage["ticks"][0]
    page.locator(".clock .ticks").get_by_role("button", name=name).click()
    reached = next(index for index, other in enumerate(steps) if other >= step)
    assert together(page, reached) != 8
    until(lambda: fields(page).get("step") == str(steps[reached]), "the address has the step")
    page.go_back()
    together(page, 8)
    assert fields(page)["step"] == str(steps[8])
    drag(page, last - 2)
    let_go(page)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    together(page, last)
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    assert "step" not in fields(page)  # where the page opens


def test_back_closes_a_drawer_and_leaves_an_experiment(host: str, open_at: Open) -> None:
    page = open_at(host, "birth")
    page.locator(".st-key-experiments").click()
    page.get_by_role("navigation", name="Experiments").get_by_role("link").last.click()
    experiment = list(registry.papers()["birth"].experiments)[-1]
    until(lambda: fields(page).get("experiment") == experiment, "another experiment")
    settled(page)
    drawers = page.locator(".st-key-drawer-groups").get_by_role("radio")
    drawers.last.click()
    until(lambda: fields(page).get("drawer") == "Why", "a drawer")
    expect(page.locator(".st-key-drawer .reads")).to_be_visible()
    page.go_back()
    expect(page.locator(".st-key-drawer .reads")).to_have_count(0)
    assert fields(page) == {"experiment": experiment}
    page.go_back()
    expect(page.get_by_role("button", name=title_of("birth", FIRST["birth"]))).to_be_visible()
    page.go_forward()
    expect(page.get_by_role("button", name=title_of("birth", experiment))).to_be_visible()


def title_of(paper: str, name: str) -> str:
    return registry.experiment(f"{paper}.{name}").title


def shown_text(html: str) -> str:
    """The text of HTML, without its marks."""
    return unescape(re.sub(r"<[^>]*>", "", html)).strip()


def outcome(ask: dict[str, Any], chosen: int) -> str:
    """What the page says of an answer to a question."""
    choices = [choice.partition(" (")[0] for choice in ask["choices"]]
    if chosen == ask["right"]:
        return f"Right, as you chose: {choices[chosen]}."
    answer = f"The answer: {choices[ask['right']]}."
    return answer if chosen == PASSED else f"{answer} You chose: {choices[chosen]}."


def hidden_by(page: Page, part: str) -> Locator:
    """What is hidden of a part of the page that a question hides."""
    if part in (HEADLINE, MARKS):
        return page.locator({HEADLINE: ".headline", MARKS: ".clock .ticks"}[part])
    name = slug(part)
    panels = (f".st-key-{place}-{name}" for place in ("seat", "seat-wide"))
    drawers = (f".st-key-{place}-{name}" for place in ("panel-half", "panel-wide"))
    return page.locator(f":is({', '.join((*panels, *drawers))}) > *").first


@pytest.mark.parametrize("way", ["right", "wrong", "passed over"])
@pytest.mark.parametrize("paper", PAPERS)
def test_a_story_is_told(host: str, files: Path, open_at: Open, paper: str, way: str) -> None:
    id = f"{paper}.{FIRST[paper]}"
    texts, stage = held(files, id), held(files, f"{id}/r0")
    beats = texts["beats"][texts["presets"][0]["name"]]
    page = open_at(host, paper)
    says = page.locator(".st-key-says")
    page.get_by_role("button", name="Start").click()
    for index, beat in enumerate(beats):
        ask = beat["ask"]
        if ask is not None:
            expect(says).to_contain_text(shown_text(ask["ask"]))
            for part in ask["hides"]:
                if hidden_by(page, part).count():  # no panel of a drawer that is closed
                    expect(hidden_by(page, part)).to_have_css("visibility", "hidden")
            assert page.locator(".outlined").count() == 0
            expect(page.locator(".st-key-choices button.plain")).to_have_text("Show me")
            right = ask["right"]
            chosen = {"right": right, "wrong": (right + 1) % 3, "passed over": PASSED}[way]
            if chosen == PASSED:
                page.keyboard.press("PageDown")
            else:
                page.locator(".st-key-choices button").nth(chosen).click()
            expect(says).to_contain_text(f"{outcome(ask, chosen)} {shown_text(ask['answer'])}")
        expect(says).to_contain_text(shown_text(beat["say"]))
        assert_beat_is_shown(page, beat, len(stage["steps"]) > 1)
        if index == 1:
            page.keyboard.press("PageUp")
            expect(says).to_contain_text(shown_text(beats[0]["say"]))
            page.keyboard.press("PageDown")
            expect(says).to_contain_text(shown_text(beat["say"]))
        is_last = index == len(beats) - 1
        expect(page.locator(".st-key-next button")).to_have_text("Done ✓" if is_last else "Next ▶")
        page.keyboard.press("PageDown")
    until(lambda: "beat" not in fields(page), "the end of the story")
    expect(says).to_contain_text("You have seen this story to its end.")
    page.reload()
    settled(page)
    page.get_by_role("button", name="Start").click()
    questions = [beat for beat in beats if beat["ask"] is not None]
    visit(page, f"{paper}?beat={questions[0]['name']}")
    expect(says).to_contain_text(shown_text(questions[0]["say"]))  # it stays answered


def assert_beat_is_shown(page: Page, beat: dict[str, Any], has_clock: bool) -> None:
    """The clock, the drawer, and the outlined panels are those of a beat."""
    if beat["at"] is not None and has_clock:
        together(page, beat["at"])
    for part in beat["marks"]:
        expect(hidden_by(page, part)).to_have_css("visibility", "visible")
    if beat["drawer"]:
        expect(page.locator(".st-key-drawers [aria-checked=true]").last).to_be_visible()
    for name in beat["marks"]:
        box = ", ".join(f".outlined.st-key-{place}-{slug(name)}" for place in PLACES)
        expect(page.locator(box)).not_to_have_count(0)
    expect(page.locator(".outlined")).to_have_count(len(beat["marks"]))


LESSONS = registry.lessons()


def enter(page: Page, number: int, text: str) -> Locator:
    """Answer an exercise; gives what comes of it."""
    field = page.get_by_role("textbox", name=f"Answer {number}")
    field.fill(text)
    field.press("Enter")
    return page.locator(".exercise").nth(number - 1).get_by_role("status")


def spellings(right: float, within: float, unit: str) -> list[str]:
    """The right answer as students write it."""
    places = max(0, math.ceil(-math.log10(within))) + 1 if within else 0
    plain = f"{right:.{places}f}"
    texts = [plain, f"{right:,.{places}f}", plain.replace("-", "\N{MINUS SIGN}")]
    if "." in plain:
        texts.append(plain.replace(".", ","))
    return texts + ([f"{plain} %"] if unit == "%" else [])


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_is_taught(everywhere: str, files: Path, open_at: Open, name: str) -> None:
    paper, lesson = LESSONS[name]
    site = next(one for one in held(files, "lessons") if one["name"] == name)
    page = open_at(everywhere, "lessons")
    card = page.locator(".lesson-card").filter(has_text=lesson.title)
    card.get_by_role("link", name="Open the lesson").click()
    page.get_by_role("button", name="Start").wait_for()
    settled(page)
    expect(page.get_by_role("button", name="Try")).to_have_count(0)
    beats = held(files, f"{paper.name}.{lesson.experiment}")["beats"][lesson.preset]
    required = [beat for beat in beats if beat["name"] in lesson.predict]
    assert len(required) == len(lesson.predict)
    on, says = page.locator(".st-key-next button"), page.locator(".st-key-says")
    # a link to a later beat comes to each prediction first
    visit(page, f"{paper.name}?lesson={name}&beat={beats[-1]['name']}")
    for beat in required:
        expect(says).to_contain_text(shown_text(beat["ask"]["ask"]))
        expect(on).to_be_disabled()
        expect(page.get_by_role("button", name="Show me")).to_have_count(0)
        page.locator(".st-key-choices button").first.click()
    expect(on).to_be_enabled()
    page.reload()
    settled(page)
    expect(on).to_be_enabled()
    for number, exercise in enumerate(site["exercises"], 1):
        right, within = exercise["right"], exercise["within"]
        result = enter(page, number, "about 3 or 4")
        expect(result).to_have_text(NO_NUMBER)
        result = enter(page, number, f"{right + 2 * within + 1:.4f}")
        expect(result).to_contain_text("Not yet: ")
        expect(result).to_contain_text(exercise["hint"])
        for spelling in spellings(right, within, exercise["unit"]):
            enter(page, number, "0.123456")
            result = enter(page, number, spelling)
            expect(result).to_have_text(f"✓ Right: {exercise['answer']}")
    page.reload()
    settled(page)
    for index, exercise in enumerate(site["exercises"]):
        result = page.locator(".exercise").nth(index).get_by_role("status")
        expect(result).to_have_text(f"✓ Right: {exercise['answer']}")
    page.get_by_role("link", name="Leave the lesson").click()
    expect(page.get_by_role("button", name="Try")).to_be_visible()
    expect(page.locator(".exercise")).to_have_count(0)


def test_the_tour_through_all_papers_leads_to_its_end(
    host: str, files: Path, open_at: Open
) -> None:
    page = open_at(host)
    page.get_by_role("link", name="Take the ten-minute tour").click()
    stops = held(files, "site")["tours"]["all"]
    for number, (paper, experiment, name, sets) in enumerate(stops, 1):
        expect(page.locator(".st-key-turns .part")).to_have_text(f"{number} / {len(stops)}")
        assert fields(page) == {"experiment": experiment, "beat": name, "tour": "all"} | sets
        texts = held(files, f"{paper}.{experiment}")
        beats = texts["beats"][texts["presets"][0]["name"]]
        beat = next(beat for beat in beats if beat["name"] == name)
        if beat["ask"] is not None:
            expect(page.locator(".st-key-says")).to_contain_text(shown_text(beat["ask"]["ask"]))
            page.keyboard.press("PageDown")
        expect(page.locator(".st-key-says")).to_contain_text(shown_text(beat["say"]))
        page.keyboard.press("PageDown")
    expect(page.get_by_role("heading", name="What you have seen")).to_be_visible()
    seen = {(paper, experiment) for paper, experiment, *_ in stops}
    expect(page.locator(".st-key-gallery-seen .card")).to_have_count(len(seen))


LISTS = ("", "gallery", "lessons", "claims")


def links_of(page: Page, address: str) -> list[str]:
    """Where the links of a page lead within the site."""
    visit(page, address)
    links = page.locator("#main a[href^='#'], .st-key-menu a[href^='#']")
    return links.evaluate_all("links => links.map(link => link.getAttribute('href').slice(1))")


def test_every_link_leads_to_a_page_that_draws(host: str, open_at: Open) -> None:
    page = open_at(host)
    links = {link for address in LISTS for link in links_of(page, address)}
    for paper in PAPERS:  # the evidence of an experiment, what there is to try, and its presets
        links.update(links_of(page, f"{paper}?experiment={FIRST[paper]}&drawer=Evidence"))
    assert len(links) > 300
    for link in random.Random(0).sample(sorted(links), 40):
        visit(page, link)
        assert page.evaluate("location.hash") == f"#{link}"
        asked = fields(page)
        if link.partition("?")[0] not in PAPERS or "end" in asked:
            expect(page.locator(".list-page h1")).to_be_visible()
            continue
        charts = page.locator('[class*="st-key-seat-"] .js-plotly-plot, .problem')
        expect(charts).not_to_have_count(0)
        if asked.get("drawer", "") not in ("", "View", "Sweep"):  # these are the dashboard's alone
            drawn = page.locator(".st-key-drawer :is(.main-svg, table, .diagram, .reads, li)")
            expect(drawn.locator("visible=true").first, link).to_be_visible()


SLIDERS = [
    ("birth.induction", "d"),
    ("gdssm.layer", "f"),
    ("learners.prompt", "n"),
    ("memformers.methods", "layers"),
]


@pytest.mark.parametrize("id, field", SLIDERS, ids=lambda value: value)
def test_a_slider_leads_through_the_atlas(
    host: str, files: Path, open_at: Open, id: str, field: str
) -> None:
    paper, _, name = id.partition(".")
    texts = held(files, id)
    at = texts["fields"].index(field)
    here = texts["runs"]["r0"]["values"]
    page = open_at(host, f"{paper}?experiment={name}")
    knob = page.locator(f".st-key-knob-{field} input")
    before = knob.bounding_box()
    last = int(knob.get_attribute("max") or 0)
    assert last >= 2
    knob.press("Home")
    until(lambda: fields(page).get(field, here[at]) != here[at], "the address has the value")
    settled(page)
    box = knob.bounding_box()
    assert box is not None and box == before  # it stays under the pointer
    height, inset = box["y"] + box["height"] / 2, 6.0  # the thumb's half

    def stop(index: int) -> float:
        return box["x"] + inset + (box["width"] - 2 * inset) * index / last

    seen: list[str] = []
    page.mouse.move(stop(0), height)
    page.mouse.down()
    for index in range(last + 1):
        page.mouse.move(stop(index), height, steps=4)
        value = knob.get_attribute("aria-valuetext")
        wanted = [*here[:at], value, *here[at + 1 :]]
        file = next(file for file, run in texts["runs"].items() if run["values"] == wanted)
        stage = held(files, f"{id}/{file}")
        shown = stage["at"]
        expect(page.locator(".headline")).to_have_text(stage["headlines"][shown])
        titles = [panel["titles"] for panel in stage["panels"]]
        expect(page.locator(".seat-title [data-title]")).to_have_text(
            [of[shown] if len(of) > 1 else of[0] for of in titles]
        )
        task = shown_text(texts["tasks"][file]["say"])
        expect(page.locator(".st-key-says")).to_contain_text(task)
        seen.append(file)
    page.mouse.up()
    assert len(set(seen)) == last + 1
    until(lambda: fields(page).get(field, here[at]) == value, "the address has the value")
    expect(page.locator(".missing")).to_have_count(0)


LOOKS = [("light", DESK), ("dark", DESK), ("dark", PHONE), ("light", PROJECTOR)]
WIDER = """() => document.documentElement.scrollWidth > window.innerWidth
    ? [...document.querySelectorAll('#main *, .st-key-menu *')].filter(element =>
        element.getBoundingClientRect().right > window.innerWidth + 1)
      .map(element => element.className).slice(0, 9)
    : []"""


@pytest.mark.parametrize("colours, size", LOOKS)
@pytest.mark.parametrize("paper", PAPERS)
def test_nothing_is_cut_or_too_wide(
    host: str, open_at: Open, paper: str, colours: str, size: dict[str, int]
) -> None:
    page = open_at(host, colours=colours)
    page.set_viewport_size(size)  # type: ignore[arg-type]
    for address in LISTS:
        visit(page, address)
        until(lambda: page.evaluate(WIDER) == [], address, lambda: page.evaluate(WIDER))
    room = "&projector=1" if size is PROJECTOR else ""
    for name in registry.papers()[paper].experiments:
        visit(page, f"{paper}?experiment={name}{room}")
        until(
            lambda: not page.evaluate(CUT),
            f"all of {paper}.{name} is seen",
            lambda: f"{page.evaluate(CUT)}",
        )
        until(lambda: page.evaluate(WIDER) == [], name, lambda: page.evaluate(WIDER))
        if size is DESK:
            until(lambda: not page.evaluate(UNEVEN), "colour bars as high as their maps")
            tops, bottoms = zip(*page.evaluate(TOPS), strict=True)
            assert 0 < min(tops) < 260 and max(bottoms) < DESK["height"]
        if room:
            expect(page.locator(".st-key-header")).to_be_hidden()
            until(lambda: page.evaluate(SMALLEST) >= 14, "its type is that of a projector")
            assert max(bottom for _, bottom in page.evaluate(TOPS)) < PROJECTOR["height"]


@pytest.mark.parametrize("address", ["", "&panel=w_o2"], ids=["stage", "panel"])
def test_a_stage_is_embedded_with_its_question(
    host: str, files: Path, open_at: Open, address: str
) -> None:
    texts = held(files, "birth.induction")
    beats = texts["beats"][texts["presets"][0]["name"]]
    beat = next(beat for beat in beats if beat["ask"] is not None)
    page = open_at(host, f"birth?experiment=induction&beat={beat['name']}&embed{address}")
    for part in (".st-key-menu", "[data-testid=stSidebar]", ".st-key-header", ".st-key-drawers"):
        expect(page.locator(part)).to_be_hidden()
    expect(page.locator(".st-key-says")).to_contain_text(shown_text(beat["ask"]["ask"]))
    expect(page.locator(".clock")).to_be_visible()
    if address:
        expect(page.locator(".seat-title")).to_have_count(1)
    page.locator(".st-key-choices button").first.click()
    expect(page.locator(".st-key-says")).to_contain_text(shown_text(beat["say"]))
    assert "embed" in fields(page) or "embed" in page.url
    for width in (390, 800):
        page.set_viewport_size({"width": width, "height": 600})
        until(lambda: page.evaluate(WIDER) == [], "as wide as its frame")


@pytest.mark.parametrize("id", ["birth.induction", "memformers.methods", "gdssm.nonlinear"])
def test_figures_are_themed_as_by_the_core(host: str, open_at: Open, id: str) -> None:
    scenes = Scenes(id)
    shown = scenes.runs[0]
    run = store.default().load(shown.header)
    assert run is not None
    page = open_at(host)
    for drawing in scenes.experiment.drawings:
        if not drawing.applies(run.config):
            continue
        figure = drawing.panel(run, shown.base).figure
        if figure is None:
            continue
        themes = {
            (True, False): themed(figure, True),
            (False, True): enlarged(figure),
            (True, True): enlarged(themed(figure, True)),
        }
        for (dark, projector), expected in themes.items():
            look = {"dark": dark, "projector": projector}
            drawn = page.evaluate(
                "async ([figure, look]) => themed(figure, look, await load('site'))",
                [as_sent(figure), look],
            )
            assert without_theme(drawn) == without_theme(as_sent(expected)), drawing.name


def as_sent(figure: Figure) -> dict[str, Any]:
    """A figure as the browser reads it."""
    return json.loads(json.dumps(figure.to_dict(), allow_nan=False))


def without_theme(figure: dict[str, Any]) -> dict[str, Any]:
    """A figure without the name of the theme that it was drawn in, which nobody reads here."""
    figure["layout"].get("meta", {}).pop("theme", None)
    return {"data": figure["data"], "layout": figure["layout"]}


@pytest.mark.parametrize("id", ["birth.induction", "memformers.methods", "gdssm.nonlinear"])
def test_frames_are_themed_as_by_the_core(host: str, open_at: Open, id: str) -> None:
    scenes = Scenes(id)
    shown = scenes.runs[0]
    run = store.default().load(shown.header)
    assert run is not None
    page = open_at(host)
    for drawing in stage_drawings(scenes.experiment, run):
        panels = film_panels(scenes.experiment, id, drawing, run, shown.base)
        figures = [panel.figure for panel in panels if panel.figure is not None]
        light = clock_frames([figure.to_dict() for figure in figures])
        room = clock_frames([enlarged(themed(figure, True)).to_dict() for figure in figures])
        drawn = page.evaluate(
            """async ([frames, whole, look]) => {
                const site = await load('site');
                return frames.map(frame => themed(frame, look, site, whole));
            }""",
            [plain(light), as_sent(figures[-1]), {"dark": True, "projector": True}],
        )
        for frame in (*drawn, *room):
            frame["layout"].get("meta", {}).pop("theme", None)
        assert drawn == plain(room), drawing.name


def plain(value: Any) -> Any:
    """A value as the browser reads it."""
    return json.loads(json.dumps(value, allow_nan=False))


SEEN_BY_AXE = [*LISTS, "birth?experiment=induction&drawer=All curves", "gdssm?drawer=The model"]


@pytest.mark.parametrize("width, colours", [(1400, "light"), (1400, "dark"), (390, "dark")])
def test_a_page_is_accessible(host: str, open_at: Open, width: int, colours: str) -> None:
    page = open_at(host, width=width, colours=colours)
    for address in SEEN_BY_AXE:
        visit(page, address)
        if "drawer" in address:
            page.locator(".st-key-drawer :is(.main-svg, .diagram)").first.wait_for()
            settled(page)
        style = page.add_style_tag(content=STILL)
        report = Axe().run(page, options=RULES)
        style.evaluate("style => style.remove()")
        assert report.violations_count == 0, f"{address}: {report.generate_report()}"


def test_all_of_it_is_small(files: Path) -> None:
    sizes = {path: path.stat().st_size for path in files.rglob("*") if path.is_file()}
    assert sum(sizes.values()) < 60 * MIB

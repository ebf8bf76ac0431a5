"""The script in the browser: beats play and outline, questions hide and answer, tours lead through
a paper."""

import re
from collections.abc import Callable
from urllib.parse import quote_plus

import pytest
from conftest import until
from driver import go, open_drawer, reached, settled
from playwright.sync_api import Locator, Page, expect

from icl_core import registry
from icl_core.contract.story import brief_of
from icl_core.share import gallery
from tests.parameters import first_is_short

Window = Callable[..., Page]
PAPERS = [name for name in registry.papers() if name != "toy"]
PHONE = {"width": 390, "height": 844}
ROOM = {"width": 1280, "height": 720}

# The outlined panels that the story's line lies over, with the pixels by which it does.
COVERED = """() => {
  const line = document.querySelector(".st-key-script").getBoundingClientRect();
  return [...document.querySelectorAll('[class*="st-key-seat-"], [class*="st-key-panel-"]')]
    .filter(panel => getComputedStyle(panel).outlineStyle === "solid")
    .map(panel => [panel.className, panel.getBoundingClientRect()])
    .map(([name, box]) => [name, Math.min(box.bottom, line.bottom) - Math.max(box.top, line.top)])
    .filter(([, pixels]) => pixels > 2);
}"""

# Where the stage begins on the page, whatever part of the page is in sight.
STAGE_TOP = """() => document.querySelector('[class*="st-key-stage-"]').getBoundingClientRect().top
    + document.querySelector("[data-testid=stMain]").scrollTop"""

# Put something of 600 pixels above the row of drawers.
GROW = """() => {
  const late = document.createElement("div");
  late.style.flex = "0 0 600px";
  document.querySelector(".st-key-drawers").before(late);
}"""


def uncovered(tab: Page) -> None:
    """Wait until the story's line covers no panel that it speaks of."""
    until(
        lambda: not tab.evaluate(COVERED), "nothing is covered", lambda: str(tab.evaluate(COVERED))
    )


def spoken(tab: Page) -> str:
    """What the script's line says, once the question is answered."""
    expect(tab.locator(".st-key-answered").first).to_be_visible()
    return tab.locator(".st-key-says").first.inner_text()


def in_sight(part: Locator) -> bool:
    box = part.bounding_box()
    return box is not None and box["y"] >= 0 and box["y"] + box["height"] <= 900


def place(part: Locator) -> str:
    """Where a part stands in the window, and how far the page is scrolled."""
    scrolled = "() => document.querySelector('[data-testid=stMain]').scrollTop"
    return f"box {part.bounding_box()}, page scrolled by {part.page.evaluate(scrolled)}"


def beats(tab: Page, name: str) -> None:
    """Wait until the page plays the beat called `name`."""
    reached(tab, f"**beat={name}*")


def says(tab: Page, text: str) -> None:
    # two, while one takes the other's place
    expect(tab.locator(".st-key-says").first).to_contain_text(text)


@pytest.mark.parametrize("paper", first_is_short(sorted(PAPERS, key="gdssm".__ne__)))
def test_a_tour_leads_through_the_beats_of_a_paper_by_one_key(
    server: str, window: Window, paper: str
) -> None:
    """From the last but one experiment on: that what the beats of all speak of is there, a test of
    the scripts says. On a phone, where the story's line
    sticks to the window's top, it covers no panel that it speaks of."""
    names = registry.papers()[paper].tour or tuple(registry.papers()[paper].experiments)
    stops = [
        (name, beat)
        for name in names
        for beat in registry.experiment(f"{paper}.{name}").story.beats
    ]
    before = [at for at, (name, _) in enumerate(stops) if name == names[-2]]
    stops = stops[before[-1] :]
    name, first = stops[0]
    drawer = quote_plus(first.drawer)
    tab = window()
    tab.set_viewport_size(PHONE)
    go(tab, f"{server}/{paper}?experiment={name}&beat={first.name}&tour={paper}&drawer={drawer}")
    expect(tab.locator(".headline")).to_contain_text(".")  # now it hears keys
    for index, (_, beat) in enumerate(stops):
        reached(tab, lambda url, beat=beat: f"beat={beat.name}" in url.split("?")[-1].split("&"))
        button = "Next" if index + 1 < len(stops) else "Done"
        expect(tab.locator(".st-key-next button").first).to_contain_text(button)
        if beat.ask:
            says(tab, beat.ask.ask)
            tab.locator(".st-key-choices button").first.click()
            says(tab, "The answer" if "The answer" in spoken(tab) else "Right, as you chose")
        for mark in beat.marks:
            panel = f'[class~="st-key-seat-{mark}"], [class~="st-key-seat-wide-{mark}"], '
            panel += f'[class~="st-key-panel-half-{mark}"], [class~="st-key-panel-wide-{mark}"]'
            outlined = tab.locator(panel.replace(" ", "-").replace("-[", " [")).first
            expect(outlined).to_have_css("outline-style", "solid")
        settled(tab)
        uncovered(tab)
        tab.keyboard.press("PageDown")
    reached(tab, f"**/?end={paper}")
    expect(tab.get_by_role("heading", name="What you have seen")).to_be_visible()
    expect(tab.locator("[class*=st-key-finding-] img")).to_have_count(len(names))
    for name in dict.fromkeys(name for name, beat in stops if beat.ask):
        card = tab.locator(f".st-key-finding-{paper}-{name}")
        expect(card).to_contain_text(gallery.card(f"{paper}.{name}").seen)
        expect(card).to_contain_text(re.compile("The answer: |Right, as you chose: "))
    expect(tab.locator(".st-key-go-on a")).to_have_count(3)
    tab.keyboard.press("PageDown")  # nothing more begins
    settled(tab)
    assert tab.url.endswith(f"/?end={paper}")


@pytest.mark.long
def test_in_the_room_the_stage_stays_where_it_is_from_step_to_step(
    server: str, window: Window
) -> None:
    """On a projector, in the story of a paper's first experiment: the panels move by at most 8 px,
    and the line covers none that it speaks of."""
    beats_of_head = registry.experiment("birth.induction").story.beats
    tab = window()
    tab.set_viewport_size(ROOM)
    go(tab, f"{server}/birth?projector=1&beat={beats_of_head[0].name}")
    expect(tab.locator(".headline")).to_contain_text(".")  # now it hears keys
    tops: list[float] = []
    for beat in beats_of_head:
        reached(tab, lambda url, beat=beat: f"beat={beat.name}" in url.split("?")[-1].split("&"))
        if beat.ask:
            tab.keyboard.press("PageDown")  # shows the answer
            says(tab, "The answer")
            settled(tab)
        uncovered(tab)
        tops.append(tab.evaluate(STAGE_TOP))
        tab.keyboard.press("PageDown")
    assert max(tops) - min(tops) <= 8, tops


def test_a_question_hides_its_answer_until_it_is_given(server: str, window: Window) -> None:
    tab = go(window(), f"{server}/toy")
    says(tab, "A teacher multiplies numbers")
    tab.get_by_role("button", name="Start").click()
    beats(tab, "start")
    tab.keyboard.press("PageDown")
    beats(tab, "fall")
    says(tab, "How far does the loss fall?")
    hidden = tab.locator(".st-key-seat-loss > *").first
    expect(hidden).to_have_css("visibility", "hidden")
    expect(tab.locator(".headline")).to_have_css("visibility", "hidden")
    tab.get_by_role("button", name="to a half").click()
    says(tab, "The answer: to less. You chose: to a half. It fell from")
    expect(hidden).to_have_css("visibility", "visible")
    # it has played to where half is gone
    expect(tab.locator(".clock output")).to_contain_text("5 of 300")
    tab.get_by_role("button", name="Why?").click()
    tab.get_by_role("textbox", name="Why, do you think?").fill("It is convex.")
    tab.get_by_role("textbox", name="Why, do you think?").press("Enter")
    expect(tab.get_by_text("Each step takes away a share of what is left.")).to_be_visible()
    tab.keyboard.press("Escape")
    tab.reload()
    settled(tab)
    says(tab, "How far does the loss fall?")  # another visit


@pytest.mark.long
def test_every_turn_is_one_step_back(server: str, window: Window) -> None:
    """With all that a beat sets: its step, its drawer, what it shows."""
    tab = go(window(), f"{server}/birth")
    tab.get_by_role("button", name="Start").click()
    addresses = []
    for beat in ("start", "output", "back"):
        beats(tab, beat)
        addresses.append(tab.url)
        tab.keyboard.press("PageDown")
        if beat == "output":  # its question is shown first, and then gone on from
            says(tab, "The answer:")
            settled(tab)
            addresses.append(tab.url)
            tab.keyboard.press("PageDown")
    reached(tab, lambda url: "beat=back" not in url)
    for address in reversed(addresses):
        tab.go_back()
        reached(tab, address)


@pytest.mark.long
def test_what_a_question_is_about_is_not_given_away_before_it(server: str, window: Window) -> None:
    tab = go(window(), f"{server}/birth?experiment=induction&beat=start")
    says(tab, "Each row shows where one character looks")
    marks = tab.locator(".clock .ticks")
    expect(marks).to_have_css("visibility", "hidden")  # they tell which memory comes first
    expect(tab.locator(".headline")).to_contain_text("Before training")
    tab.keyboard.press("PageDown")
    says(tab, "Which forms first?")
    diagram = tab.locator(".st-key-drawer .diagram")  # where the matrices sit
    until(lambda: in_sight(diagram), "the diagram is in sight", lambda: place(diagram))
    tab.evaluate(GROW)  # as when a figure above is drawn late
    until(lambda: in_sight(diagram), "the diagram is in sight again", lambda: place(diagram))
    expect(diagram.locator("image")).to_have_count(2)  # the attention of both layers, no matrix
    tab.locator(".st-key-choices button").first.click()
    says(tab, "The answer: W_O². You chose: W_K¹. ")
    until(lambda: in_sight(tab.locator(".st-key-seat-w_o2")), "the panel is in sight")
    expect(marks).to_have_css("visibility", "visible")


@pytest.mark.long
def test_the_tour_of_all_papers_leads_on(page_at: Window) -> None:
    papers = [paper for paper in registry.papers().values() if paper.highlights]
    assert [bool(paper.bridge) for paper in papers] == [number > 0 for number in range(len(papers))]
    name, beat = papers[1].highlights[0]
    tab = page_at(f"/{papers[1].name}?experiment={name}&beat={beat}&tour=all")
    says(tab, papers[1].bridge)
    experiment = registry.experiment(f"{papers[1].name}.{name}")
    says(tab, brief_of(experiment.story, experiment.presets[0].config))


@pytest.mark.long
def test_a_beat_sets_knobs_and_waits_for_the_visitor(server: str, window: Window) -> None:
    tab = go(window(), f"{server}/toy?beat=end&seed_shown=1")
    says(tab, "In the end it has found the teacher. Look at seed 0.")
    expect(tab.locator(".headline")).to_contain_text(".")  # now it hears keys
    tab.keyboard.press("PageUp")
    beats(tab, "fall")
    tab.get_by_role("button", name="Show me").click()
    says(tab, "The answer:")  # until then the key shows that, too
    tab.keyboard.press("PageDown")
    reached(tab, "**seed_shown=1*")
    open_drawer(tab, "View")
    tab.get_by_role("slider", name="seed shown").press("ArrowLeft")
    says(tab, "Each seed finds it.")
    tab.get_by_role("button", name="Done").click()
    reached(tab, lambda url: "beat" not in url and "seed_shown" not in url)
    says(tab, "A teacher multiplies numbers")
    expect(tab.get_by_role("button", name="Start again")).to_be_visible()
    tab.keyboard.press("PageDown")  # does not begin it again
    settled(tab)
    assert "beat" not in tab.url


@pytest.mark.long
def test_a_bad_beat_or_panel_is_told(page_at: Window) -> None:
    tab = page_at("/toy?beat=nowhere&marks=loss,nothing")
    beat = "There is no beat nowhere here; there are start, fall, end."
    expect(tab.get_by_text(beat)).to_be_visible()
    panel = "There is no panel nothing here; there are loss, weights, spread."
    expect(tab.get_by_text(panel)).to_be_visible()
    expect(tab.locator(".st-key-seat-loss")).to_have_css("outline-style", "solid")


@pytest.mark.long
def test_a_try_is_a_link_that_sets_knobs_and_outlines(page_at: Window) -> None:
    tab = page_at("/toy")
    tab.get_by_role("button", name="Try").click()
    tab.get_by_role("link", name="A larger step diverges").click()
    reached(tab, "**rate=5.0*")
    expect(tab.locator(".st-key-seat-loss")).to_have_css("outline-style", "solid")


def test_symbols_explain_themselves_to_pointer_and_keyboard(page_at: Window) -> None:
    tab = page_at("/birth")
    title = tab.locator("[data-title=w_k2]")
    expect(title).to_contain_text("W_K²")
    box = title.bounding_box()
    assert box
    tab.mouse.move(box["x"] + 10, box["y"] + box["height"] / 2)
    note = tab.locator(".meaning")
    expect(note).to_contain_text("W_K²: ")
    tab.keyboard.press("Escape")
    expect(note).to_be_hidden()
    word = tab.locator(".says .word")
    if word.count():
        word.first.focus()
        until(lambda: note.is_visible(), "the keyboard reaches what a symbol means")

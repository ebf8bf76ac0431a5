"""Lessons in the browser: they open, ask for a prediction, check answers. A diagram's matrix opens
its panel."""

from collections.abc import Callable

import pytest
from driver import go, open_drawer, reached, settled
from playwright.sync_api import Page, expect

from icl_core import registry
from icl_core.runs import store
from tests.parameters import first_is_short

Window = Callable[..., Page]
PRESETS = '[data-testid=stSidebar] [class*="st-key-"][class*="-presets"]'
EXPERIMENTS = '[class*="st-key-experiments-of-"]'
LESSONS = registry.lessons()


def enter(tab: Page, number: int, text: str) -> None:
    field = tab.get_by_role("textbox", name=f"Answer {number}")
    field.fill(text)
    field.press("Enter")


@pytest.mark.parametrize("name", first_is_short(LESSONS))
def test_a_lesson_opens_from_its_page_with_less_on_it(page_at: Window, name: str) -> None:
    paper, lesson = LESSONS[name]
    tab = page_at("/lessons")
    card = tab.locator(f".st-key-lesson-{name}")
    expect(card).to_contain_text("You will be able to")
    expect(card).to_contain_text(f"/{paper.name}?experiment={lesson.experiment}&lesson={name}")
    card.get_by_text("Lecturer's notes").click()
    expect(card.get_by_text("They will say:")).to_have_count(len(lesson.notes))
    card.get_by_role("button", name="Open the lesson").click()
    reached(tab, f"**/{paper.name}?*lesson={name}*")
    expect(tab.get_by_test_id("stSidebar").get_by_text(lesson.title)).to_be_visible()
    expect(tab.get_by_test_id("stAlert")).to_have_count(0)
    expect(tab.locator(PRESETS)).to_have_count(0)
    expect(tab.locator(EXPERIMENTS)).to_have_count(0)
    expect(tab.get_by_role("button", name="Try", exact=True)).to_have_count(0)


@pytest.mark.long
def test_an_exercise_is_checked_and_kept(server: str, window: Window) -> None:
    # an old link names the drawer that the exercises stood in
    tab = go(window(), f"{server}/birth?lesson=induction-head&drawer=Exercises")
    expect(tab.get_by_test_id("stAlert")).to_have_count(0)
    first = tab.get_by_test_id("stSidebar").locator(".st-key-exercise-numbers")
    enter(tab, 3, "3*128*128")
    expect(first).to_contain_text("Enter the result as a number: 1,250 or 0.5, for instance.")
    enter(tab, 3, "128")
    expect(first).to_contain_text("Not yet: 128. Count the boxes")
    enter(tab, 3, "49 152")
    expect(first).to_contain_text("Right: 49,152. Three")
    expect(tab.locator(".st-key-says").first).to_contain_text("You answered 1 of 3 exercises.")
    open_drawer(tab, "The model")
    expect(first).to_contain_text("Right: 49,152. Three")  # beside the drawer
    tab.reload()
    settled(tab)
    expect(first).to_contain_text("Right: 49,152. Three")
    run = store.default().load(store.default().preset("birth.induction", "fastest"))
    for number, exercise in enumerate(LESSONS["induction-head"][1].exercises[:2], 1):
        enter(tab, number, f"{exercise.right(run):.6g}")
        expect(tab.locator(f".st-key-exercise-{exercise.name}")).to_contain_text("✓ Right")
    sidebar = tab.get_by_test_id("stSidebar")
    expect(sidebar.get_by_text("You answered 3 of 3. This lesson is done.")).to_be_visible()
    expect(sidebar.get_by_role("link", name="Next lesson: ")).to_be_visible()
    tab.get_by_role("button", name="Clear my answers").click()
    expect(sidebar.get_by_text("Right: 49,152.")).to_have_count(0)
    tab.get_by_role("button", name="Leave the lesson").click()
    reached(tab, lambda url: "lesson" not in url)
    expect(tab.locator(PRESETS)).to_be_visible()
    expect(tab.locator(EXPERIMENTS)).to_be_visible()


def test_a_prediction_comes_before_what_it_is_about(server: str, window: Window) -> None:
    tab = go(window(), f"{server}/birth?lesson=induction-head&beat=find")
    expect(tab.get_by_text("This lesson asks for your prediction first.")).to_be_visible()
    on = tab.locator(".st-key-next button")
    expect(on).to_be_disabled()
    expect(tab.get_by_role("button", name="Show me")).to_have_count(0)
    hidden = tab.locator(".st-key-seat-w_o2 > *").first
    expect(hidden).to_have_css("visibility", "hidden")
    tab.locator(".st-key-choices button").last.click()
    # the beat of the link
    expect(tab.locator(".st-key-says").first).to_contain_text("Then layer 2 asks")
    expect(hidden).to_have_css("visibility", "visible")
    expect(on).to_be_enabled()


@pytest.mark.long
def test_a_lesson_that_is_not_here_is_told(page_at: Window) -> None:
    tab = page_at("/birth?lesson=learned-steps")
    alert = tab.get_by_test_id("stAlert")
    sentence = "There is no lesson 'learned-steps' on this page; the lessons are "
    expect(alert).to_contain_text(sentence)
    expect(alert).to_contain_text("learned-steps (Memformers)")
    expect(tab.get_by_role("button", name="Leave the lesson")).to_have_count(0)


@pytest.mark.long
def test_a_matrix_of_the_diagram_opens_its_panel(page_at: Window) -> None:
    tab = page_at("/memformers?experiment=methods&drawer=The+model")
    diagram = tab.locator(".diagram")
    expect(diagram.locator("image")).to_have_count(4)
    diagram.get_by_role("button", name="register R₂").press("Enter")
    reached(tab, "**marks=learned*")
    expect(tab.locator(".st-key-seat-learned")).to_have_css("outline-style", "solid")
    # no click while it scrolls
    tab.wait_for_function("document.querySelector('[data-testid=stMain]').scrollTop === 0")
    settled(tab)
    diagram.get_by_role("button", name="A₃").click()
    reached(tab, "**drawer=Trained+beside+constructed*layer=3*")
    panel = tab.locator(".st-key-panel-wide-preconditioner")
    expect(panel).to_have_css("outline-style", "solid")
    expect(panel).to_contain_text("Layer 3 of 4")

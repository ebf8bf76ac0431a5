"""A class in the browser: a lecturer at the projector, and phones that answer."""

from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import until
from driver import go, settled
from playwright.sync_api import Browser, BrowserContext, Page, expect

Window = Callable[..., Page]
PHONE = {"width": 360, "height": 640}
AXES = (46, 300, 10, 190)  # left, right, top and bottom in a picture of 320 times 240
ON_SCREEN = """(picture, [x, y]) => {
  const place = new DOMPoint(x, y).matrixTransform(picture.getScreenCTM());
  return [place.x, place.y];
}"""
CHOICES = "#choices button"
CHOSEN = f'{CHOICES}[aria-pressed="true"]'


@pytest.fixture
def phones(browser: Browser, hear: Callable[[Page], None]) -> Iterator[list[Page]]:
    """Four phones, each with a storage of its own."""
    contexts: list[BrowserContext] = []
    pages: list[Page] = []
    for scheme in ("light", "dark", "light", "dark"):
        context = browser.new_context(viewport=PHONE, has_touch=True, color_scheme=scheme)
        contexts.append(context)
        pages.append(context.new_page())
        hear(pages[-1])
    yield pages
    for context in contexts:
        context.close()


def press(tab: Page, name: str) -> None:
    tab.get_by_role("button", name=name, exact=True).click()


def count(tab: Page) -> str:
    return tab.locator(".class-count").inner_text()


def end(tab: Page, phones: list[Page]) -> None:
    """End the class once no phone asks: what is refused is also an error of the console."""
    for phone in phones:
        phone.goto("about:blank")
    press(tab, "End")
    press(tab, "End the class")
    expect(tab.locator(".st-key-class")).to_have_count(0)


@pytest.mark.long
def test_a_class_answers_twice_and_sees_its_answers(
    server: str, window: Window, phones: list[Page]
) -> None:
    tab = go(window(), f"{server}/birth?beat=output&projector=1")
    press(tab, "With the class")
    expect(tab.get_by_role("img", name="QR code of")).to_be_visible()
    code = tab.locator(".class-place b").inner_text()
    loaded: list[int] = []
    for phone in phones:
        phone.on("response", lambda response: loaded.append(len(response.body())))
    phones[0].goto(f"{server}/join")
    phones[0].get_by_role("textbox").fill(code.lower())
    phones[0].get_by_role("button", name="Join").tap()
    for phone in phones[1:]:
        phone.goto(f"{server}/join?code={code}")
    for phone, choice in zip(phones, (0, 0, 1, 2), strict=True):
        expect(phone.locator(CHOICES)).to_have_count(3)
        assert phone.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        for button in phone.locator(CHOICES).all():
            box = button.bounding_box()
            assert box and box["height"] >= 48 and box["y"] + box["height"] <= PHONE["height"]
        assert Axe().run(phone).response["violations"] == []
        phone.locator(CHOICES).nth(choice).tap()
        expect(phone.locator(CHOSEN)).to_have_count(1)
    phones[1].locator(CHOICES).nth(1).tap()  # another answer in place of the first
    phones[1].reload()
    expect(phones[1].locator(CHOSEN)).to_contain_text("W_K²")
    assert phones[0].locator(".bar").first.bounding_box()["width"] == 0  # type: ignore[index]
    expect(tab.locator(".class-count")).to_have_text("4 answered, 4 phones here")
    press(tab, "Open the answers")
    panel = tab.locator(".st-key-class")
    expect(panel.get_by_text("4 answered.")).to_be_visible()
    expect(panel.locator(".bars .point")).to_have_count(3)
    expect(panel.locator(".bartext")).to_have_text(["1 (25%)", "2 (50%)", "1 (25%)"])
    for phone in phones:
        expect(phone.locator(".count")).to_have_text(["1", "2", "1"])
        expect(phone.locator(CHOICES).first).to_be_disabled()
    press(tab, "Vote again")
    for phone in phones:
        expect(phone.get_by_text("Second vote.")).to_be_visible()
        phone.locator(CHOICES).nth(2).tap()
        expect(phone.locator(CHOSEN)).to_have_count(1)
    press(tab, "Open the answers")
    expect(panel.get_by_text("3 of 4 changed their answer.")).to_be_visible()
    expect(panel.locator(".bartext")).to_have_count(6)
    expect(panel).not_to_contain_text("✓")
    press(tab, "Show me")
    expect(panel.get_by_text("3 to the right one. Right: 1, then 4.")).to_be_visible()
    for phone in phones:
        expect(phone.locator(".count").nth(2)).to_have_text("✓ 4")
        expect(phone.get_by_role("status")).to_contain_text("The answer: “W_O²”.")
    settled(tab)
    assert Axe().run(tab).response["violations"] == []
    assert max(loaded) < 40_000
    press(tab, "Fold")
    expect(tab.locator(".class-place")).to_have_count(0)
    tab.reload()
    settled(tab)
    expect(tab.locator(".class-place b")).to_have_text(code)  # a class outlives a reload
    end(tab, phones)


@pytest.mark.long
def test_a_lesson_asks_its_class_a_number(server: str, window: Window, phones: list[Page]) -> None:
    tab = go(window(), f"{server}/lessons")
    tab.locator(".st-key-lesson-induction-head").get_by_role(
        "button", name="With the class"
    ).click()
    tab.wait_for_url("**/birth?*lesson=induction-head*")
    settled(tab)
    code = tab.locator(".class-place b").inner_text()
    phone = phones[0]
    phone.goto(f"{server}/join?code={code}")
    expect(phone.get_by_role("heading")).to_have_text("Wait for the question.")
    exercise = tab.locator(".st-key-exercise-numbers")
    exercise.get_by_role("button", name="With the class").click()
    for phone, number in zip(phones, ("49152", "49152", "128", "1,5"), strict=True):
        phone.goto(f"{server}/join?code={code}")
        phone.get_by_role("textbox", name="Your number, in numbers").fill(number)
        phone.get_by_role("button", name="Send").tap()
        shown = number.replace(",", ".")
        expect(phone.get_by_role("status")).to_contain_text(f"Your answer: {shown} numbers.")
    expect(tab.locator(".class-count")).to_have_text("4 answered, 4 phones here")
    press(tab, "Open the answers")
    panel = tab.locator(".st-key-class")
    expect(panel.get_by_text("4 answered.")).to_be_visible()
    expect(panel).not_to_contain_text("49,152")
    press(tab, "Show the true value")
    expect(panel).to_contain_text("✓ right: 49,152")
    expect(panel.get_by_text("4 answered. Right: 2.")).to_be_visible()
    end(tab, phones)


def draw(phone: Page, heights: list[float]) -> None:
    """Draw a curve with a finger; heights are shares of the axis, over its whole width."""
    left, right, top, bottom = AXES
    for index, height in enumerate(heights):
        x = left + index / (len(heights) - 1) * (right - left)
        y = bottom - height * (bottom - top)
        phone.mouse.move(*phone.locator("#picture").evaluate(ON_SCREEN, [x, y]))
        if index == 0:
            phone.mouse.down()
    phone.mouse.up()
    phone.get_by_role("button", name="Send my curve").tap()
    expect(phone.get_by_role("status")).to_contain_text("Your answer is in.")


@pytest.mark.long
def test_a_class_draws_a_curve_and_sees_the_measured_one(
    server: str, window: Window, phones: list[Page]
) -> None:
    tab = go(window(), f"{server}/birth?beat=output")
    press(tab, "With the class")
    code = tab.locator(".class-place b").inner_text()
    press(tab, "Let them draw")
    press(tab, "W_K²: recall against training step")
    expect(tab.get_by_role("dialog")).to_have_count(0)
    expect(tab.locator(".class-ask")).to_contain_text("Draw “W_K²”")
    drawn = {0: [0, 1], 1: [1, 0], 2: [0.5, 0.5]}
    for number, phone in enumerate(phones[:3]):
        phone.goto(f"{server}/join?code={code}")
        expect(phone.locator("#picture .frame")).to_be_visible()
        if number == 0:  # on its side, where the field is wider than the picture
            phone.set_viewport_size({"width": 740, "height": 360})
        draw(phone, drawn[number])
        ends = phone.evaluate("[heights[0], heights[PLACES - 1]]")
        assert ends == pytest.approx([100 * height for height in drawn[number]], abs=2)
        if number:
            report = Axe().run(phone)
            assert report.violations_count == 0, report.generate_report()
    keys = phones[3]
    keys.goto(f"{server}/join?code={code}")
    field = keys.get_by_role("slider")
    field.press("ArrowUp")
    for _ in range(3):
        field.press("ArrowDown")
    expect(field).to_have_attribute("aria-valuenow", "40")
    keys.get_by_role("button", name="Send my curve").press("Enter")
    assert keys.evaluate("document.documentElement.scrollHeight <= innerHeight")
    expect(tab.locator(".class-count")).to_contain_text("4 answered")
    press(tab, "Open the answers")
    chart = tab.locator(".st-key-class .js-plotly-plot")
    curves = chart.evaluate("plot => plot.data.map(({ name }) => name)")
    assert curves == ["the class", "middle of the class"]
    press(tab, "Show the measured curve")
    measured = tab.locator(".st-key-class-measured .js-plotly-plot")
    expect(measured).to_be_visible()
    until(lambda: len(measured.evaluate("plot => plot.data")) == 3, "the measured curve")
    own = phones[0].locator("#picture .measured")
    until(lambda: own.get_attribute("points") != "", "the measured curve on a phone")
    end(tab, phones)

"""The stage on the phones of a class, in the browser."""

from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from driver import drag, go, let_go, settled
from playwright.sync_api import Browser, BrowserContext, Frame, Page, ViewportSize, expect

pytestmark = pytest.mark.long

Window = Callable[..., Page]
PHONE: ViewportSize = {"width": 360, "height": 640}
MOST = 200_000  # bytes that a phone loads after its first load


@pytest.fixture
def phones(browser: Browser, hear: Callable[[Page], None]) -> Iterator[list[Page]]:
    """Two phones, one of them dark."""
    contexts: list[BrowserContext] = []
    pages: list[Page] = []
    for scheme in ("light", "dark"):
        context = browser.new_context(viewport=PHONE, has_touch=True, color_scheme=scheme)
        contexts.append(context)
        pages.append(context.new_page())
        hear(pages[-1])
    yield pages
    for context in contexts:
        context.close()


def press(tab: Page, name: str) -> None:
    tab.get_by_role("button", name=name, exact=True).click()


def stage(phone: Page) -> Frame:
    """The page of the stage, once it is shown."""
    expect(phone.locator("iframe")).to_be_visible()
    (frame,) = [frame for frame in phone.frames if frame.url.endswith("/class/stage")]
    return frame


def wire(phone: Page) -> list[int]:
    """What the phone loads from now on, in bytes as they come: grows."""
    session = phone.context.new_cdp_session(phone)
    session.send("Network.enable")
    loaded: list[int] = []
    session.on("Network.loadingFinished", lambda end: loaded.append(int(end["encodedDataLength"])))
    return loaded


def test_the_stage_follows_the_lecturers_clock_and_waits_for_questions(
    server: str, window: Window, phones: list[Page]
) -> None:
    tab = go(window(), f"{server}/gdssm?beat=early")
    press(tab, "With the class")
    code = tab.locator(".class-place b").inner_text()
    for phone in phones:
        phone.goto(f"{server}/join?code={code}")
        expect(phone.locator("#choices button").first).to_be_visible()
        expect(phone.locator("#stageless")).to_be_hidden()
    tab.locator(".st-key-class").get_by_text("Stage on phones").click()
    for phone in phones:  # the question is open
        expect(phone.locator("#stageless")).to_be_visible()
        expect(phone.locator("iframe")).to_have_count(0)
        assert Axe().run(phone).response["violations"] == []
    press(tab, "Open the answers")
    expect(phones[0].locator("#choices button").first).to_be_disabled()
    expect(phones[0].locator("#stageless")).to_be_visible()  # it hides what the stage tells
    press(tab, "Show me")
    settled(tab)
    for phone in phones:
        shown = stage(phone)
        expect(phone.locator("main")).to_be_hidden()
        expect(shown.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    loaded = [wire(phone) for phone in phones]
    for place in (3, 12, 20):
        drag(tab, place)
        let_go(tab)
        step = tab.locator(".clock output").inner_text()
        said = tab.locator(".headline").inner_text()
        for phone in phones:
            shown = stage(phone)
            expect(shown.locator(".where")).to_have_text(f"training step {step}")
            expect(shown.locator(".headline")).to_have_text(said)
    for phone, dark in zip(phones, (False, True), strict=True):
        shown = stage(phone)
        expect(shown.locator(".js-plotly-plot .main-svg:first-child")).to_have_count(4)
        assert shown.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        assert shown.evaluate("document.documentElement.hasAttribute('data-dark')") == dark
        assert shown.locator(".clock button:visible, .clock input:visible").count() == 0
        assert Axe().run(phone).response["violations"] == []
        assert Axe().run(shown).response["violations"] == []  # type: ignore[arg-type]
    assert all(0 < sum(sizes) < MOST for sizes in loaded)
    press(tab, "Vote again")
    for phone in phones:
        expect(phone.locator("iframe")).to_be_hidden()
        expect(phone.locator("#choices button").first).to_be_enabled()
    press(tab, "Open the answers")
    before = sum(loaded[0])
    expect(phones[0].locator("iframe")).to_be_visible()  # what it has, it shows again
    assert sum(loaded[0]) - before < 5_000
    tab.locator(".st-key-class").get_by_text("Stage on phones").click()
    expect(phones[0].locator("iframe")).to_be_hidden()
    for phone in phones:
        phone.goto("about:blank")
    press(tab, "End")
    press(tab, "End the class")
    expect(tab.locator(".st-key-class")).to_have_count(0)

"""What the clock and the server tell each other: late, twice, never; a visitor goes
back meanwhile."""

from collections.abc import Callable

import pytest
from driver import go, reached, settled, tall, together, visit
from playwright.sync_api import Locator, Page, expect
from wire import Wire

Window = Callable[..., Page]


def slider(tab: Page) -> Locator:
    return tab.get_by_role("slider", name="training step shown")


# What the server says once the page has a new address comes late and all at once; the visitor has
# gone back meanwhile.
BACK_MEANWHILE = """
    const push = history.pushState, listen = WebSocket.prototype.addEventListener;
    let delayed = null;
    WebSocket.prototype.addEventListener = function (what, hear, ...more) {
        const later = (event) => (delayed && what === "message" ? delayed.push(() =>
          hear(event)) : hear(event));
        listen.call(this, what, later, ...more);
    };
    window.backMeanwhile = () => void (history.pushState = function (...state) {
        push.apply(this, state);
        history.pushState = push;
        delayed = [];
        history.back();
        setTimeout(() => ([delayed, window.heard] = [null, delayed.map((hear) => hear())]), 2000);
    });
"""


def test_a_step_back_at_once_takes_the_clock_with_it(server: str, window: Window) -> None:
    tab = tall(window)
    tab.add_init_script(BACK_MEANWHILE)
    last = together(go(tab, f"{server}/birth"))
    tab.keyboard.press("ArrowLeft")
    reached(tab, "**/birth?step=*")
    tab.evaluate("window.backMeanwhile()")
    tab.keyboard.press("ArrowRight")
    tab.wait_for_function("window.heard")
    assert "step=" in settled(tab).url
    together(tab, last - 1)


def test_the_same_rest_is_heard_again_after_a_step_back(page_at: Window) -> None:
    tab = page_at("/toy")
    last = slider(tab).input_value()
    tab.keyboard.press("ArrowLeft")
    reached(tab, "**/toy?step=*")
    there = tab.url
    tab.go_back()
    expect(slider(tab)).to_have_value(last)
    tab.keyboard.press("ArrowLeft")
    reached(tab, there)


@pytest.mark.long
@pytest.mark.parametrize("to", ["toy", "claims"])
def test_a_rest_that_is_lost_leaves_the_clock_where_the_visitor_goes(
    server: str, window: Window, to: str
) -> None:
    tab = window()
    wire = Wire(tab)
    go(tab, f"{server}/{to}")
    if to == "claims":
        tab.locator(".st-key-pages").get_by_role("link", name="A line").click()
        reached(tab, "**/toy*")
    last = slider(tab).input_value()
    tab.locator(".st-key-drawers").get_by_role("radio").last.click()
    reached(tab, "**/toy?drawer=*")
    wire.lose(tab.locator(".clock .back").click)
    tab.go_back()
    reached(tab, "**/toy")
    expect(tab.locator(".st-key-drawer")).to_have_count(0)
    expect(slider(tab)).to_have_value(last)
    tab.locator(".st-key-drawers").get_by_role("radio").first.click()  # tells of it again
    reached(tab, "**drawer=*")
    assert "step=" not in tab.url and slider(tab).input_value() == last
    if to == "claims":
        wire.lose(tab.locator(".clock .back").click)
        for address in ("**/toy", "**/claims"):
            tab.go_back()
            reached(tab, address)
        expect(tab.get_by_role("heading", name="What the papers claim")).to_be_visible()


@pytest.mark.long
def test_a_key_that_comes_before_a_beats_answer_counts(server: str, window: Window) -> None:
    tab = window()
    wire = Wire(tab)
    go(tab, f"{server}/toy")
    wire.hold()
    tab.get_by_role("button", name="Start").click()
    wire.ran(1)
    tab.keyboard.press("ArrowLeft")
    there = slider(tab).input_value()
    wire.ran(2)
    wire.free()
    reached(tab, lambda address: "beat=start" in address and "step=" in address)
    assert slider(tab).input_value() == there


@pytest.mark.long
def test_a_beat_that_is_played_on_stays_where_it_was_played_to(page_at: Window) -> None:
    tab = page_at("/toy?beat=start&step=0")
    slider(tab).press("End")
    reached(tab, lambda address: "beat=start" in address and not address.endswith("step=0"))
    assert "step=" in tab.url
    assert slider(tab).input_value() == slider(tab).get_attribute("max")


# The steps that the clock has said, one after the other.
SAID = """
    window.said = [];
    new MutationObserver(() => {
        const step = document.querySelector(".clock output")?.textContent;
        if (step && step !== window.said.at(-1)) window.said.push(step);
    }).observe(document, { subtree: true, childList: true, characterData: true });
"""


def test_an_experiment_opens_at_its_first_step_and_plays_once(server: str, window: Window) -> None:
    tab = window()
    tab.emulate_media(reduced_motion="no-preference")
    tab.add_init_script(SAID)
    go(tab, f"{server}/toy")
    tab.wait_for_function("window.said.at(-1) === '300 of 300'")
    expect(tab.get_by_role("button", name="Play", exact=True)).to_be_visible()
    steps = [int(said.split()[0]) for said in tab.evaluate("window.said")]
    assert steps[0] == 0 and steps == sorted(steps) and len(steps) > 5
    together(tab, int(slider(tab).get_attribute("max") or 0))
    assert "step=" not in tab.url
    visit(tab, "/toy?step=5")  # a link with a step opens there
    expect(tab.locator(".clock output")).to_have_text("5 of 300")
    assert not any(clock["play"] for clock in tab.evaluate("[...iclStage.clocks.values()]"))
    slider(tab).press("End")  # the address then names no step, and the film does not begin
    reached(tab, lambda address: "step=" not in address)
    tab.wait_for_function("!document.querySelector('[data-test-script-state=running]')")
    assert not tab.evaluate("[...iclStage.clocks.values()].some((clock) => clock.opens)")
    expect(tab.locator(".clock output")).to_have_text("300 of 300")

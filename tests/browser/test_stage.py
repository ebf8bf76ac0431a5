"""The stage: the one clock that moves all of it without the server, and its drawers."""

from collections.abc import Callable

import pytest
from conftest import until
from driver import (
    PAINTED,
    SNAPSHOTS,
    drag,
    go,
    let_go,
    open_drawer,
    reached,
    settled,
    tall,
    together,
)
from playwright.sync_api import Page, WebSocket, expect

from icl_core.contract.drawers import CHANGE_IT, GROUPS

Window = Callable[..., Page]
LARGEST = """name => Math.max(...document.querySelector(`.st-key-chart-${name} .js-plotly-plot`)
    .calcdata[0][0].z.flat().map(Math.abs))"""
# `touched`: the snapshots of the charts whose traces were changed
WATCH = """() => {
    window.touched = [];
    for (const plot of document.querySelectorAll('[class*="st-key-chart-"] .js-plotly-plot')) {
        const note = () => window.touched.push(plot.layout.meta.snapshot);
        const traces = plot.querySelector('.cartesianlayer');
        new MutationObserver(note).observe(traces, {subtree: true, childList: true,
          attributes: true, characterData: true});
    }
}"""
HIDE = """hidden => {
    Object.defineProperty(document, 'hidden', {get: () => hidden, configurable: true});
    document.dispatchEvent(new Event('visibilitychange'));
}"""
TOP = "box => box.getBoundingClientRect().top"


def test_one_clock_moves_every_panel_and_asks_the_server_for_nothing(
    server: str, window: Window
) -> None:
    tab = tall(window)
    received: list[int] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", lambda frame: received.append(len(frame)))

    tab.on("websocket", listen)
    go(tab, f"{server}/birth")
    last = together(tab)
    received.clear()
    for place in (0, 3, last - 1):
        drag(tab, place)
        together(tab, place)
    headline = tab.locator(".headline").inner_text()
    assert not received  # while it is dragged
    assert len(tab.evaluate(PAINTED)) == 6
    let_go(tab)
    tab.wait_for_url("**/birth?step=*")  # where the clock rests
    drag(tab, last - 3)
    tab.get_by_role("button", name="Play").click()
    tab.wait_for_url("**/birth")  # it has played to its end, which is the page's own
    assert together(tab, last) and tab.locator(".headline").inner_text() != headline
    tab.go_back()
    together(tab, last - 1)


@pytest.mark.long
def test_what_is_not_seen_is_not_drawn(server: str, window: Window) -> None:
    """Panels below the window, and all panels of a page that is hidden, stand still until they are
    seen."""
    tab = window()
    tab.set_viewport_size({"width": 700, "height": 500})  # one panel below the other
    last = int(go(tab, f"{server}/birth").locator(".clock input").get_attribute("max") or 0)
    tab.evaluate(WATCH)
    drag(tab, 3)
    until(lambda: 3 in tab.evaluate(SNAPSHOTS), "what is in sight moves")
    let_go(tab)
    reached(tab, "**/birth?step=*")
    assert sorted(set(tab.evaluate(SNAPSHOTS))) == [3, last]
    assert set(tab.evaluate("window.touched")) == {3}
    tab.set_viewport_size({"width": 1400, "height": 1000})
    together(tab, 3)  # what has come into sight follows
    tab.wait_for_timeout(1000)  # Streamlit draws a chart once more that has got another size
    together(tab, 3)
    tab.evaluate(HIDE, True)
    drag(tab, 5)
    tab.get_by_role("button", name="Play", exact=True).click()
    tab.wait_for_timeout(1000)  # two snapshots of a film that is seen
    assert set(tab.evaluate(SNAPSHOTS)) == {3}
    assert tab.locator(".clock input").input_value() == "5"
    tab.evaluate(HIDE, False)
    until(lambda: max(tab.evaluate(SNAPSHOTS)) > 5, "the film goes on")


def test_keys_step_and_play(server: str, window: Window) -> None:
    tab = go(tall(window), f"{server}/birth?step=31")
    start = together(tab)
    tab.keyboard.press("ArrowRight")
    together(tab, start + 1)
    tab.keyboard.press("ArrowLeft")
    together(tab, start)
    tab.keyboard.press(" ")
    expect(tab.get_by_role("button", name="Stop")).to_be_visible()
    # a click leaves the focus there
    tab.get_by_role("slider", name="training step shown").press(" ")
    expect(tab.get_by_role("button", name="Play")).to_be_visible()


@pytest.mark.long
def test_where_the_browser_cannot_move_the_charts_the_server_does(
    server: str, window: Window
) -> None:
    tab = tall(window)
    tab.add_init_script(
        "Object.defineProperty(window, 'Plotly', {get: () => undefined, set: () => {}})"
    )
    go(tab, f"{server}/birth")
    title = tab.locator("[data-title=second]")
    before = title.inner_text()
    expect(tab.locator(".clock")).to_have_attribute("data-plain", "true")
    slider = tab.get_by_role("slider", name="training step shown")
    slider.focus()
    slider.press("Home")
    reached(tab, "**/birth?step=0")
    expect(title).not_to_have_text(before)
    settled(tab)


@pytest.mark.long
def test_a_page_that_is_pressed_stays_where_it_is(page_at: Window) -> None:
    """A drawer comes into sight once it is there, but not from under a finger."""
    tab = page_at("/birth")
    tab.evaluate(
        """() => {
            const press = () => {
                window.changed = performance.now();
                if (window.pressed ||
                  !document.querySelector(".st-key-drawer [role=radio]")) return;
                window.pressed = true;
                document.body.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
            };
            new MutationObserver(press).observe(document.body, { childList: true, subtree: true });
        }"""
    )
    tab.get_by_role("radio", name="Change it").click()  # whose first drawer is Graft
    reached(tab, "**/birth?drawer=Graft")
    tab.wait_for_function("window.pressed && performance.now() - window.changed > 500")
    assert tab.locator(".st-key-drawer").evaluate(TOP) > 700


def _a_graft_moves_the_stage(tab: Page) -> None:
    """Maps, predictions and headline, until the way back is taken."""
    titles = {name: tab.locator(f"[data-title={name}]") for name in ("second", "w_o2")}
    before = titles["second"].inner_text()
    parts = tab.locator(".st-key-drawer [data-testid=stButtonGroup]").nth(2)
    parts.get_by_text("zero", exact=True).click()
    reached(tab, "**graft_W_O2=zero*")
    expect(titles["w_o2"]).to_contain_text("W_O² replaced by zero")
    expect(titles["second"]).to_contain_text("W_O² replaced: 0 of 4 right")
    expect(tab.locator(".headline")).to_contain_text("with W_O² replaced by zero")
    expect(tab.locator(".st-key-seat-w_o2")).to_have_css("outline-style", "dashed")
    until(lambda: tab.evaluate(LARGEST, "w_o2") == 0, "the map is empty")
    tab.get_by_role("button", name="Show the trained model again").click()
    reached(tab, "**/birth?drawer=Graft")
    expect(titles["second"]).to_have_text(before)
    until(lambda: tab.evaluate(LARGEST, "w_o2") > 0, "the map is the trained one's")


def test_a_key_opens_a_group_of_drawers_and_closes_it(page_at: Window) -> None:
    """Five groups at most; an open one shows its drawers, and the first of them."""
    tab = page_at("/toy")
    names = [group.inner_text() for group in tab.get_by_role("radio").all()]
    assert names == [group for group in GROUPS if group != CHANGE_IT]  # it has no drawer here
    tab.keyboard.press("2")
    reached(tab, "**/toy?drawer=All+seeds")
    expect(tab.locator(".st-key-drawer-names").get_by_role("radio")).to_have_text(
        ["All seeds", "Sweep"]
    )
    tab.keyboard.press("4")
    reached(tab, "**/toy?drawer=Why")
    expect(tab.locator(".st-key-drawer-names")).to_have_count(0)
    tab.keyboard.press("4")
    reached(tab, "**/toy")
    expect(tab.locator(".st-key-drawer")).to_have_count(0)


@pytest.mark.long
def test_an_open_drawer_is_in_the_link_and_is_drawn_alone(page_at: Window) -> None:
    tab = page_at("/birth")
    expect(tab.locator(".st-key-drawer")).to_have_count(0)
    open_drawer(tab, "Graft")
    expect(tab.locator(".st-key-drawer .js-plotly-plot")).to_have_count(2)
    until(lambda: tab.locator(".st-key-drawer").evaluate(TOP) < 600, "it has come into sight")
    _a_graft_moves_the_stage(tab)
    tab.get_by_role("button", name="claims reproduced").first.click()
    reached(tab, "**/birth?drawer=Evidence")
    expect(tab.locator(".st-key-drawer .claims li").first).to_be_visible()

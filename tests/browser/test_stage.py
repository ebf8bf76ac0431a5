"""The stage: the one clock that moves all of it without the server, and its drawers."""

from collections.abc import Callable

from conftest import until
from driver import go, reached, settled, tall, together
from playwright.sync_api import Page, expect

Window = Callable[..., Page]
PAINTED = """() => Object.fromEntries([...document.querySelectorAll('[class*="st-key-chart-"]')]
    .map(box => [box.className, box.querySelector('.js-plotly-plot')]).filter(([, plot]) =>
      plot.iclPainted)
    .map(([name, plot]) => [name, [...plot.querySelectorAll('image')].map(image =>
      image.href.baseVal)]))"""
LARGEST = """name => Math.max(...document.querySelector(`.st-key-chart-${name} .js-plotly-plot`)
    .calcdata[0][0].z.flat().map(Math.abs))"""
TOP = "box => box.getBoundingClientRect().top"


def test_one_clock_moves_every_panel_and_asks_the_server_for_nothing(
    server: str, window: Window
) -> None:
    tab = tall(window)
    received: list[int] = []
    tab.on(
        "websocket",
        lambda socket: socket.on("framereceived", lambda frame: received.append(len(frame))),
    )
    go(tab, f"{server}/birth")
    last = together(tab)
    slider = tab.get_by_role("slider", name="training step shown")
    received.clear()
    for place in (0, 3, last - 1):
        slider.evaluate(
            "(input, at) => { input.value = at; input.dispatchEvent(new Event('input')); }", place
        )
        together(tab, place)
    said = tab.locator(".headline").inner_text()
    assert not received  # while it is dragged
    painted = tab.evaluate(PAINTED)
    assert len(painted) >= 3 and all(all(pictures) and pictures for pictures in painted.values())
    slider.evaluate("input => input.dispatchEvent(new Event('change'))")
    tab.wait_for_url("**/birth?step=*")  # where the clock rests
    until(lambda: not tab.evaluate(PAINTED), "what was painted is drawn")
    drawn = tab.evaluate(PAINTED.replace("plot.iclPainted", "true"))
    assert painted.items() <= drawn.items()  # the same pictures
    slider.evaluate(
        "(input, at) => { input.value = at; input.dispatchEvent(new Event('input')); }", last - 3
    )
    tab.get_by_role("button", name="Play").click()
    tab.wait_for_url("**/birth")  # it has played to its end, which is the page's own
    assert together(tab, last) and tab.locator(".headline").inner_text() != said
    tab.go_back()
    together(tab, last - 1)


def test_keys_step_and_play(server: str, window: Window) -> None:
    tab = go(tall(window), f"{server}/birth?step=31")
    start = together(tab)
    tab.keyboard.press("ArrowRight")
    together(tab, start + 1)
    tab.keyboard.press("ArrowLeft")
    together(tab, start)
    tab.keyboard.press(" ")
    expect(tab.get_by_role("button", name="Stop")).to_be_visible()
    tab.get_by_role("slider", name="training step shown").press(
        " "
    )  # a click leaves the focus there
    expect(tab.get_by_role("button", name="Play")).to_be_visible()


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


def test_a_page_that_is_pressed_stays_where_it_is(server: str, window: Window) -> None:
    """A drawer comes into sight once it is there, but not from under a finger."""
    tab = go(window(), f"{server}/birth")
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
    tab.get_by_test_id("stMain").get_by_text("Graft", exact=True).click()
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


def test_an_open_drawer_is_in_the_link_and_is_drawn_alone(server: str, window: Window) -> None:
    tab = go(window(), f"{server}/birth")
    expect(tab.locator(".st-key-drawer")).to_have_count(0)
    tab.get_by_role("radio", name="Graft").or_(
        tab.get_by_role("button", name="Graft")
    ).first.click()
    reached(tab, "**/birth?drawer=Graft")
    expect(tab.locator(".st-key-drawer .js-plotly-plot")).to_have_count(2)
    until(lambda: tab.locator(".st-key-drawer").evaluate(TOP) < 600, "it has come into sight")
    _a_graft_moves_the_stage(tab)
    tab.get_by_role("button", name="claims:").first.click()
    reached(tab, "**/birth?drawer=Evidence")
    expect(tab.locator(".st-key-drawer .claims li").first).to_be_visible()

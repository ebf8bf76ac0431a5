"""What a test does in a window: go somewhere and wait until it is drawn. Every wait has the
window's deadline."""

from collections.abc import Callable
from re import Pattern
from urllib.parse import parse_qsl, urlsplit

from conftest import DEADLINE, until
from playwright.sync_api import Locator, Page, expect

from icl_core.contract.drawers import group_of

DRAWN = """() =>
  document.querySelector('[data-testid="stApp"][data-test-script-state="notRunning"]')
    && document.querySelector("h1")
    && [...document.querySelectorAll(".stPlotlyChart, [class*='st-key-chart-']")]
        .every(chart => chart.querySelector(".main-svg"))
    && [...document.querySelectorAll("style")].some(style =>
      style.textContent.includes(".block-container"))"""
SNAPSHOTS = """() => [...document.querySelectorAll('[class*="st-key-chart-"] .js-plotly-plot')]
    .map(plot => plot.layout.meta?.snapshot).filter(snapshot => snapshot !== undefined)"""
# What traces look like, without how an image is scaled, which is written in two ways: by chart, of
# those that are painted and not drawn in full.
PAINTED = """() => Object.fromEntries([...document.querySelectorAll('[class*="st-key-chart-"]')]
    .map(box => [box.className, box.querySelector('.js-plotly-plot')])
    .filter(([, plot]) => plot?.iclPainted)
    .map(([name, plot]) => [name, [...plot.querySelectorAll('.cartesianlayer .plot')].map(marks =>
      marks.innerHTML.replace(/image-rendering: [^;]*; */g, ''))]))"""
SHOWN = PAINTED.replace("plot?.iclPainted", "plot?.calcdata")  # of all charts
expect.set_options(timeout=DEADLINE * 1000)


def go(page: Page, address: str) -> Page:
    """Open an address and wait until its script has ended."""
    page.goto(address)
    return settled(page)


def settled(page: Page) -> Page:
    """Wait until the script has ended, the style is applied and every plot is drawn."""
    page.wait_for_function(DRAWN)  # looks at every frame; waiting for a locator, twice a second
    assert page.locator('[class*="st-key-fault-"]').count() == 0, "a fault is on the page"
    return page


def reached(page: Page, address: str | Pattern[str] | Callable[[str], bool]) -> Page:
    """Wait until the page has the address and the script that gave it to it has ended: in the
    middle of a run, what leaves the page and what takes its place may both be there."""
    page.wait_for_url(address)
    return settled(page)


def visit(page: Page, address: str) -> Page:
    """Go to another address of the page that is open, as the browser's Back does: what has been
    loaded stays, which saves half of what a load takes. The page stands at its top afterwards."""
    page.evaluate(
        """address => {
            document.title = "on the way";  // every run of the script sets it
            history.pushState({}, "", address);
            dispatchEvent(new PopStateEvent("popstate"));
        }""",
        address,
    )
    page.wait_for_function("document.title !== 'on the way'")
    page.evaluate("new Promise(seen => requestAnimationFrame(() => requestAnimationFrame(seen)))")
    settled(page)
    page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, 0)")
    return page


def open_drawer(page: Page, name: str) -> None:
    """Open a drawer by its name, or first by that of its group, if another group is open."""
    drawers = page.locator(".st-key-drawers")
    drawer = drawers.get_by_role("radio", name=name, exact=True)
    if not drawer.count():
        drawers.get_by_role("radio", name=group_of(name), exact=True).click()
    drawer.wait_for()
    if not drawer.is_checked():  # a group opens its first drawer
        drawer.click()
    reached(page, lambda address: ("drawer", name) in parse_qsl(urlsplit(address).query))


def more_settings(page: Page) -> None:
    """Open what the sidebar has beside main knobs and presets, if it is closed."""
    line = page.get_by_role("textbox", name="Setting as text")
    if not line.count():
        page.get_by_test_id("stSidebar").get_by_text("More settings", exact=True).click()
    line.wait_for()
    settled(page)


def heading(page: Page, text: str) -> Locator:
    """The title of a panel or section."""
    return page.get_by_role("heading", name=text)


def train(page: Page) -> None:
    """Press the Run button that stands on the page."""
    page.get_by_test_id("stMain").get_by_role("button", name="Train it here").click()


def training(page: Page) -> Locator:
    """The line that tells how far a training is."""
    return page.get_by_text("Training: step")


def step(page: Page, label: str, key: str) -> None:
    """Move the slider called `label` with a key of the keyboard."""
    page.get_by_role("slider", name=label).press(key)


def watch(page: Page, start: str) -> None:
    """Note every title or caption that begins so from now on, also one that stands for a moment
    only: `watched`."""
    page.evaluate(
        """start => {
            window.titles = [];
            const look = () => {
                const texts = 'h3, [data-testid=stCaptionContainer] p';
                const all = [...document.querySelectorAll(texts)];
                const title = all.find(text => text.textContent.startsWith(start));
                if (title &&
                  window.titles.at(-1) !== title.textContent) window.titles.push(title.textContent);
            };
            new MutationObserver(look).observe(document.body, {subtree: true, childList: true,
              characterData: true});
            look();
        }""",
        start,
    )


def watched(page: Page) -> list[str]:
    """The texts noted since `watch`, in order."""
    return page.evaluate("window.titles")


def tall(window: Callable[..., Page]) -> Page:
    """A window in which the whole stage is in sight: what is not, is moved when it comes into
    sight."""
    tab = window()
    tab.set_viewport_size({"width": 1400, "height": 1000})
    return tab


def together(tab: Page, at: int | None = None) -> int:
    """The snapshot that every moving panel shows, once they show the same, and the clock's; once it
    is `at`."""
    snapshots: list[int] = []

    def agree() -> bool:
        snapshots[:] = tab.evaluate(SNAPSHOTS)
        clock = int(tab.get_by_role("slider", name="training step shown").input_value())
        return set(snapshots) == {clock} and at in (None, clock)

    until(agree, "every panel shows the snapshot of the clock")
    return snapshots[0]


def drag(tab: Page, place: int) -> None:
    """Drag the clock to a snapshot, and hold it there."""
    tab.get_by_role("slider", name="training step shown").evaluate(
        "(input, at) => { input.value = at; input.dispatchEvent(new Event('input')); }", place
    )


def let_go(tab: Page) -> None:
    """Let the dragged clock rest where it is; wait until all charts are drawn in full."""
    tab.get_by_role("slider", name="training step shown").evaluate(
        "input => input.dispatchEvent(new Event('change'))"
    )
    until(lambda: not tab.evaluate(PAINTED), "what was painted is drawn")

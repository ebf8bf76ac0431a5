"""Any chart fills the screen and comes back as it was; its tools cover nothing that is drawn."""

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from conftest import until
from driver import reached, settled
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.long

Window = Callable[..., Page]
SIZE = """plot => { const box = plot.getBoundingClientRect(), {yaxis, width,
  height} = plot._fullLayout;
    return [box.width, box.height, width, height, yaxis._length].map(Math.round); }"""

ALONE = """plot => [[60, 300], [60, 840], [700, 600], [1340, 600]].every(
    ([x, y]) => document.elementFromPoint(x,
      y)?.closest('[data-testid=stFullScreenFrame]')?.contains(plot))"""

BAR = """plot => ({map: plot._fullLayout.yaxis._length,
    colours: plot.querySelector('.colorbar .cbfills').getBoundingClientRect().height})"""

TOOLS = """plots => plots.map(plot => {
    const boxes = what => [...plot.querySelectorAll(what)].map(part =>
      part.getBoundingClientRect());
    const drawn = boxes('.legend, .colorbar, .plot, .annotation').filter(box =>
      box.height).map(box => box.top);
    return [Math.max(...boxes('.modebar-btn').map(box => box.bottom)), Math.min(...drawn)]; })"""


# how wide the words are that explain a panel, and the row of its title
SAYS = """mark => [parseFloat(getComputedStyle(mark, '::after').width),
    mark.parentElement.getBoundingClientRect().width]"""


def fits(plot: Locator) -> bool:
    """Whether the chart has a colour bar, as high as its map."""
    has_bar = plot.locator(".colorbar .cbfills").count() > 0
    bar = plot.evaluate(BAR) if has_bar else {"map": 0, "colours": 100}
    return abs(bar["colours"] - bar["map"]) <= 6


def enlarge(plot: Locator) -> None:
    plot.hover()
    plot.locator("[data-title=Fullscreen]").click()


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("place", ["[class*='st-key-chart-first']", ".st-key-drawer"])
def test_a_chart_fills_the_screen_and_comes_back_as_it_was(
    page_at: Window, place: str, colours: str
) -> None:
    tab = page_at("/birth?drawer=Graft", colours=colours)
    plot = tab.locator(f"{place} .js-plotly-plot").first
    plot.scroll_into_view_if_needed()
    if "chart" in place:  # the large panel has tools, and its map a colour bar
        tab.locator("[data-title=first]").click()
        until(lambda: fits(plot), "its bar is as high as its map")
    tab.locator(".headline").filter(has_text=".").wait_for()
    before = plot.evaluate(SIZE)
    heading = "[data-title=first]" if "chart" in place else ".st-key-drawer h3"
    finding = tab.locator(heading).first.inner_text()
    enlarge(plot)
    until(lambda: min(plot.evaluate(SIZE)[:2]) > 800, "the chart fills the window")
    until(lambda: plot.evaluate(SIZE)[:2] == plot.evaluate(SIZE)[2:4], "it is drawn in that size")
    assert plot.evaluate(SIZE)[4] > 0.75 * 900 - 60  # what is drawn fills it
    assert plot.evaluate(ALONE)
    title = tab.locator(".icl-full-title")
    expect(title).to_contain_text(finding)
    if "chart" in place:
        bar = plot.evaluate(BAR)
        assert bar["colours"] > 0.95 * bar["map"]
    clock = tab.get_by_role("slider", name="training step shown", include_hidden=True)
    last = int(clock.input_value())
    tab.keyboard.press("ArrowLeft")
    if "chart" in place:
        until(
            lambda: plot.evaluate("plot => plot.layout?.meta?.snapshot") == last - 1,
            "the clock moves it",
        )
        reached(tab, "**step=*")  # the server has heard, and draws what follows the clock
        expect(title).to_contain_text(f"step {parse_qs(urlsplit(tab.url).query)['step'][0]} of")
    assert int(clock.input_value()) == last - (
        "chart" in place
    )  # a chart that the server draws leaves the screen
    assert min(plot.evaluate(SIZE)[:2]) > 800
    tab.keyboard.press("Escape")
    until(lambda: plot.evaluate(SIZE) == before, f"it stands where it stood, {before}")
    expect(title).to_have_count(0)


def test_a_map_keeps_its_size_when_the_window_changes_twice(page_at: Window) -> None:
    tab = page_at("/birth")
    plot = tab.locator("[class*='st-key-chart-first'] .js-plotly-plot")
    tab.locator(".headline").filter(has_text=".").wait_for()
    tab.keyboard.press("ArrowLeft")  # what moves it brings a layout of its own
    reached(tab, "**step=*")
    before = plot.evaluate(SIZE)
    tab.set_viewport_size({"width": 1000, "height": 700})
    until(lambda: plot.evaluate(SIZE)[:2] != before[:2], "the chart has another size")
    tab.set_viewport_size({"width": 1400, "height": 900})
    until(lambda: plot.evaluate(SIZE) == before, "it is what it was")


def test_what_explains_a_panel_can_be_pointed_at(page_at: Window) -> None:
    tab = page_at("/birth")
    tab.set_viewport_size({"width": 1366, "height": 768})
    settled(tab)
    for mark in tab.locator('[class*="st-key-seat-"] .caption').all():
        mark.hover()  # only if nothing else would receive it
        words, row = mark.evaluate(SAYS)
        assert words >= min(300, row - 40), (words, row)


@pytest.mark.parametrize(
    "page", ["birth", "memformers", "gdssm", "birth?drawer=All+curves", "gdssm?drawer=All+curves"]
)
def test_the_tools_of_a_chart_cover_nothing_that_is_drawn(page_at: Window, page: str) -> None:
    tab = page_at(f"/{page}")
    tab.locator(".st-key-drawer .main-svg" if "drawer" in page else ".main-svg").first.wait_for()
    settled(tab)
    heights = tab.locator(".js-plotly-plot").evaluate_all(TOOLS)
    assert heights and all(tools <= drawn + 2 for tools, drawn in heights), heights

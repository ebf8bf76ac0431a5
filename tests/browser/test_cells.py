"""Linked maps and one number: what the pointer does on a map, what the keyboard does in
the drawer."""

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from conftest import until
from driver import go, reached, settled
from playwright.sync_api import Locator, Page, expect

Window = Callable[..., Page]
# where a cell of a map is on the screen
PIXEL = """([name, row, column]) => {
    const plot = document.querySelector(`.st-key-chart-${name} .js-plotly-plot`);
    if (!plot?._fullLayout?.xaxis?.l2p) return null;
    const box = plot.getBoundingClientRect(), { xaxis: x, yaxis: y } = plot._fullLayout;
    return [box.left + x._offset + x.l2p(column), box.top + y._offset + y.l2p(row)];
}"""
# which row is outlined in a map: the middle of what is drawn there
OUTLINED = """name => {
    const plot = document.querySelector(`.st-key-chart-${name} .js-plotly-plot`);
    const path = plot.querySelector(".icl-links [data-marks=row]")?.getAttribute("d");
    if (!path) return [];
    return path.split("M").slice(1).map(part => {
        const [, top, height] = part.match(/^[^ ]+ ([^h]+)h[^v]+v([^h]+)h/).map(Number);
        const {yaxis} = plot._fullLayout;
        return Math.round(yaxis.p2l(top + height / 2 - yaxis._offset));
    });
}"""


def place(tab: Page, name: str, row: int, column: int) -> list[float]:
    """Where a cell is on the screen, once it stands still."""
    pixels: list[list[float] | None] = [None, None]

    def still() -> bool:
        pixels[:] = [pixels[1], tab.evaluate(PIXEL, [name, row, column])]
        return pixels[0] is not None and pixels[0] == pixels[1]

    until(still, f"the map {name} stands still")
    return pixels[1] or []


def point(tab: Page, name: str, row: int, column: int) -> None:
    """Move the pointer to a cell of the map in a seat of the stage, counted from 0."""
    tab.mouse.move(*place(tab, name, row, column))


def outlined(tab: Page, name: str) -> list[int]:
    """The rows that are outlined in the map of a seat."""
    return tab.evaluate(OUTLINED, name)


def saved(tab: Page, name: str, button: Locator) -> str:
    """What a button saves of a panel, whose name the file has; of a picture in points its bytes."""
    with tab.expect_download() as download:
        button.click()
    file = download.value
    assert file.suggested_filename.startswith(f"birth-induction-{name}-step300")
    return file.path().read_text(encoding="utf-8", errors="replace")


def cell_of(tab: Page) -> str:
    """The cell that the address names."""
    return parse_qs(urlsplit(tab.url).query).get("cell", [""])[0]


def field(tab: Page, name: str) -> Locator:
    """The field of a row or a column."""
    return tab.locator(".st-key-one-number").get_by_role("spinbutton", name=name)


def test_the_row_under_the_pointer_is_outlined_in_every_map_and_a_click_opens_its_number(
    page_at: Window,
) -> None:
    tab = page_at("/birth")

    def pointed() -> bool:  # at the second t of hotshots, wherever it stands while the page settles
        point(tab, "second", 6, 3)
        return outlined(tab, "first") == outlined(tab, "second") == [6]

    until(pointed, "its row, in both maps of attention")
    # its position, its character
    assert outlined(tab, "w_k1") == [6] and len(outlined(tab, "w_k2")) == 1
    letters = tab.evaluate(
        "document.querySelector('.st-key-chart-w_k2 .js-plotly-plot').data[0].meta.rows.character"
    )
    assert letters[outlined(tab, "w_k2")[0]] == "t"
    tab.mouse.move(5, 5)
    until(lambda: outlined(tab, "first") == [], "nothing is outlined where no map is pointed at")
    visited = []
    tab.on("framenavigated", lambda frame: visited.append(frame.url))
    zoomed = (
        "document.querySelector('.st-key-chart-w_k2 .js-plotly-plot').layout.xaxis.range[0] > 9"
    )
    tab.mouse.move(*place(tab, "w_k2", 20, 20))
    tab.mouse.down()
    tab.mouse.move(*place(tab, "w_k2", 40, 40), steps=3)
    tab.mouse.up()
    until(lambda: tab.evaluate(zoomed), "what was dragged over is enlarged")

    def whole() -> bool:  # plotly.js misses a double click while it still draws what was enlarged
        tab.mouse.dblclick(*place(tab, "w_k2", 30, 30))
        tab.wait_for_timeout(500)
        return not tab.evaluate(zoomed)

    until(whole, "a double click shows the whole map again")
    tab.locator(
        ".st-key-chart-second"
    ).hover()  # its buttons are seen, and the row of its title is shorter
    picture = saved(tab, "second", tab.locator(".st-key-chart-second [data-title='Save as SVG']"))
    assert "what followed" in picture and "step 300" in picture
    assert saved(tab, "second", tab.locator(".st-key-chart-second [data-title='Save as PNG']"))
    assert visited == []  # and opens nothing
    point(tab, "second", 6, 3)
    tab.mouse.down()
    tab.mouse.up()
    tab.wait_for_url("**cell=second*")
    assert cell_of(tab) == "second:7:4" and "drawer=Numbers" in tab.url  # at once: Back undoes both
    expect(tab.locator(".st-key-one-number h3")).to_contain_text("7 't' attends to 4 's'")
    tab.mouse.move(5, 5)
    until(lambda: outlined(tab, "w_k1") == [6], "the cell of the link stays outlined")
    tab.get_by_text("The numbers behind every panel").click()
    table = saved(tab, "second", tab.get_by_role("button", name="Table (csv)").first)
    assert table.splitlines()[0].startswith(
        '"query / attended to (right: predicted)","1 \'h\'","2 \'o\'"'
    )
    tab.get_by_role("link", name="Claims").click()
    expect(tab.locator(".icl-links")).to_have_count(0)


@pytest.mark.long
def test_the_keyboard_reaches_every_cell(page_at: Window) -> None:
    tab = page_at("/birth?drawer=Numbers&cell=w_k2:2:3")
    title = tab.locator(".st-key-one-number h3")
    before = title.inner_text()
    field(tab, "Row").press("ArrowUp")
    field(tab, "Row").press("Enter")
    reached(tab, "**cell=w_k2*3*3*")
    expect(title).not_to_have_text(before)
    until(lambda: outlined(settled(tab), "w_k2") == [2], "the row that was chosen is outlined")
    assert cell_of(tab) == "w_k2:3:3"
    tab.get_by_role("button", name="⋯").click()
    expect(tab.locator("code.link")).to_contain_text("cell=w_k2:3:3")  # what is shared
    tab.go_back()
    expect(title).to_have_text(before)


@pytest.mark.long
def test_a_touch_outlines_nothing_until_it_taps(server: str, window: Window) -> None:
    tab = go(window(has_touch=True), f"{server}/gdssm")
    expect(tab.locator(".headline")).to_contain_text(".")  # now it hears taps
    tab.touchscreen.tap(*place(tab, "state", 1, 2))
    reached(tab, "**cell=state*")
    assert cell_of(tab) == "state:2:3"
    title = tab.locator(".st-key-one-number h3")
    expect(title).to_contain_text("State after 10 pairs, row 2, column 3")


@pytest.mark.long
def test_cells_are_kept_side_by_side_and_in_the_link(window: Window, page_at: Window) -> None:
    tab = page_at("/birth?drawer=Numbers&cell=w_k2:2:3")
    first = tab.locator(".st-key-one-number h3").first.inner_text()
    tab.get_by_role("button", name="Keep it, to compare").click()
    reached(tab, "**kept=w_k2*2*3*")
    field(tab, "Row").press("ArrowUp")
    field(tab, "Row").press("Enter")
    reached(tab, "**cell=w_k2*3*3*")
    expect(tab.locator(".st-key-kept-0 h3")).to_have_text(first)
    tab.get_by_role("button", name="Keep it, to compare").click()
    expect(tab.locator(".st-key-kept-1 h3")).to_be_visible()
    other = go(window(), tab.url)
    expect(other.locator(".st-key-kept-0 h3")).to_have_text(first)
    other.locator(".st-key-kept-0").get_by_role("button", name="Let it go").click()
    expect(other.locator(".st-key-kept-1 h3")).to_have_count(0)
    bad = page_at("/birth?drawer=Numbers&kept=w_k2:2:3,w_k2:0:1")
    expect(bad.get_by_text("kept must be a row from 1 to")).to_be_visible()


@pytest.mark.long
def test_a_click_on_the_map_of_a_language_model_shows_the_head(page_at: Window) -> None:
    tab = page_at("/birth?experiment=pretrained&preset=planted&drawer=Your+own+text")
    tab.mouse.click(*place(tab, "heads", 0, 1))
    title = tab.locator(".st-key-seat-one h3")
    expect(title).to_have_text("Head 1.2 finds the previous token")
    assert parse_qs(urlsplit(tab.url).query)["shown"] == ["1.2"]
    assert cell_of(tab) == ""  # no number is explained there
    expect(tab.locator(".st-key-drawer .st-key-panel-half-own_one h3")).to_contain_text("Head 3.3")
    chart = tab.locator(".st-key-panel-half-own_heads .nsewdrag").first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box is not None
    chart.click(position={"x": box["width"] / 8, "y": box["height"] / 6})  # 1.1 of 3 by 4
    expect(tab.locator(".st-key-drawer .st-key-panel-half-own_one h3")).to_contain_text("Head 1.1")

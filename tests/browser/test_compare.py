"""Two runs under one clock, from a stage in two clicks."""

from collections.abc import Callable

from driver import drag, go, let_go, reached, together
from playwright.sync_api import Page, expect

Window = Callable[..., Page]
SCALES = """() => [...document.querySelectorAll('[class*="minus"] .js-plotly-plot')]
    .map(plot => plot.layout.coloraxis.cmax)"""


def test_two_clicks_from_a_stage_compare_and_one_clock_moves_both(
    server: str, window: Window
) -> None:
    tab = go(window(), f"{server}/birth?preset=random 1")
    tab.get_by_role("button", name="Compare …").click()
    tab.get_by_role("link", name="K = 5 instead of 1", exact=True).click()
    reached(tab, lambda address: "/compare?" in address)
    expect(tab.get_by_role("row", name="triggers per sequence, K 1 5")).to_be_visible()
    last = together(tab)
    scales = tab.evaluate(SCALES)
    drag(tab, 3)
    assert together(tab, 3) < last
    let_go(tab)
    reached(tab, lambda address: "step=" in address)
    assert tab.evaluate(SCALES) == scales
    drag(tab, last)
    assert together(tab, last) == last

"""Two runs under one clock, from a stage in two clicks."""

from collections.abc import Callable

from conftest import until
from driver import drag, go, let_go, reached
from playwright.sync_api import Page, expect

Window = Callable[..., Page]
SCALES = """() => [...document.querySelectorAll('[class*="minus"] .js-plotly-plot')]
    .map(plot => plot.layout.coloraxis.cmax)"""
# the snapshots of the charts in sight, which alone move
IN_SIGHT = """() => [...document.querySelectorAll('[class*="st-key-chart-"] .js-plotly-plot')]
    .filter(plot => plot.getBoundingClientRect().top < innerHeight)
    .map(plot => plot.layout.meta.snapshot)"""


def moved(tab: Page, place: int) -> None:
    """Drag the clock to a place; wait until both runs and their difference are there."""
    drag(tab, place)
    until(lambda: set(tab.evaluate(IN_SIGHT)) == {place}, "what is in sight shows the place")
    assert len(tab.evaluate(IN_SIGHT)) == 5  # two of curves, two runs, their difference


def test_two_clicks_from_a_stage_compare_and_one_clock_moves_both(
    server: str, window: Window
) -> None:
    tab = go(window(), f"{server}/memformers?experiment=convergence")
    tab.get_by_role("button", name="Compare …").click()
    tab.get_by_test_id("stPopoverBody").get_by_role("link").first.click()
    reached(tab, lambda address: "/compare?" in address)
    expect(tab.locator(".compared strong").first).to_be_visible()  # a setting that differs
    scales = tab.evaluate(SCALES)
    assert len(scales) == 1
    moved(tab, 3)
    let_go(tab)
    reached(tab, lambda address: "step=" in address)
    moved(tab, 20)
    assert tab.evaluate(SCALES) == scales

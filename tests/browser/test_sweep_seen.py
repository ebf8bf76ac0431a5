"""A sweep is chosen, trained and seen on its map as it comes; a click on a run puts it on the
stage."""

from collections.abc import Callable

import pytest
from driver import go, reached, settled
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.long

PLACE = """index => {
    const plot = document.querySelector('.st-key-panel-half-sweep .js-plotly-plot');
    const box = plot.getBoundingClientRect(), { xaxis, yaxis } = plot._fullLayout;
    const runs = plot._fullData.find(trace => trace.name === 'runs');
    const at = [...runs.customdata].indexOf(index);
    return [box.left + xaxis._offset + xaxis.l2p(runs.x[at]),
      box.top + yaxis._offset + yaxis.l2p(runs.y[at])];
}"""


def test_a_sweep_is_trained_seen_and_opened(server: str, window: Callable[..., Page]) -> None:
    tab = go(window(), f"{server}/toy?steps=200&drawer=Sweep&sweep=d=2,3;rate=0.1,10")
    tab.get_by_role("button", name="Train 4 runs · about").click()
    expect(tab.get_by_text("2 runs are ready, 2 failed.")).to_be_visible()
    values = tab.get_by_label("Values, from 1 to 64")
    values.fill("2, 3, 65")
    values.press("Enter")
    expect(tab.get_by_text("d must be a whole number from 1 to 64, got 65.")).to_be_visible()
    values.fill("2, 3, 5")
    values.press("Enter")
    expect(tab.get_by_role("button", name="Train 2 runs")).to_be_visible()
    settled(go(tab, tab.url))  # the sweep is in the address
    chart = tab.locator(".st-key-panel-half-sweep .js-plotly-plot")
    chart.scroll_into_view_if_needed()
    tab.wait_for_timeout(500)
    tab.mouse.click(*tab.evaluate(PLACE, 2))  # d = 3 at the lower rate
    reached(tab, "**d=3**")
    expect(tab.get_by_text("Trained here: about")).to_be_visible()
    keyboard = tab.get_by_role("combobox", name="Show this run above")
    expect(keyboard).to_have_value("inputs d = 3, step size η = 0.1")

"""The charts of the stage stay where a slider leads to another run: they show it as a page opened
there does."""

from collections.abc import Callable
from typing import Any

from conftest import until
from driver import go, settled
from playwright.sync_api import Page

Window = Callable[..., Page]
HERE = "/gdssm?experiment=layer&layers=2"

CHARTS = """() =>
  [...document.querySelectorAll('[class*=st-key-chart-] .js-plotly-plot')].map(plot => {
    const {film, snapshot} = plot.layout?.meta ?? {}, full = plot._fullLayout ?? {};
    const axes = Object.entries(full).filter(([name]) => /^[xy]axis[0-9]*$/.test(name));
    const ends = ({range}) => range.map(end => Number(end).toFixed(6));
    const ticks = axes.map(([name, axis]) => [name, plot.layout[name]?.ticktext, ends(axis)]);
    return {film, snapshot, isMarked: Boolean(plot.iclMine), data: JSON.stringify(plot.data),
      axes: JSON.stringify(ticks),
      name: plot.closest('[data-testid=stPlotlyChart]').ariaLabel,
      title: plot.closest('[class*=st-key-seat-]').querySelector('[data-title]').textContent,
        texts: JSON.stringify((plot.layout?.annotations ?? []).map(({text}) => text))}; })"""


def with_charts(tab: Page) -> Page:
    """Return the page once its charts are drawn."""
    tab.locator(".headline").filter(has_text=".").wait_for()
    return settled(tab)


def charts(tab: Page) -> list[dict[str, Any]]:
    """The charts, once a screen reader calls each by the finding that its title tells."""

    def named() -> bool:
        return all(chart["name"] == chart["title"] != "" for chart in tab.evaluate(CHARTS))

    until(named, "every figure is named by its finding")
    return tab.evaluate(CHARTS)


def test_charts_stay_and_show_the_other_run_as_a_fresh_page_does(
    server: str, window: Window
) -> None:
    tab = with_charts(go(window(), server + HERE))
    before = charts(tab)
    assert len(before) > 2 and not any(chart["isMarked"] for chart in before)
    plots = "document.querySelectorAll('.js-plotly-plot')"
    tab.evaluate(f"() => {plots}.forEach(plot => {{ plot.iclMine = true; }})")
    tab.get_by_role("slider", name="layers").first.press("ArrowRight")

    def others() -> int:
        pairs = zip(charts(tab), before, strict=True)
        return sum(after["film"] != chart["film"] for after, chart in pairs)

    until(lambda: others() == len(before), "every chart shows another run")
    moved = charts(settled(tab))
    fresh = charts(with_charts(go(window(), tab.url)))
    assert all(chart["isMarked"] for chart in moved)
    assert not any(chart["isMarked"] for chart in fresh)
    for computed, expected in zip(moved, fresh, strict=True):
        assert computed | {"isMarked": True} == expected | {"isMarked": True}

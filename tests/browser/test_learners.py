"""The page across the papers: a pair of the prompt that is dragged, and pairs that are typed."""

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from conftest import until
from driver import reached
from playwright.sync_api import Page, expect

Window = Callable[..., Page]
# Where the pairs of the chart that can be dragged are on the screen.
PLACES = """() => {
    const chart = [...document.querySelectorAll('.js-plotly-plot')].find(
        (chart) => chart.layout?.meta?.drag && chart.calcdata);
    if (!chart) return [];
    const {xaxis, yaxis} = chart._fullLayout;
    const box = chart.getBoundingClientRect();
    return chart.calcdata[0].map((point) => [
        box.left + xaxis._offset + xaxis.l2p(point.x),
        box.top + yaxis._offset + yaxis.l2p(point.y)]);
}"""

TO_SIGHT = """() => [...document.querySelectorAll('.js-plotly-plot')]
    .find((chart) => chart.layout?.meta?.drag).scrollIntoView({block: 'center'})"""
HEIGHT = 700  # pixels that every window has


def pairs_of(address: str) -> list[list[float]]:
    """The pairs in an address, each as the numbers x₁, x₂ and y."""
    text = parse_qs(urlsplit(address).query)["points"][0]
    return [[float(part) for part in pair.replace(":", "").split()] for pair in text.split(";")]


@pytest.mark.long
@pytest.mark.parametrize("experiment", ["prompt", "trained"])
def test_a_pair_that_is_dragged_moves_alone_and_its_label_with_it(
    page_at: Window, experiment: str
) -> None:
    drawer = "&drawer=Your%20own%20pairs" if experiment == "trained" else ""
    tab = page_at(f"/learners?experiment={experiment}{drawer}")
    tab.wait_for_function(f"({PLACES})().length === 10")
    tab.evaluate(TO_SIGHT)
    until(lambda: 0 < tab.evaluate(PLACES)[4][1] < HEIGHT, "the chart is in sight")
    x, y = tab.evaluate(PLACES)[4]
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + 40, y - 30, steps=4)
    tab.mouse.up()
    reached(tab, "**points=*")
    first = pairs_of(tab.url)
    assert len(first) == 10
    until(lambda: tab.evaluate(PLACES)[4] != [x, y], "the chart has the pair where it was let go")
    # Let go somewhere else, all other pairs stay.
    x, y = tab.evaluate(PLACES)[4]
    before = tab.url
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + 25, y, steps=4)
    tab.mouse.up()
    reached(tab, lambda address: address != before)
    second = pairs_of(tab.url)
    assert first[:4] + first[5:] == second[:4] + second[5:]
    assert second[4][0] > first[4][0]
    assert abs(second[4][1] - first[4][1]) < 0.1
    assert second[4][2] != first[4][2]
    expect(tab.get_by_test_id("stException")).to_have_count(0)


@pytest.mark.long
def test_of_five_features_two_are_dragged_and_three_stay(page_at: Window) -> None:
    address = "/learners?experiment=trained&preset=five%20features"
    tab = page_at(f"{address}&drawer=Your%20own%20pairs")
    tab.wait_for_function(f"({PLACES})().length === 10")
    tab.evaluate(TO_SIGHT)
    until(lambda: 0 < tab.evaluate(PLACES)[4][1] < HEIGHT, "the chart is in sight")
    charts = "[...document.querySelectorAll('.js-plotly-plot')]"
    rest = tab.evaluate(f"{charts}.find((chart) => chart.layout?.meta?.drag).layout.meta.drag.rest")
    x, y = tab.evaluate(PLACES)[4]
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + 40, y - 30, steps=4)
    tab.mouse.up()
    reached(tab, "**points=*")
    for pair, features in zip(pairs_of(tab.url), rest, strict=True):
        assert pair[2:5] == pytest.approx(features, abs=1e-3)
    until(lambda: tab.evaluate(PLACES)[4] != [x, y], "the chart has the pair where it was let go")
    expect(tab.get_by_test_id("stException")).to_have_count(0)


@pytest.mark.long
def test_a_click_beside_a_pair_changes_nothing(page_at: Window) -> None:
    tab = page_at("/learners")
    tab.wait_for_function(f"({PLACES})().length === 10")
    places = tab.evaluate(PLACES)
    x = max(across for across, _ in places) + 40
    y = max(up for _, up in places) + 30
    before = tab.url
    tab.mouse.click(x, y)
    tab.mouse.click(*places[0])  # nor does one on it
    tab.wait_for_function(f"({PLACES})().length === 10")
    assert tab.url == before


@pytest.mark.long
def test_pairs_that_are_wrong_get_a_sentence_and_the_last_ones_stay(page_at: Window) -> None:
    tab = page_at("/learners?points=1%202")
    expect(tab.get_by_text("your own pairs must be like '0.5 1: 2; -0.8 0: -1.4'")).to_be_visible()
    tab.wait_for_function(f"({PLACES})().length === 10")

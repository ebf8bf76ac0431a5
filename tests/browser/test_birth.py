"""The page of Birth of a Transformer on its shipped runs."""

from collections.abc import Callable
from urllib.parse import quote

import pytest
from conftest import until
from driver import reached
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.long

Window = Callable[..., Page]
SENTENCE = "the cat sat on the mat and the cat sat on it."
# the pixels of a cell of a map
CELL = """name => {
    const plot = document.querySelector(`.st-key-chart-${name} .js-plotly-plot`);
    const axis = plot?._fullLayout?.yaxis;
    return axis && plot.data[0].y.length === 45 ? axis._length / 45 : 0;
}"""


def type_sequence(page: Page, text: str) -> None:
    """Write `text` into the drawer's field."""
    field = page.locator(".st-key-drawer").get_by_role("textbox", name="sequence (empty")
    field.fill(text)
    field.press("Enter")


def test_a_typed_sequence_is_shown_and_a_foreign_character_is_named(page_at: Window) -> None:
    tab = page_at(f"/birth?drawer={quote('Your own sequence')}")
    panel = tab.locator(".st-key-drawer")
    title = panel.get_by_role("heading", level=3).first
    expect(title).to_contain_text("predictions are right")
    sampled = title.inner_text()
    type_sequence(tab, "abcdefg")
    expect(title).to_contain_text("no trigger comes twice here")
    type_sequence(tab, "to be or not to be")
    expect(title).to_contain_text("predictions are right")
    assert title.inner_text() != sampled
    type_sequence(tab, "naïve")
    problem = panel.get_by_text("the sequence must be made of the vocabulary's").first
    expect(problem).to_contain_text("got 'ï'")
    expect(tab.get_by_test_id("stException")).to_have_count(0)
    _the_stage_reads_what_is_typed_above_it(tab)


def _the_stage_reads_what_is_typed_above_it(tab: Page) -> None:
    """In a field in sight; a long text has cells that can be seen, and an empty one none."""
    field = tab.locator(".st-key-typed").get_by_role("textbox")
    expect(field).to_have_value("naïve")
    field.fill(SENTENCE)
    field.press("Enter")
    expect(tab.locator("[data-title=second]")).to_contain_text(" of 32")
    until(lambda: tab.evaluate(CELL, "second") >= 8, "a cell has eight pixels")
    outlines = tab.locator(".st-key-chart-second .shapelayer path").first
    assert float(outlines.evaluate("path => parseFloat(getComputedStyle(path).strokeWidth)")) <= 2
    field.fill("")
    field.press("Enter")
    reached(tab, lambda url: "sequence=the" not in url)
    expect(field).to_have_value("hotshots")
    expect(tab.locator("[data-title=second]")).to_contain_text("4 of 4")
    assert field.evaluate("field => field.getBoundingClientRect().bottom") < 260

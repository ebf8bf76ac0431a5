"""A class that trains by turns in the browser: phones draw settings, and the sweep's map fills."""

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from driver import go, settled
from playwright.sync_api import Page, expect
from test_class_answers import CHOICES, PHONE, end, phones, press

__all__ = ["phones"]  # a fixture

OUTLINED = """() => document.querySelector('.st-key-panel-half-sweep .js-plotly-plot')
    ._fullData.find(trace => trace.name === 'marked')?.x.filter(x => x === null).length"""
FILLED = """() => document.querySelector('.st-key-panel-half-sweep .js-plotly-plot')
    ._fullData.find(trace => trace.type === 'heatmap')?.z.flatMap(row => [...row])
    .filter(Number.isFinite).length"""


def drawn(phone: Page) -> str:
    """The phone's own setting, in plain blanks."""
    expect(phone.get_by_role("heading")).to_have_text("Your setting")
    return phone.locator("#own").inner_text().replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.long
def test_phones_draw_settings_and_the_map_fills(
    server: str, window: Callable[..., Page], phones: list[Page]
) -> None:
    link = f"{server}/toy?steps=2000&at_once=false&drawer=Sweep&sweep=d=6,7;rate=0.002,10"
    tab = go(window(), link)
    press(tab, "With the class")
    code = tab.locator(".class-place b").inner_text()
    settled(tab)  # the drawer has its new place below the panel
    expect(tab.locator(".st-key-panel-half-sweep")).to_contain_text(f"Class {code} at localhost")
    pair = phones[:2]
    for phone in pair:
        phone.goto(f"{server}/join?code={code}")
        button = phone.get_by_role("button", name="Draw my setting")
        expect(button).to_be_visible()
        box = button.bounding_box()
        assert box and box["height"] >= 48 and box["y"] > PHONE["height"] / 2
        assert Axe().run(phone).response["violations"] == []
        button.tap()
    own = [drawn(phone) for phone in pair]
    rates = (0.002, 10)
    grid = {f"inputs d = {d}, step size η = {rate}": rate for d in (6, 7) for rate in rates}
    assert len(set(own)) == 2 and set(own) <= grid.keys()
    pair[0].reload()
    assert drawn(pair[0]) == own[0]
    for phone, setting in zip(pair, own, strict=True):
        said = phone.get_by_role("status")
        if grid[setting] == 10:
            expect(said).to_contain_text("It failed: it diverged at step")
        else:
            expect(said).to_contain_text("Teacher found: ")
            assert 0 < float(phone.locator("#large").inner_text()) <= 1
        assert phone.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        assert Axe().run(phone).response["violations"] == []
    done = sum(grid[setting] != 10 for setting in own)
    tab.wait_for_function(f"({OUTLINED})() === 2 && ({FILLED})() === {done}")
    expect(tab.get_by_role("button", name="Train 2 runs")).to_be_visible()  # the rest
    expect(tab.locator(".st-key-class")).to_contain_text("2 of 4 settings are drawn")
    settled(tab)
    assert Axe().run(tab).response["violations"] == []
    go(tab, f"{server}/birth?beat=output")
    press(tab, "With the class")  # a question takes the place of the draw
    for phone in pair:
        expect(phone.locator(CHOICES)).to_have_count(3)
        expect(phone.locator(CHOICES).first).to_be_visible()
        expect(phone.locator("#own")).to_be_hidden()
    go(tab, link)
    press(tab, "With the class")
    for phone, setting in zip(pair, own, strict=True):
        assert drawn(phone) == setting  # and gives it back
        expect(phone.locator("#choices")).to_be_hidden()
    end(tab, phones)
    tab.wait_for_function(f"({OUTLINED})() === undefined")


@pytest.mark.long
def test_a_class_begins_while_the_sweep_trains(
    server: str, window: Callable[..., Page], phones: list[Page]
) -> None:
    tab = go(window(), f"{server}/toy?steps=100000&at_once=false&drawer=Sweep&sweep=d=8,9")
    tab.get_by_role("button", name="Train 2 runs").click()
    expect(tab.get_by_role("button", name="Cancel", exact=True)).to_be_visible()
    press(tab, "With the class")
    expect(tab.locator(".st-key-class")).to_contain_text("0 of 2 settings are drawn")
    end(tab, phones)
    tab.locator(".st-key-cancel-sweep button").last.click()
    expect(tab.get_by_role("button", name="Train 2 runs")).to_be_visible()

"""The front page in a browser: what stands in its first screen, and the film that plays
by itself."""

from collections.abc import Callable

import pytest
from driver import go
from playwright.sync_api import Page, expect
from wire import Wire

Window = Callable[..., Page]
SHOWN = """() => [...document.querySelectorAll('[class*="st-key-seat-"] .js-plotly-plot')]
    .map(plot => plot.layout.meta?.snapshot)"""
TOPS = "boxes => boxes.map(box => box.getBoundingClientRect()).map(box => [box.top, box.bottom])"


def test_the_film_stands_in_the_first_screen_and_the_doors_begin(
    server: str, window: Window
) -> None:
    tab = go(window(), server)
    film = tab.locator('[class*="st-key-chart-"]').evaluate_all(TOPS)
    doors = tab.locator('[class*="st-key-card-"]').evaluate_all(TOPS)
    assert len(film) == 2 and max(bottom for _, bottom in film) < 900
    first = doors[:3]  # the throw-away paper's stands below
    assert max(top for top, _ in first) < 700
    assert max(bottom for _, bottom in film) <= min(top for top, _ in first)
    assert len({tuple(door) for door in first}) == 1  # side by side, equally high
    expect(tab.locator(".bars li")).to_have_count(len(doors))


def test_it_stands_still_for_a_visitor_who_wants_no_motion(server: str, window: Window) -> None:
    tab = window()  # which asks for none
    wire = Wire(tab)
    go(tab, server)
    slider = tab.get_by_role("slider", name="training step shown")
    expect(tab.locator(".headline")).to_contain_text("Step")
    last = tab.evaluate("() => document.querySelector('.clock input').max")
    expect(slider).to_have_value(str(last))
    expect(tab.get_by_role("button", name="Play")).to_be_visible()
    for key, place in (("Home", "0"), ("ArrowRight", "1"), ("ArrowRight", "2")):
        wire.hold()
        slider.press(key)
        wire.ran(1)
        wire.free()
        expect(slider).to_have_value(place)  # also once the server has answered to the key before
        tab.wait_for_function(f"({SHOWN})().every(snapshot => snapshot === {place})")


@pytest.mark.long
def test_it_plays_by_itself_once(server: str, window: Window) -> None:
    tab = window()
    tab.emulate_media(reduced_motion="no-preference")
    go(tab, server)
    expect(tab.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    last = int(tab.evaluate("() => document.querySelector('.clock input').max"))
    tab.wait_for_function(f"({SHOWN})().every(snapshot => snapshot > 0 && snapshot < {last})")
    # it has played to its end
    expect(tab.get_by_role("button", name="Play", exact=True)).to_be_visible()
    tab.wait_for_function(f"({SHOWN})().every(snapshot => snapshot === {last})")

"""A page far from its server: what is moved while the page is still being drawn stays moved."""

from collections.abc import Callable

import pytest
from driver import go, heading, more_settings, open_drawer, reached
from playwright.sync_api import Page, expect
from wire import Wire

pytestmark = pytest.mark.long


def test_what_is_moved_while_the_page_is_drawn_stays_moved(
    server: str, window: Callable[..., Page]
) -> None:
    tab = window()
    wire = Wire(tab)
    go(tab, f"{server}/birth?drawer=Graft")
    more_settings(tab)
    whole = tab.get_by_text("Train automatically")  # a move that runs the whole page
    wire.hold()
    whole.click()
    wire.ran(1)
    # a move in its address of before
    tab.locator(".st-key-drawer").get_by_role("radio", name="zero").nth(2).click()
    wire.ran(2)
    wire.let_through(1)
    whole.click()
    wire.ran(2)
    wire.free()
    reached(tab, lambda address: "graft_W_O2=zero" in address and "at_once" not in address)
    heading(tab, "W_O² → zero: accuracy").wait_for()


def test_what_is_drawn_anew_shows_what_was_chosen(server: str, window: Callable[..., Page]) -> None:
    """Widgets whose place was folded up while the page ran: a browser begins them again."""
    tab = go(window(), f"{server}/birth?drawer=Sweep")
    number = tab.get_by_role("combobox", name="Number shown")
    drawers = tab.locator(".st-key-drawers")
    number.scroll_into_view_if_needed()
    number.click()
    tab.get_by_role("option").nth(1).click()
    reached(tab, "**metric=*")
    chosen = number.input_value()
    drawers.get_by_role("radio", name="Sweep").click()
    expect(number).to_have_count(0)
    open_drawer(tab, "Sweep")
    expect(number).to_have_value(chosen)
    go(tab, f"{tab.url}&projector=1").keyboard.press("m")
    more_settings(tab)
    tab.get_by_text("Train automatically").click()
    reached(tab, "**at_once=false*")
    expect(tab.locator(".room .projector")).to_have_attribute("aria-pressed", "true")
    drawers.get_by_role("radio", name="Why").click()
    fields = ("drawer=Why", "metric=", "projector=1")
    reached(tab, lambda address: all(field in address for field in fields))

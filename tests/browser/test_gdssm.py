"""The page of GD-SSM on its shipped runs: what moves, and what is typed and refused."""

from collections.abc import Callable
from urllib.parse import quote

import pytest
from conftest import until
from driver import go, reached, train
from playwright.sync_api import Locator, Page, expect

Window = Callable[..., Page]
BESIDE = quote("Trained beside constructed")
POINTS = "points must be pairs x:y of numbers, as 0.5:1, got"


def quiet(tab: Page) -> None:
    """Nothing broke, and the figures stand at full strength."""
    expect(tab.get_by_test_id("stException")).to_have_count(0)
    expect(tab.locator(".st-key-current .js-plotly-plot .main-svg").first).to_be_visible()


@pytest.mark.long
def test_one_feature_and_one_pair_train_and_draw(page_at: Window) -> None:
    tab = page_at(f"/gdssm?f=1&N=1&batch=16&steps=10&at_once=false&drawer={BESIDE}")
    train(tab)
    expect(tab.get_by_text("Trained here: about")).to_be_visible()
    expect(tab.get_by_role("heading", name="After 1 of 1 pairs")).to_be_visible()
    expect(tab.get_by_role("slider", name="prompt")).to_have_count(1)
    # one pair leaves nothing to choose
    expect(tab.get_by_role("slider", name="pairs read")).to_have_count(0)
    quiet(tab)


@pytest.mark.long
def test_on_a_phone_a_row_of_maps_on_the_stage_scrolls_instead_of_shrinking(
    server: str, window: Window
) -> None:
    seat = go(window(390), f"{server}/gdssm").locator('[class*="st-key-seat-wide-"]')
    width = "seat => seat.querySelector('.main-svg').getBoundingClientRect().width"
    until(lambda: seat.evaluate(width) >= 840, "the maps have the room that they need")
    assert seat.evaluate("seat => seat.clientWidth") < 390
    seat.evaluate("seat => seat.scrollBy(9999, 0)")
    assert seat.evaluate("seat => seat.scrollLeft") > 400
    expect(seat.get_by_role("heading")).to_be_visible()


@pytest.mark.long
def test_pairs_read_end_at_the_prompts_last(page_at: Window) -> None:
    tab = page_at(f"/gdssm?token=99&drawer={BESIDE}")
    slider = tab.get_by_role("slider", name="pairs read")
    expect(slider).to_have_attribute("aria-valuetext", "10")
    slider.press("ArrowLeft")
    reached(tab, "**token=9*")
    expect(tab.get_by_role("heading", name="After 9 of 10 pairs")).to_be_visible()
    expect(tab.get_by_role("heading", name="after 9 pairs")).to_be_visible()  # and on the stage
    slider.press("ArrowRight")
    reached(tab, lambda address: "token" not in address)


def enter(field: Locator, text: str) -> None:
    """Write `text` into a field and leave it."""
    field.fill(text)
    field.press("Enter")


@pytest.mark.long
def test_points_that_are_none_are_named_beside_their_field(page_at: Window) -> None:
    tab = page_at(f"/gdssm?preset={quote('one feature')}&drawer={quote('Your own points')}")
    panel = tab.locator(".st-key-drawer")
    field = panel.get_by_role("textbox", name="points x:y")
    title = panel.get_by_role("heading", level=3)
    enter(field, "1:2, -1:-2")
    expect(title).to_contain_text("least squares 2.00")
    for text, message in (
        ("a:b", f"{POINTS} 'a:b'"),
        ("1:2, 99:1", "points must have x from -10 to 10"),
        ("", "points must be 1 to 40 pairs x:y, got 0"),
        ("1:", f"{POINTS} '1:'"),
    ):
        enter(field, text)
        expect(panel.get_by_text(message)).to_be_visible()
        expect(field).to_have_value(text)
        expect(panel.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    enter(field, "1:3")
    expect(title).to_contain_text("least squares 3.00")
    expect(panel.get_by_test_id("stAlert")).to_have_count(0)
    quiet(tab)


@pytest.mark.long
def test_sizes_that_are_none_are_named_and_the_figures_stay(page_at: Window) -> None:
    tab = page_at("/gdssm?experiment=sizes")
    field = tab.get_by_role("textbox", name="context pairs N")
    for text, piece in (("0, -3", "0"), ("x", "x")):
        enter(field, text)
        message = f"pairs must be whole numbers from 1 to 80, got '{piece}'"
        expect(tab.get_by_text(message)).to_be_visible()
        expect(field).to_have_value(text)
        quiet(tab)

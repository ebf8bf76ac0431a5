"""The page of GD-SSM on its shipped runs: every experiment draws; what the core refuses is named and loses nothing."""

from collections.abc import Callable
from urllib.parse import quote

import pytest
from driver import go, heading, train, watch, watched
from playwright.sync_api import Locator, Page, expect

from icl_core.papers.gdssm.settings import Config

Window = Callable[..., Page]
DRAWN = {"layer": 8, "sizes": 4, "corrections": 3, "nonlinear": 5, "comparison": 4}  # panels at least
POINTS = "points must be pairs x:y of numbers, as 0.5:1, got"


def quiet(tab: Page) -> None:
    """Nothing broke, and the figures stand at full strength."""
    expect(tab.get_by_test_id("stException")).to_have_count(0)
    expect(tab.locator(".st-key-current .js-plotly-plot .main-svg").first).to_be_visible()


@pytest.mark.parametrize("experiment", DRAWN)
def test_every_experiment_draws_all_its_panels(server: str, window: Window, experiment: str) -> None:
    tab = go(window(), f"{server}/gdssm?experiment={experiment}")
    expect(tab.locator(".headline")).to_contain_text(".")
    panels = tab.locator("[class*=st-key-panel-]")
    expect(panels.nth(DRAWN[experiment] - 1)).to_be_visible()
    quiet(tab)
    assert "nan" not in tab.get_by_test_id("stMain").inner_text().lower().split()


def test_one_feature_and_one_pair_train_and_draw(server: str, window: Window) -> None:
    tab = go(window(), f"{server}/gdssm?f=1&N=1&batch=16&steps=10")
    train(tab)
    expect(tab.get_by_text("Trained here: about")).to_be_visible()
    expect(tab.get_by_role("heading", name="After 1 of 1 pairs")).to_be_visible()
    expect(tab.get_by_role("slider", name="prompt")).to_have_count(1)
    expect(tab.get_by_role("slider", name="pairs read")).to_have_count(0)  # one pair leaves nothing to choose
    quiet(tab)


def test_pairs_read_end_at_the_prompts_last(server: str, window: Window) -> None:
    tab = go(window(), f"{server}/gdssm?token=99")
    slider = tab.get_by_role("slider", name="pairs read")
    expect(slider).to_have_attribute("aria-valuetext", "10")
    slider.press("ArrowLeft")
    tab.wait_for_url("**/gdssm?token=9")
    expect(tab.get_by_role("heading", name="After 9 of 10 pairs")).to_be_visible()
    slider.press("ArrowRight")
    tab.wait_for_url("**/gdssm")


def test_play_shows_every_step_in_order(server: str, window: Window) -> None:
    tab = go(window(), f"{server}/gdssm?moment=8")
    watch(tab, "Step ")
    tab.get_by_role("button", name="Play").click()
    expect(tab.get_by_role("button", name="Pause")).to_be_visible()
    tab.wait_for_url("**/gdssm")  # the last step is the page's own
    expect(heading(tab, f"Step {Config().steps}: weights")).to_be_visible()
    steps = [int(title.split()[1].rstrip(":")) for title in watched(tab)]
    assert len(steps) == 4 and steps == sorted(set(steps)), steps


@pytest.mark.parametrize(
    "address, said",
    [
        (
            "token=3&N=0&f=99&r=nan&seed_shown=9&points=" + quote("1e400:1"),
            (
                "N must be a whole number from 1 to 100, got 0",
                "f must be a whole number from 1 to 40, got 99",
                "r must be a number from 0.1 to 4.0, got nan",
                "seed_shown must be a whole number from 1 to 5, got 9",
                f"{POINTS} '1e400:1'",
            ),
        ),
        (
            "token=3&preset=1-D&layers=3&r=9",
            ("layers must be 1 in the 1-D model, got 3", "r must be a number from 0.1"),
        ),
        ("experiment=corrections&times=9&r=0", ("times must be a number from 0.0 to 3.0, got 9", "r must be a number")),
        ("experiment=sizes&pairs=" + quote("0, -3"), ("pairs must be whole numbers from 1 to 80, got '0'",)),
    ],
    ids=["many at once", "a model that is none", "corrections", "sizes"],
)
def test_a_link_out_of_range_is_named_once_and_all_else_is_kept(
    server: str, window: Window, address: str, said: tuple[str, ...]
) -> None:
    tab = go(window(), f"{server}/gdssm?{address}")
    quiet(tab)
    for message in said:
        expect(tab.get_by_text(message)).to_have_count(1)
    if "token=3" in address:  # what is right in the link is shown all the same
        expect(tab.get_by_role("heading", name="After 3 of 10 pairs")).to_be_visible()


def typed(field: Locator, text: str) -> None:
    """Write `text` into a field and leave it."""
    field.fill(text)
    field.press("Enter")


def test_points_that_are_none_are_named_beside_their_field(server: str, window: Window) -> None:
    tab = go(window(), f"{server}/gdssm?preset={quote('one feature')}")
    panel = tab.locator(".st-key-panel-half-prompt")
    field, title = panel.get_by_role("textbox", name="points x:y"), panel.get_by_role("heading", level=3)
    typed(field, "1:2, -1:-2")
    expect(title).to_contain_text("least squares 2.00")
    for text, said in (
        ("a:b", f"{POINTS} 'a:b'"),
        ("1:2, 99:1", "points must have x from -10 to 10"),
        ("", "points must be 1 to 40 pairs x:y, got 0"),
        ("1:", f"{POINTS} '1:'"),
    ):
        typed(field, text)
        expect(panel.get_by_text(said)).to_be_visible()
        expect(field).to_have_value(text)
        expect(panel.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    typed(field, "1:3")
    expect(title).to_contain_text("least squares 3.00")
    expect(panel.get_by_test_id("stAlert")).to_have_count(0)
    quiet(tab)


def test_sizes_that_are_none_are_named_and_the_figures_stay(server: str, window: Window) -> None:
    tab = go(window(), f"{server}/gdssm?experiment=sizes")
    tab.get_by_test_id("stSidebar").get_by_text("the task").click()
    field = tab.get_by_role("textbox", name="context pairs N")
    for text, piece in (("0, -3", "0"), ("x", "x")):
        typed(field, text)
        expect(tab.get_by_text(f"pairs must be whole numbers from 1 to 80, got '{piece}'")).to_be_visible()
        expect(field).to_have_value(text)
        quiet(tab)

"""The page of Memformers on its shipped runs: every experiment draws, and settings that the core refuses are named."""

from collections.abc import Callable
from urllib.parse import quote

import pytest
from driver import go
from playwright.sync_api import Page, expect

Window = Callable[..., Page]
EXPERIMENTS = ("methods", "convergence", "variances", "mixture", "learned")


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_experiment_draws_all_its_panels(server: str, window: Window, experiment: str) -> None:
    tab = go(window(), f"{server}/memformers?experiment={experiment}")
    expect(tab.locator(".headline")).to_contain_text(".")
    panels = tab.locator("[class*=st-key-panel-]")
    expect(panels.first.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    assert panels.count() >= 3
    expect(tab.get_by_test_id("stException")).to_have_count(0)


def test_every_method_comes_with_one_click(server: str, window: Window) -> None:
    tab = go(window(), f"{server}/memformers")
    panel = tab.locator(".st-key-panel-wide-depth")
    legend = panel.locator(".legendtext")
    expect(legend.filter(has_text="Nesterov")).to_have_count(0)
    panel.get_by_text("every method").click()
    expect(legend.filter(has_text="Nesterov")).not_to_have_count(0)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("experiment=methods&spectrum=own&own=" + quote("1, 1, 0, 1, 1"), "an eigenvalue must not be zero"),
        ("experiment=methods&sigma2=0", "sigma2 must be a number from 0.01 to 100.0, got 0"),
        ("experiment=mixture&weights=" + quote("0.2, 0.3, 0.6"), "weights must sum to 1, got 1.1"),
    ],
)
def test_a_spectrum_or_mixture_that_is_none_is_refused_in_words(
    server: str, window: Window, address: str, said: str
) -> None:
    tab = go(window(), f"{server}/memformers?{address}")
    expect(tab.get_by_text(said)).to_be_visible()
    expect(tab.locator(".stPlotlyChart").first).to_be_visible()
    expect(tab.get_by_test_id("stException")).to_have_count(0)

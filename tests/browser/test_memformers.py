"""The page of Memformers on its shipped runs."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

Window = Callable[..., Page]


def test_every_method_comes_with_one_click(page_at: Window) -> None:
    tab = page_at("/memformers?drawer=Every+method")
    panel = tab.locator(".st-key-panel-wide-depth")
    legend = panel.locator(".legendtext")
    expect(legend.filter(has_text="Nesterov")).to_have_count(0)
    tab.locator(".st-key-drawer").get_by_text("every method", exact=True).click()
    expect(legend.filter(has_text="Nesterov")).not_to_have_count(0)

"""The stage's large panel: which one it is, and who makes another one large."""

from collections.abc import Callable

import pytest
from conftest import until
from driver import go
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.long


def title(tab: Page, name: str) -> Locator:
    return tab.locator(f'.seat-title [data-title="{name}"]')


def is_large(tab: Page, name: str) -> None:
    """Wait until a panel is the large one: its title is no button, all others are."""
    others = tab.locator(".seat-title h3 [role=button]")
    expect(title(tab, name)).not_to_have_attribute("role", "button")
    until(lambda: others.count() + 1 == tab.locator(".seat-title").count(), "one is large")


def test_keys_make_a_panel_large_and_play_nothing(server: str, window: Callable[..., Page]) -> None:
    tab = go(window(), f"{server}/gdssm?experiment=layer&step=0")
    is_large(tab, "training")
    clock = tab.get_by_role("slider", name="training step shown")
    for name, key in (("weights", "Enter"), ("state", "Space")):
        title(tab, name).focus()
        tab.keyboard.press(key)
        is_large(tab, name)
    assert clock.input_value() == "0"


def test_a_beat_makes_large_what_it_alone_speaks_of(
    server: str, window: Callable[..., Page]
) -> None:
    """Panels that a beat compares stay of one size, and who has chosen has chosen."""
    tab = go(window(), f"{server}/gdssm?experiment=layer&beat=before")
    is_large(tab, "training")
    go(tab, f"{server}/memformers?experiment=convergence&beat=steps")
    is_large(tab, "steps")
    title(tab, "identities").click()
    is_large(tab, "identities")

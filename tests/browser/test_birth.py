"""The page of Birth of a Transformer on its shipped runs."""

from collections.abc import Callable
from urllib.parse import quote

from driver import go
from playwright.sync_api import Page, expect

Window = Callable[..., Page]


def type_sequence(page: Page, text: str) -> None:
    """Write `text` into the drawer's field."""
    field = page.locator(".st-key-drawer").get_by_role("textbox", name="sequence (empty")
    field.fill(text)
    field.press("Enter")


def test_a_typed_sequence_is_shown_and_a_foreign_character_is_named(
    server: str, window: Window
) -> None:
    tab = go(window(), f"{server}/birth?drawer={quote('Your own sequence')}")
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
    expect(
        panel.get_by_text("the sequence must be made of the vocabulary's").first
    ).to_contain_text("got 'ï'")
    expect(tab.get_by_test_id("stException")).to_have_count(0)

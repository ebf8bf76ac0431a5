"""A text is pasted, told of, trained on and seen; a file that is no text changes nothing."""

from collections.abc import Callable

import pytest
from conftest import until
from driver import go, more_settings, reached, settled
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.long

TEXT = "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich, Straße für Straße.\n" * 20


def test_a_text_becomes_the_task(server: str, window: Callable[..., Page]) -> None:
    tab = go(window(), f"{server}/birth?T=32&d=16&batch=16&steps=10&layers=1")
    more_settings(tab)
    tab.get_by_test_id("stSidebar").get_by_text("The task", exact=True).click()
    tab.get_by_role("button", name="Text: Tiny Shakespeare").click()
    file = tab.get_by_test_id("stFileUploader").locator("input[type=file]")
    file.set_input_files({"name": "notes.txt", "mimeType": "text/plain", "buffer": b"abc\xe4def"})
    expect(tab.get_by_text("got the byte 0xE4 in line 1")).to_be_visible()
    tab.get_by_label("Paste a text").fill(TEXT)
    tab.get_by_label("Paste a text").press("Control+Enter")
    description = f"{len(TEXT):,} characters, {len(set(TEXT))} different. Most frequent: "
    expect(tab.get_by_text(description)).to_be_visible()
    use = tab.get_by_role("button", name="Use this text")

    def used() -> bool:  # by key, as the popover may stand partly outside the window; a key that
        # comes while the button is drawn anew is lost
        if use.is_visible():
            use.press("Enter")
        tab.wait_for_timeout(500)
        return "text=" in tab.url

    until(used, "the text is the task")
    reached(tab, f"**text=*N={len(set(TEXT))}*")
    tab.keyboard.press("Escape")
    expect(tab.get_by_text("Trained here: about")).to_be_visible()
    expect(tab.get_by_role("button", name="Text: your own")).to_be_visible()
    settled(tab)
    link = tab.url.replace("steps=10", "steps=10&drawer=Your own sequence&sequence=größer größer")
    panel = go(window(), link).locator('[class*="st-key-panel-wide-attention"]')
    expect(panel.locator(".xtick text", has_text="ö").first).to_be_visible()

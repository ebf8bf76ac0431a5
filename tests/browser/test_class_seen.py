"""Two visitors from outside, each in a browser of their own, and one run that both want."""

from collections.abc import Callable

import pytest
from driver import go, train
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.long

Window = Callable[..., Page]
SETTING = "toy?steps=1000000&seed=11&at_once=false"


def test_only_who_asked_may_cancel_and_it_goes_on_for_the_other(
    server: str, window: Window
) -> None:
    one, other = (window(extra_http_headers={"X-Forwarded-For": f"192.0.2.{n}"}) for n in (1, 2))
    train(go(one, f"{server}/{SETTING}"))
    expect(one.get_by_role("button", name="Cancel")).to_be_visible()
    too = go(other, f"{server}/{SETTING}").get_by_role("button", name="Ask for it too")
    expect(too).to_be_visible()
    expect(other.get_by_role("button", name="Cancel")).to_have_count(0)
    too.click()
    expect(other.get_by_role("button", name="Cancel")).to_be_visible()
    one.reload()  # the same browser
    one.get_by_role("button", name="Cancel").click()
    expect(one.get_by_text("It goes on: another visitor asked for it.")).to_be_visible()
    other.get_by_role("button", name="Cancel").click()
    expect(one.get_by_text("Stopped at step")).to_be_visible()

"""What a first visit takes to send, to a browser that has nothing of the dashboard yet."""

import pytest
from driver import go
from playwright.sync_api import Browser

from tests.bench import dashboard

MOST = 3_000_000  # bytes; 2.7 and 2.9 million of them, where no file was sent uncompressed


@pytest.mark.parametrize("page_name", ["", "gdssm"])
def test_a_first_visit_takes_less_than_three_megabytes(
    server: str, browser: Browser, page_name: str
) -> None:
    page = browser.new_page()
    received = dashboard.Wire(page)
    go(page, f"{server}/{page_name}")
    page.wait_for_load_state("networkidle")
    page.close()
    assert 1_000_000 < received.http + received.socket < MOST

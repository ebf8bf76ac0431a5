"""A dashboard of its own in a process, and windows on it that count what they receive."""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from playwright.sync_api import Browser, Page, sync_playwright

from tests import chromium

ROOT = Path(__file__).parents[2]
FIRST = "document.querySelector('.stPlotlyChart .main-svg')"
ALL = (
    "document.querySelector('[data-testid=stApp][data-test-script-state=notRunning]') && "
    "[...document.querySelectorAll('.stPlotlyChart')].every(chart => "
    "chart.querySelector('.main-svg'))"
)
SETTLED = 3000  # milliseconds until the last of what a page sends by itself has come


class Wire:
    """The bytes that a window received: by HTTP as they came, compressed or not, and by
    its socket."""

    def __init__(self, page: Page) -> None:
        self.http = self.socket = 0
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.on("Network.loadingFinished", self._loaded)
        page.on("websocket", lambda socket: socket.on("framereceived", self._received))

    def _loaded(self, event: dict) -> None:
        self.http += int(event["encodedDataLength"])

    def _received(self, frame: str | bytes) -> None:
        self.socket += len(frame)

    def clear(self) -> None:
        """Count from here."""
        self.http = self.socket = 0


@contextmanager
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(
            executable_path=chromium.find(), args=["--no-sandbox", "--disable-gpu"]
        )


@contextmanager
def server() -> Iterator[tuple[str, psutil.Process]]:
    """A new server with a cache of its own; its address and its process."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py"]
    command += [f"--server.port={port}", "--server.headless=true"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
        environment = {**os.environ, "ICL_CACHE_DIR": cache}
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
        )
        try:
            address = f"http://localhost:{port}"
            while True:
                with (
                    suppress(OSError),
                    urllib.request.urlopen(f"{address}/_stcore/health", timeout=5),
                ):
                    break
                time.sleep(0.05)
            yield address, psutil.Process(process.pid)
        finally:
            process.terminate()
            process.wait(120)


@contextmanager
def window(browser: Browser, address: str = "") -> Iterator[tuple[Page, Wire]]:
    """A new window with nothing in its cache; with an `address`, opened there and settled."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.set_default_timeout(300_000)
    wire = Wire(page)
    if address:
        page.goto(address)
        page.wait_for_function(ALL)
        page.wait_for_timeout(SETTLED)
    try:
        yield page, wire
    finally:
        page.close()


def turn(page: Page, knob: str, key: str) -> None:
    """Move a knob by a key, and wait until the address and all charts follow."""
    here = page.url
    page.get_by_role("slider", name=knob).press(key)
    page.wait_for_url(lambda address: address != here)
    page.wait_for_function(ALL)

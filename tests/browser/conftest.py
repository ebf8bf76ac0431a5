"""A real server on a free port with a cache of its own and the throw-away paper, and a real
browser."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    sync_playwright,
)

from tests import chromium

ROOT = Path(__file__).parents[2]
SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-dev-shm-usage",
    "--process-per-site",  # a page finds what another has compiled: half of what it takes to load
)
DEADLINE = 180.0  # seconds; reached only when something is broken
# Streamlit asks for these below a page's address first, then at the root.
PROBES = ("_stcore/health", "_stcore/host-config")
# Streamlit asks whether a download's file is there, and has dropped it where the page has been left
# in between. That files are there is tested by downloading them.
DOWNLOAD = "Client Error: Download Button source error"
MEDIA = "/media/"  # where these files are, and no others


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dashboard with one more page: adding a paper takes its folder and this one file."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(ROOT / "app.py", folder)
    for name in ("pages", ".streamlit"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "pages" / "toy.py").write_text(
        'from pages.ui.paper_page import show\n\nshow("toy")\n'
    )
    return folder


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A cache that holds one run of the throw-away paper's default setting."""
    own = {
        "ICL_CACHE_DIR": str(tmp_path_factory.mktemp("cache")),
        "ICL_PAPERS": str(ROOT / "tests" / "papers_extra"),
        "PYTHONPATH": str(ROOT),
    }
    environment = {**os.environ, **own}
    subprocess.run(
        [sys.executable, "-m", "icl_core", "run", "toy.walk"], cwd=ROOT, env=environment, check=True
    )
    return environment


@pytest.fixture(scope="session")
def servers() -> Iterator[dict[str, subprocess.Popen]]:
    """The servers that were started, by their address."""
    servers: dict[str, subprocess.Popen] = {}
    yield servers
    for server in servers.values():
        server.terminate()
        server.wait(timeout=20)


@pytest.fixture(scope="session")
def serve(
    site: Path, environment: dict[str, str], servers: dict[str, subprocess.Popen]
) -> Callable[..., str]:
    """Start another server, at a free port if at none that is named; gives its address."""

    def start(port: int = 0) -> str:
        port = port or free_port()
        command = [sys.executable, "-m", "streamlit", "run", "app.py"]
        command += [f"--server.port={port}", "--server.headless=true"]
        log = (site / f"{port}.log").open("wb")
        address = f"http://localhost:{port}"
        server = subprocess.Popen(
            command, cwd=site, env=environment, stdout=log, stderr=subprocess.STDOUT
        )
        servers[address] = server
        until(lambda: _healthy(port, server), "the server answers")
        return address

    return start


@pytest.fixture(scope="session")
def server(serve: Callable[[], str]) -> str:
    """The address of the server that most tests share."""
    return serve()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests."""
    path = chromium.find()
    assert path, "no Chromium: run `python tests/chromium.py`"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(SWITCHES))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def profile(browser: Browser, server: str) -> BrowserContext:
    """What windows share, as a visitor's do. One of them stays, so that the process that loads the
    pages does."""
    profile = browser.new_context()
    profile.new_page().goto(f"{server}/{PROBES[0]}")
    return profile


@pytest.fixture
def errors() -> Iterator[list[str]]:
    """What the windows of a test have logged as errors: nothing, at its end."""
    errors: list[str] = []
    yield errors
    assert not errors


@pytest.fixture
def hear(errors: list[str]) -> Iterator[Callable[[Page], None]]:
    """Note the errors of a window until the test ends."""
    pages: list[Page] = []

    def complain(message: ConsoleMessage) -> None:
        address = message.location.get("url", "")
        left_behind = MEDIA in address or DOWNLOAD in message.text
        if message.type == "error" and not address.endswith(PROBES) and not left_behind:
            errors.append(f"{message.text} {address}")

    def fail(error: Error) -> None:
        errors.append(str(error))

    def listen(page: Page) -> None:
        page.on("console", complain)
        page.on("pageerror", fail)
        pages.append(page)

    yield listen
    for page in pages:
        page.remove_listener("console", complain)
        page.remove_listener("pageerror", fail)


@pytest.fixture
def window(
    browser: Browser, profile: BrowserContext, hear: Callable[[Page], None]
) -> Iterator[Callable[..., Page]]:
    """Open a window of some width and colours; at the end of the test none may have logged an
    error."""
    pages: list[Page] = []

    def open_window(
        width: int = 1400, colours: str = "light", **options: str | dict[str, str]
    ) -> Page:
        page = browser.new_page(**options) if options else profile.new_page()
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=colours, reduced_motion="reduce")  # type: ignore[arg-type]
        page.set_default_timeout(DEADLINE * 1000)
        hear(page)
        pages.append(page)
        return page

    yield open_window
    for page in pages:
        page.close()
    profile.clear_cookies()
    profile.pages[0].evaluate("localStorage.clear()")


@pytest.fixture(scope="session")
def open_windows() -> dict[tuple[int, str], Page]:
    """The windows that stay open from test to test, by their width and colours."""
    return {}


@pytest.fixture
def page_at(
    request: pytest.FixtureRequest,
    server: str,
    profile: BrowserContext,
    open_windows: dict[tuple[int, str], Page],
    hear: Callable[[Page], None],
) -> Iterator[Callable[..., Page]]:
    """Show an address of the dashboard in a window that stays open from test to test, without
    another load, which takes most of the time of a short test. The visit goes on, with all that its
    session keeps, such as whether settings train by themselves: who needs a new one, or a load,
    opens a `window`. A test that fails leaves no window."""
    from driver import go, visit

    failed = request.session.testsfailed

    def show(address: str, width: int = 1400, colours: str = "light") -> Page:
        page = open_windows.get((width, colours)) or profile.new_page()
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=colours, reduced_motion="reduce")  # type: ignore[arg-type]
        page.set_default_timeout(DEADLINE * 1000)
        hear(page)
        if (width, colours) not in open_windows:
            open_windows[width, colours] = page
            return go(page, f"{server}{address}")
        page.mouse.move(0, 0)
        page.evaluate("document.activeElement?.blur()")  # keys are the clock's, as after a load
        return visit(page, address)

    yield show
    if request.session.testsfailed > failed:
        while open_windows:
            open_windows.popitem()[1].close()
    profile.clear_cookies()
    profile.pages[0].evaluate("localStorage.clear()")


def until(condition: Callable[[], bool], what: str, seen: Callable[[], str] = str) -> None:
    """Poll until `condition` holds; fails after the deadline, naming `what`, with what is `seen`
    then."""
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, f"timed out: {what}. {seen()}"
        time.sleep(0.1)


def free_port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        return free.getsockname()[1]


def _healthy(port: int, server: subprocess.Popen) -> bool:
    assert server.poll() is None, "the server ended"
    try:
        with urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False

"""The site in a browser, from a server under a path of its own and from a disk: everything is drawn
as in the dashboard, and nothing comes from elsewhere."""

import base64
import json
import os
import re
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from conftest import DEADLINE, ROOT, until
from driver import together
from playwright.sync_api import Browser, Page, expect

from icl_core import registry

pytestmark = pytest.mark.long

PAPERS = [name for name in registry.papers() if name != "toy"]
FIRST = {paper: next(iter(registry.papers()[paper].experiments)) for paper in PAPERS}
MIB = 2**20
# Where the page is that the address names, and everything on it is drawn.
DRAWN = """() => document.title !== "on the way" && document.querySelector("h1")
  && [...document.querySelectorAll(".stPlotlyChart")].every(box => box.querySelector(".main-svg"))"""
# What the page's own policy has refused.
REFUSED = """window.refused = [];
addEventListener("securitypolicyviolation", ({violatedDirective, blockedURI}) =>
  window.refused.push(`${violatedDirective} ${blockedURI}`));"""

Open = Callable[..., Page]


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as the command writes it, of all shipped runs."""
    folder = tmp_path_factory.mktemp("host") / "deep" / "er"
    environment = {name: value for name, value in os.environ.items() if name != "ICL_PAPERS"}
    command = [sys.executable, "-m", "icl_core", "site", str(folder)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture(scope="module")
def host(files: Path) -> Iterator[str]:
    """The address of the site on a server that has it in a folder of its own."""
    handler = partial(_Quiet, directory=str(files.parents[1]))
    server = ThreadingHTTPServer(("localhost", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_port}/deep/er/"
    server.shutdown()
    server.server_close()


@pytest.fixture(params=["host", "disk"])
def everywhere(request: pytest.FixtureRequest, files: Path) -> str:
    """The address of the site on the server, and on the disk."""
    if request.param == "host":
        return request.getfixturevalue("host")
    return f"{files.as_uri()}/index.html"


@pytest.fixture
def open_at(browser: Browser, hear: Callable[[Page], None]) -> Iterator[Open]:
    """Open a page of a site in a window of its own. At the end of the test none has logged an
    error, asked for anything elsewhere, or been refused something by the page's policy."""
    pages: list[tuple[str, Page, list[str]]] = []

    def open_page(site: str, address: str = "", width: int = 1400, colours: str = "light") -> Page:
        page = browser.new_page()
        page.set_viewport_size({"width": width, "height": 1000})
        page.emulate_media(color_scheme=colours, reduced_motion="reduce")  # type: ignore[arg-type]
        page.set_default_timeout(DEADLINE * 1000)
        page.add_init_script(REFUSED)
        hear(page)
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        pages.append((site.removesuffix("index.html"), page, requests))
        page.goto(f"{site}#{address}")
        return settled(page)

    yield open_page
    for site, page, requests in pages:
        refused = page.evaluate("window.refused")
        page.close()
        assert refused == []
        assert requests
        assert [url for url in requests if not url.startswith((site, "data:", "blob:"))] == []


def settled(page: Page) -> Page:
    """Wait until the page that the address names is drawn."""
    page.wait_for_function(DRAWN)
    return page


def visit(page: Page, address: str) -> Page:
    """Go to another address of the site."""
    page.evaluate(
        """address => {
            if (location.hash.slice(1) === address) return;
            document.title = "on the way";
            location.hash = address;
        }""",
        address,
    )
    return settled(page)


def held(files: Path, name: str) -> Any:
    """What a file of the site holds."""
    text = (files / "data" / f"{name}.js").read_text("ascii")
    return json.loads(zlib.decompress(base64.b64decode(text.split('"')[3])))


@pytest.mark.parametrize("paper", PAPERS)
def test_every_stage_is_drawn(everywhere: str, files: Path, open_at: Open, paper: str) -> None:
    page = open_at(everywhere)
    for name in registry.papers()[paper].experiments:
        visit(page, f"{paper}?experiment={name}")
        stage = held(files, f"{paper}.{name}/r0")
        titles = page.locator(".seat-title [data-title]")
        shown = [panel["titles"][stage["at"] :] or panel["titles"] for panel in stage["panels"]]
        expect(titles).to_have_text([of_panel[0] for of_panel in shown])
        expect(page.locator(".headline")).to_have_text(stage["headlines"][stage["at"]])
        if len(stage["steps"]) > 1:
            assert together(page) == stage["at"]


def test_all_of_it_is_small(files: Path) -> None:
    sizes = {path: path.stat().st_size for path in files.rglob("*") if path.is_file()}
    assert sum(sizes.values()) < 60 * MIB

"""What the dashboard adds to Streamlit's server: compressed files, and a browser that opens."""

import asyncio
import gzip
import threading
import webbrowser
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import streamlit as st
from starlette.responses import PlainTextResponse

from pages.ui import web_server

FILES = Path(st.__file__).parent / "static"  # as Streamlit serves them, below its address
PLOTLY = next(FILES.glob("static/js/PlotlyChart*.js")).relative_to(FILES).as_posix()
STYLE = next(FILES.glob("static/css/*.css")).relative_to(FILES).as_posix()
FONT = next(FILES.glob("static/media/*.woff2")).relative_to(FILES).as_posix()
SERVER = web_server.CompressedFiles(PlainTextResponse("Streamlit's own answer"))


def run(work: Coroutine) -> None:
    """Run in a thread of its own: this one may have the loop of a browser's tests."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work).result()


def answer(path: str, method: str = "GET", accepted: str = "gzip, deflate, br") -> dict:
    """The server's answer: its `body`, and its headers by their names."""
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [(b"accept-encoding", accepted.encode())],
    }
    messages: list[dict] = []

    async def send(message: dict) -> None:
        messages.append(message)

    run(SERVER(scope, None, send))  # type: ignore[arg-type]
    start, body = messages
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    return {**headers, "body": body["body"]}


@pytest.mark.parametrize("base", ["", "/below/an/address"])
@pytest.mark.parametrize("file", [PLOTLY, STYLE])
def test_a_browser_gets_the_file_itself_in_a_third_of_its_bytes(base: str, file: str) -> None:
    response = answer(f"{base}/{file}")
    content = (FILES / file).read_bytes()
    assert gzip.decompress(response["body"]) == content
    assert 3 * len(response["body"]) < len(content)
    assert int(response["content-length"]) == len(response["body"])
    assert response["content-encoding"] == "gzip" and response["vary"] == "Accept-Encoding"
    assert "immutable" in response["cache-control"]


def test_a_file_is_compressed_once() -> None:
    assert answer(f"/{PLOTLY}")["body"] is answer(f"/{PLOTLY}")["body"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": f"/{PLOTLY}", "accepted": "br"},
        {"path": f"/{PLOTLY}", "method": "HEAD"},
        {"path": f"/{FONT}"},  # compressed already
        {"path": "/birth"},
        {"path": "/static/"},
        {"path": "/static/../index.html"},
        {"path": "/static/js/../../../__init__.py"},
    ],
    ids=lambda arguments: " ".join(arguments.values()),
)
def test_everything_else_is_left_to_streamlit(arguments: dict[str, str]) -> None:
    response = answer(**arguments)
    assert response["body"] == b"Streamlit's own answer" and "content-encoding" not in response


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"headless": True}, []),
        ({}, ["http://localhost:8503/"]),
        ({"address": "0.0.0.0"}, ["http://localhost:8503/"]),
        ({"address": "192.0.2.7", "baseUrlPath": "/icl/"}, ["http://192.0.2.7:8503/icl"]),
        ({"sslCertFile": "key.pem"}, ["https://localhost:8503/"]),
    ],
    ids=str,
)
def test_a_browser_opens_where_the_dashboard_is(
    options: dict[str, object], expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = {"headless": False, "address": None, "port": 8503, "baseUrlPath": "", "sslCertFile": ""}
    set_options = {f"server.{name}": value for name, value in {**usual, **options}.items()}
    addresses: list[str] = []
    monkeypatch.setattr(st, "get_option", set_options.__getitem__)
    monkeypatch.setattr(webbrowser, "open", addresses.append)

    async def start() -> None:
        async with web_server.open_browser(None):
            pass

    before = set(threading.enumerate())
    run(start())
    for thread in set(threading.enumerate()) - before:
        thread.join(60)
    assert addresses == expected

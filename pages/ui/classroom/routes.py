"""What phones of a class ask the server: one page, and addresses that speak JSON; and the page of
the stage, with its files (stage_page.py).

They stand beside Streamlit's own routes, under the same base path and for the same hosts. They use
no cookie; as they take nothing but `application/json`, no page of another site can ask them.
"""

import base64
import json
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

from icl_core.classroom import sessions
from icl_core.classroom.question import Refused
from pages.ui.classroom import stage_page

PAGE = "join"  # its address, which a lecturer shows
LONGEST = 2000  # bytes of a request
_BROWSER = Path(__file__).parents[1] / "browser"
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_Handler = Callable[[Request], Awaitable[Response]]


def routes() -> list[Route]:
    """Return the routes, under the base path that the server has."""
    base = st.get_option("server.baseUrlPath").strip("/")
    start = f"/{base}/" if base else "/"
    return [
        Route(f"{start}{PAGE}", _for_allowed_hosts(_join)),
        Route(f"{start}class/state", _for_allowed_hosts(_answering(_state)), methods=["POST"]),
        Route(f"{start}class/vote", _for_allowed_hosts(_answering(_vote)), methods=["POST"]),
        Route(f"{start}class/draw", _for_allowed_hosts(_answering(_draw)), methods=["POST"]),
        Route(f"{start}class/scene", _for_allowed_hosts(_answering(_scene)), methods=["POST"]),
        Route(f"{start}class/stage", _for_allowed_hosts(stage_page.page)),
        Route(f"{start}class/files/{{digest}}/{{name}}", _for_allowed_hosts(stage_page.file)),
    ]


def _for_allowed_hosts(handle: _Handler) -> _Handler:
    """Return the handler for requests that name a host of `server.allowedHosts`; others are
    refused, as Streamlit refuses them its WebSocket."""

    async def checked(request: Request) -> Response:
        if not is_host_allowed(request.headers.get("host")):
            return PlainTextResponse("This server is not asked under that name.", 403)
        return await handle(request)

    return checked


def _answering(answer: Callable[[Mapping[str, Any]], Mapping[str, Any] | bytes]) -> _Handler:
    """Return the handler that gives the fields of a request to `answer` and sends what it returns,
    an object or compressed JSON, or the sentence with which it refuses."""

    async def handle(request: Request) -> Response:
        try:
            said = answer(await _fields(request))
            if isinstance(said, bytes):
                return stage_page.compressed(request, said, "application/json", _HEADERS)
            return JSONResponse(said, headers=_HEADERS)
        except Refused as refused:
            return JSONResponse({"say": str(refused)}, refused.status, _HEADERS)

    return handle


async def _fields(request: Request) -> Mapping[str, Any]:
    """Return the JSON object of a request. Raises `Refused` for anything else."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise Refused("A request must be application/json.", 415)
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LONGEST:
            raise Refused(f"A request has at most {LONGEST} bytes.", 413)
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise Refused("A request must be a JSON object.", 400)
    return fields


def _state(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    return sessions.ALL.state(fields.get("code"), fields.get("phone"), fields.get("version"))


def _vote(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    names = ("code", "phone", "number", "round", "answer")
    return sessions.ALL.vote(*(fields.get(name) for name in names))


def _draw(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    return sessions.ALL.draw(*(fields.get(name) for name in ("code", "phone", "number")))


def _scene(fields: Mapping[str, Any]) -> bytes:
    return sessions.ALL.scene(*(fields.get(name) for name in ("code", "phone", "name")))


async def _join(_: Request) -> Response:
    page, policy = _page()
    return Response(
        page, media_type="text/html", headers={**_HEADERS, "Content-Security-Policy": policy}
    )


@cache
def _page() -> tuple[str, str]:
    """Return the phones' page, and the policy that lets it load nothing but its own parts."""
    names = (
        "join.html",
        "join.css",
        "join.js",
        "join_curve.js",
        "join_stage.js",
        "join_lot.js",
        "join_start.js",
    )
    html, css, *scripts = ((_BROWSER / name).read_text(encoding="utf-8") for name in names)
    js = "".join(scripts)
    style, script = (
        base64.b64encode(sha256(text.encode()).digest()).decode() for text in (css, js)
    )
    policy = (
        f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; "
        "connect-src 'self'; frame-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    return html.replace("STYLE", css).replace("SCRIPT", js), policy

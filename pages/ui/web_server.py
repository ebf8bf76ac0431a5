"""What the dashboard adds to Streamlit's server: compressed files, and a browser that opens.

`app.py` gives both to Streamlit's application object.
"""

import gzip
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from threading import Thread

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

_FILES = Path(st.__file__).parent / "static" / "static"  # of Streamlit's browser part
_ROUTE = "/static/"  # under which they are asked for
_TYPES = {".js": "text/javascript", ".css": "text/css"}  # of those that compression makes smaller
_HEADERS = {
    "Content-Encoding": "gzip",
    "Vary": "Accept-Encoding",
    "Cache-Control": "public, immutable, max-age=31536000",  # a file's name holds its digest
}
_EVERY_ADDRESS = ("0.0.0.0", "::")


class CompressedFiles:
    """Send the files of Streamlit's browser part compressed by gzip, a third of their bytes.

    Streamlit sends them as they are, as it would compress them anew for each visitor. Here each
    file is compressed once, when it is first asked for, and kept in memory.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.files = {
            path.relative_to(_FILES).as_posix(): path
            for path in _FILES.rglob("*")
            if path.suffix in _TYPES
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = self._requested_file(scope)
        if path is None:
            return await self.app(scope, receive, send)
        content = await run_in_threadpool(_compressed, path)
        response = Response(content, headers=_HEADERS, media_type=_TYPES[path.suffix])
        await response(scope, receive, send)

    def _requested_file(self, scope: Scope) -> Path | None:
        """Return the file that a request asks for; None if it is none of these, or if the browser
        does not read gzip."""
        if scope["type"] != "http" or scope["method"] != "GET":
            return None
        if "gzip" not in Headers(scope=scope).get("accept-encoding", ""):
            return None
        return self.files.get(scope["path"].rpartition(_ROUTE)[2])


@cache
def _compressed(path: Path) -> bytes:
    return gzip.compress(path.read_bytes(), mtime=0)


@asynccontextmanager
async def open_browser(_: object) -> AsyncIterator[None]:
    """Open the dashboard in a browser as the server starts, unless it is headless.

    `streamlit run` does so itself only for a script without an application object. The server
    listens already, and answers once it has started.
    """
    if not st.get_option("server.headless"):
        Thread(target=webbrowser.open, args=(_address(),), daemon=True).start()
    yield


def _address() -> str:
    """Return the address at which a browser on this machine finds the dashboard."""
    scheme = "https" if st.get_option("server.sslCertFile") else "http"
    host = st.get_option("server.address")
    if host in _EVERY_ADDRESS or not host:
        host = "localhost"
    path = st.get_option("server.baseUrlPath").strip("/")
    return f"{scheme}://{host}:{st.get_option('server.port')}/{path}"

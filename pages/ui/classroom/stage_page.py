"""The page on which a phone shows the stage, and its files: the site's own scripts and style.

A browser keeps the files for good: their address holds a digest of all of them.
"""

import gzip
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from threading import Condition

from cachetools import cached
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from icl_core.site import scripts

_BROWSER = Path(__file__).parents[1] / "browser"
_TYPES = {".js": "text/javascript", ".css": "text/css", ".woff2": "font/woff2"}
_SAFE = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
# Plotly styles its charts itself, and draws maps as pictures.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src data: blob:; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)


async def page(_: Request) -> Response:
    """Send the page."""
    digest, _files = await run_in_threadpool(_digest_and_files)
    html = _read("class_stage.html").replace("DIGEST", digest)
    headers = {**_SAFE, "Cache-Control": "no-store", "Content-Security-Policy": _POLICY}
    return Response(html, media_type="text/html", headers=headers)


async def file(request: Request) -> Response:
    """Send a file of the page."""
    digest, files = await run_in_threadpool(_digest_and_files)
    name = request.path_params["name"]
    if request.path_params["digest"] != digest or name not in files:
        return PlainTextResponse("There is no such file: load the page again.", 404, _SAFE)
    headers = {**_SAFE, "Cache-Control": "public, max-age=31536000, immutable"}
    return compressed(request, files[name], _TYPES[Path(name).suffix], headers)


def compressed(
    request: Request, content: bytes, media_type: str, headers: Mapping[str, str]
) -> Response:
    """Return the response of a content that gzip has compressed."""
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(gzip.decompress(content), media_type=media_type, headers=headers)
    sent = {**headers, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    return Response(content, media_type=media_type, headers=sent)


# the phones of a class ask at once, and wait for one compression
@cached({}, condition=Condition())
def _digest_and_files() -> tuple[str, Mapping[str, bytes]]:
    """Return the digest of all files of the page, and each file, compressed, by its name."""
    texts = {
        "stage.js": scripts.stage_script() + _read("class_stage.js"),
        "stage.css": scripts.style(_read("class_stage.css")),
    }
    contents = {name: text.encode() for name, text in texts.items()}
    contents |= {path.name: path.read_bytes() for path in scripts.COPIED if path.suffix in _TYPES}
    digest = blake2b(b"".join(contents.values()), digest_size=8).hexdigest()
    return digest, {name: gzip.compress(content, mtime=0) for name, content in contents.items()}


def _read(name: str) -> str:
    return (_BROWSER / name).read_text(encoding="utf-8")

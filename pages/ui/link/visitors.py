"""Who a visitor is, and which jobs, runs and documents they may end: their own or, for whoever sits
at the machine, all.

A visitor is a browser, known by its cookie, which outlives a reload and which no other browser has.
Whoever reaches the server under a name of this machine, from this machine and through no proxy, is
at the machine.
"""

from contextlib import suppress
from hashlib import sha256
from ipaddress import ip_address
from urllib.parse import urlsplit
from uuid import uuid4

import streamlit as st

from icl_core.machine import limits
from icl_core.runs import owners

_COOKIE = "_streamlit_xsrf"  # version|mask|masked token|time; the mask is new every time
_PROXY_HEADERS = ("X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Forwarded", "Via")
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


def name() -> str:
    """Return a name for the visitor's browser that reveals nothing of it; for the window if there
    is no cookie."""
    token = _token(st.context.cookies.get(_COOKIE, ""))
    return sha256(b"visitor " + token).hexdigest()[:20] if token else window()


def window() -> str:
    """Return a name for the visitor's window, until the page is loaded anew."""
    return st.session_state.setdefault("visitor", uuid4().hex)


def is_at_machine() -> bool:
    """Return whether the visitor is at the machine that trains."""
    headers = st.context.headers
    has_address = isinstance(st.context.ip_address, str)  # Streamlit gives none for this machine
    if has_address or any(header in headers for header in _PROXY_HEADERS):
        return False
    if not len(headers):  # without a server, as in tests, there are neither headers nor an address
        return True
    urls = (f"//{headers.get('Host', '')}", headers.get("Origin", ""))
    return all(_host(url) in _LOCAL_HOSTS for url in urls)


@st.cache_resource(show_spinner=False)
def _guests() -> set[str]:
    """The visitors whom this server has seen and who were not at its machine."""
    return set()


def has_guests() -> bool:
    """Return whether the server has had visitors, this one among them, who were not at its
    machine."""
    if not is_at_machine():
        _guests().add(name())
    return bool(_guests())


def is_open_to_others(url: str) -> bool:
    """Return whether other computers may open an address: it names no computer by a name that only
    that computer has for itself."""
    host = _host(url) or ""
    if host in ("", "0.0.0.0", "::") or host.endswith("localhost"):
        return False
    with suppress(ValueError):  # a name and not a number
        return not ip_address(host).is_loopback
    return True


def can_end(key: str) -> bool:
    """Return whether the visitor may cancel the job, or delete the run or document, of that key."""
    visitor = None if is_at_machine() else name()
    return not limits.read_only() and owners.is_allowed(key, visitor)


def acting_name(key: str) -> str | None:
    """Return in whose name the visitor ends the thing of that key: None, for everybody, at the
    machine unless the visitor is one of its owners; else the visitor's."""
    if is_at_machine() and name() not in owners.owners_of(key):
        return None
    return name()


def _token(cookie: str) -> bytes:
    """Return the cookie's token, which stays the same under every mask; empty if it has none."""
    try:
        _, mask, masked, _ = cookie.split("|")
        key = bytes.fromhex(mask)
        masked_token = bytes.fromhex(masked)
        return bytes(byte ^ key[index % len(key)] for index, byte in enumerate(masked_token))
    except (ValueError, ZeroDivisionError):
        return b""


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None

"""Who a visitor is, and what of others they may end: their own, or everything for whoever sits at
the machine.

A visitor is a browser: its cookie outlives a reload and is known to it alone. Whoever comes by a
name of this machine, from this machine and through no proxy, is at the machine.
"""

from hashlib import sha256
from urllib.parse import urlsplit
from uuid import uuid4

import streamlit as st

from icl_core.machine import limits
from icl_core.runs import owners

_COOKIE = "_streamlit_xsrf"  # version|mask|masked token|time, a new mask every time
_FORWARDED = ("X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Forwarded", "Via")
_HERE = ("localhost", "127.0.0.1", "::1")


def name() -> str:
    """A name for the visitor's browser, which tells nothing of it; where there is no cookie, for
    the window."""
    token = _token(st.context.cookies.get(_COOKIE, ""))
    return sha256(b"visitor " + token).hexdigest()[:20] if token else window()


def window() -> str:
    """A name for the visitor's window, until it is loaded again."""
    return st.session_state.setdefault("visitor", uuid4().hex)


def is_at_machine() -> bool:
    """Whether the visitor is at the machine that trains."""
    headers = st.context.headers  # none where there is no server, as in tests; nor then an address
    if isinstance(st.context.ip_address, str) or any(each in headers for each in _FORWARDED):
        return False
    asked = f"//{headers.get('Host', '')}", headers.get("Origin", "")
    return not len(headers) or all(_host(each) in _HERE for each in asked)


def can_end(what: str) -> bool:
    """Whether the visitor may cancel the job, or delete the run or the document, of that name."""
    return not limits.read_only() and owners.is_allowed(what, None if is_at_machine() else name())


def acting_name(what: str) -> str | None:
    """In whose name: in the visitor's own if they asked for it, else at the machine in
    everybody's."""
    return None if is_at_machine() and name() not in owners.owners_of(what) else name()


def _token(cookie: str) -> bytes:
    """What of the cookie stays the same; nothing if it is of another form."""
    try:
        _, mask, masked, _ = cookie.split("|")
        key, found = bytes.fromhex(mask), bytes.fromhex(masked)
        return bytes(byte ^ key[index % len(key)] for index, byte in enumerate(found))
    except (ValueError, ZeroDivisionError):
        return b""


def _host(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None

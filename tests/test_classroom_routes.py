"""What phones of a class get from the server: one page that loads nothing else, and JSON."""

import asyncio
import base64
import json
import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import Any, NamedTuple

import pytest
from starlette.applications import Starlette
from streamlit import config
from test_classroom import CHOICE, NUMBER, phone

from icl_core.classroom import sessions
from pages.ui.classroom import routes
from tests.house import ROOT

JSON = "application/json"


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def said(self) -> Any:
        return json.loads(self.body)


def ask(
    path: str, body: bytes = b"", method: str = "POST", kind: str = JSON, host: str = "localhost"
) -> Answer:
    """Ask the routes alone, in a thread of its own: this one may have the loop of a browser's
    tests."""
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": b"",
        "headers": [(b"host", host.encode()), (b"content-type", kind.encode())],
    }
    chunks = [body[start : start + 700] for start in range(0, len(body), 700)] or [b""]
    messages: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        chunk = chunks.pop(0)
        return {"type": "http.request", "body": chunk, "more_body": bool(chunks)}

    async def send(message: Any) -> None:
        messages.append(message)

    application = Starlette(routes=routes.routes())
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, application(scope, receive, send)).result()  # type: ignore[arg-type]
    headers = {name.decode(): value.decode() for name, value in messages[0]["headers"]}
    content = b"".join(message.get("body", b"") for message in messages[1:])
    return Answer(messages[0]["status"], headers, content)


def post(what: str, **fields: Any) -> Answer:
    return ask(f"/class/{what}", json.dumps(fields).encode())


@pytest.fixture
def code(monkeypatch) -> Iterator[str]:
    """A class that is shown a question."""
    classes = sessions.Sessions()
    monkeypatch.setattr(sessions, "ALL", classes)
    code = classes.open("a")
    classes.show("a", CHOICE)
    yield code


def test_the_page_is_small_and_loads_nothing_but_its_parts() -> None:
    page = ask("/join", method="GET")
    assert page.status == 200 and page.headers["content-type"] == "text/html; charset=utf-8"
    assert len(page.body) < 40_000
    text = page.body.decode()
    assert not re.search(r"https?:|src=|@import|url\(", text)
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy
    for tag in ("style", "script"):
        (part,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(sha256(part.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_the_scripts_of_the_page_declare_each_name_once() -> None:
    """They are one script: a name that two of them declare would end all of it."""
    text = ask("/join", method="GET").body.decode()
    (script,) = re.findall("<script>(.*?)</script>", text, re.DOTALL)
    declared = re.findall(r"^(?:async )?(?:function|const|let|class) (\w+)", script, re.MULTILINE)
    assert len(declared) > 20
    assert not [name for name, count in Counter(declared).items() if count > 1]


def test_a_phone_asks_answers_and_asks_again_in_a_few_bytes(code: str) -> None:
    state = post("state", code=code, phone=phone(1)).said
    assert state["ask"] == "Which?" and state["choices"] == list(CHOICE.choices)
    voted = post("vote", code=code, phone=phone(1), number=1, round=1, answer=2)
    assert voted.status == 200 and voted.said["own"] == [2]
    assert voted.headers["cache-control"] == "no-store" and "set-cookie" not in voted.headers
    again = post("state", code=code, phone=phone(1), version=voted.said["version"])
    assert again.said == {"version": voted.said["version"]} and len(again.body) < 40


def test_before_the_opening_no_answer_has_anything_of_the_tally(code: str) -> None:
    for number in range(5):
        post("vote", code=code, phone=phone(number), number=1, round=1, answer=0)
    names = {"version", "number", "round", "ask", "choices", "unit", "opened", "own"}
    assert post("state", code=code, phone=phone(9)).said.keys() == names
    sessions.ALL.open_answers("a")
    assert post("state", code=code, phone=phone(9)).said["tally"] == [5, 0, 0]


def test_a_refusal_is_a_sentence_with_its_status(code: str) -> None:
    unknown = post("state", code="BBBB" if code != "BBBB" else "CCCC", phone=phone(1))
    assert unknown.status == 404 and unknown.said["say"].startswith("There is no class ")
    stale = post("vote", code=code, phone=phone(1), number=7, round=1, answer=0)
    assert stale.status == 409 and stale.said["say"].startswith("This question is no longer shown")
    sessions.ALL.show("a", NUMBER)
    wrong = post("vote", code=code, phone=phone(1), number=2, round=1, answer="many")
    assert wrong.status == 400 and wrong.said["say"] == "Send a number, such as 1250 or 0.5."
    for _ in range(30):
        flood = post("state", code=code, phone=phone(2))
    assert flood.status == 429


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"5", b"null", b"[" * 1900, b"\xff\xfe", b'{"code": NaN}', b'{"a": 1, }'],
)
def test_what_is_no_request_is_refused(body: bytes) -> None:
    assert ask("/class/vote", body).status == 400


def test_a_request_is_json_short_and_posted() -> None:
    assert ask("/class/state", b"{}", kind="text/plain").status == 415
    assert ask("/class/state", b"{}", kind="application/x-www-form-urlencoded").status == 415
    assert ask("/class/state", b"{}", kind="application/json; charset=utf-8").status == 400
    assert ask("/class/state", b" " * 2001).status == 413
    assert ask("/class/state", method="GET").status == 405
    assert ask("/join", method="POST").status == 405


@pytest.fixture
def option() -> Iterator[Any]:
    """Set an option of Streamlit's, and set it back."""
    former: dict[str, Any] = {}

    def change(name: str, value: Any) -> None:
        former[name] = config.get_option(name)
        config.set_option(name, value)

    yield change
    for name, value in former.items():
        config.set_option(name, value)


def test_other_hosts_are_refused(option) -> None:
    option("server.allowedHosts", ["localhost", "icl.example.org"])
    for path, method in (("/join", "GET"), ("/class/state", "POST"), ("/class/vote", "POST")):
        assert ask(path, b"{}", method, host="evil.example").status == 403
    assert ask("/join", method="GET", host="icl.example.org:8501").status == 200
    assert ask("/join", method="GET", host="localhost").status == 200


def test_the_routes_stand_below_the_servers_own_path(option) -> None:
    option("server.baseUrlPath", "/below/an/address/")
    assert ask("/below/an/address/join", method="GET").status == 200
    assert ask("/below/an/address/class/state", b"{}").status == 400
    assert ask("/join", method="GET").status == 404
    # the page asks below the address at which it stands
    assert "fetch(`class/${what}`" in (ROOT / "pages/ui/browser/join.js").read_text()

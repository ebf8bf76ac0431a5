"""Between a page and its server."""

import time
from collections.abc import Callable

from conftest import DEADLINE
from playwright.sync_api import Page, WebSocketRoute
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg


class Wire:
    """What a server sends can be held, and let through up to the end of a run; what a page sends
    can be lost."""

    def __init__(self, tab: Page) -> None:
        self._waiting: list[bytes | str] | None = None
        self._loses = False
        self._tab = tab
        tab.route_web_socket("**/_stcore/stream", self._connect)

    def _connect(self, page: WebSocketRoute) -> None:
        self._page = page
        server = page.connect_to_server()
        server.on_message(self._to_page)
        page.on_message(lambda message: self._to_server(server, message))

    def _to_page(self, message: bytes | str) -> None:
        self._page.send(message) if self._waiting is None else self._waiting.append(message)

    def _to_server(self, server: WebSocketRoute, message: bytes | str) -> None:
        if not self._loses:
            server.send(message)
        self._loses = False

    def hold(self) -> None:
        """Keep from the page what it is told from now on."""
        self._waiting = []

    def ran(self, times: int) -> None:
        """Wait until the server has run the page so often."""
        self._until(lambda: len(self._ends()) >= times)

    def let_through(self, runs: int) -> None:
        """Give the page what it has been told up to the end of so many runs."""
        assert self._waiting is not None
        end = self._ends()[runs - 1] + 1
        for message in self._waiting[:end]:
            self._page.send(message)
        self._waiting = self._waiting[end:]

    def free(self) -> None:
        """Let the page have all that waits, and what comes."""
        for message in self._waiting or ():
            self._page.send(message)
        self._waiting = None

    def tell(self, message: ForwardMsg) -> None:
        """Tell the page something that its server has not said."""
        self._page.send(message.SerializeToString())

    def lose(self, act: Callable[[], None]) -> None:
        """Do what the page tells the server of, which does not hear it."""
        self._loses = True
        act()
        self._until(lambda: not self._loses)

    def _until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + DEADLINE
        while not condition():
            assert time.monotonic() < end, "neither side says what was waited for"
            self._tab.wait_for_timeout(20)  # in which the wire is heard

    def _ends(self) -> list[int]:
        kinds = (
            ForwardMsg.FromString(message).WhichOneof("type")
            for message in self._waiting or ()
            if isinstance(message, bytes)
        )
        return [at for at, kind in enumerate(kinds) if kind == "script_finished"]

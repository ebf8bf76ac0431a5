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
        self.held: list[bytes | str] | None = None
        self._loses = False
        self._tab = tab
        tab.route_web_socket("**/_stcore/stream", self._connect)

    def _connect(self, page: WebSocketRoute) -> None:
        self._page = page
        server = page.connect_to_server()
        server.on_message(self._told)
        page.on_message(lambda said: self._said(server, said))

    def _told(self, what: bytes | str) -> None:
        self._page.send(what) if self.held is None else self.held.append(what)

    def _said(self, server: WebSocketRoute, what: bytes | str) -> None:
        if not self._loses:
            server.send(what)
        self._loses = False

    def hold(self) -> None:
        """Keep from the page what it is told from now on."""
        self.held = []

    def ran(self, times: int) -> None:
        """Wait until the server has run the page so often."""
        self._until(lambda: len(self._ends()) >= times)

    def let_through(self, runs: int) -> None:
        """Give the page what it has been told up to the end of so many runs."""
        assert self.held is not None
        end = self._ends()[runs - 1] + 1
        for told in self.held[:end]:
            self._page.send(told)
        self.held = self.held[end:]

    def free(self) -> None:
        """Let the page have all that was held, and what comes."""
        for told in self.held or ():
            self._page.send(told)
        self.held = None

    def tell(self, what: ForwardMsg) -> None:
        """Tell the page something that its server has not said."""
        self._page.send(what.SerializeToString())

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
            ForwardMsg.FromString(each).WhichOneof("type")
            for each in self.held or ()
            if isinstance(each, bytes)
        )
        return [at for at, kind in enumerate(kinds) if kind == "script_finished"]

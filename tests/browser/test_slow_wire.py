"""A page far from its server: what is moved while the page is still being drawn stays moved."""

from collections.abc import Callable

from driver import go, heading, reached
from playwright.sync_api import Page, WebSocketRoute, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg


class Wire:
    """What a server sends can be held, and let through up to the end of a run."""

    def __init__(self, tab: Page) -> None:
        self.held: list[bytes | str] | None = None
        self._tab = tab
        tab.route_web_socket("**/_stcore/stream", self._connect)

    def _connect(self, page: WebSocketRoute) -> None:
        self._page = page
        page.connect_to_server().on_message(self._told)

    def _told(self, what: bytes | str) -> None:
        self._page.send(what) if self.held is None else self.held.append(what)

    def hold(self) -> None:
        """Keep from the page what it is told from now on."""
        self.held = []

    def ran(self, times: int) -> None:
        """Wait until the server has run the page so often."""
        while len(self._ends()) < times:
            self._tab.wait_for_timeout(20)

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

    def _ends(self) -> list[int]:
        kinds = (ForwardMsg.FromString(each).WhichOneof("type") for each in self.held or () if isinstance(each, bytes))
        return [at for at, kind in enumerate(kinds) if kind == "script_finished"]


def test_what_is_moved_while_the_page_is_drawn_stays_moved(server: str, window: Callable[..., Page]) -> None:
    tab = window()
    wire = Wire(tab)
    go(tab, f"{server}/birth?drawer=Graft")
    whole = tab.get_by_text("Train at once", exact=True)  # a move that runs the whole page
    wire.hold()
    whole.click()
    wire.ran(1)
    tab.locator(".st-key-drawer").get_by_role("radio", name="zero").nth(2).click()  # a move in its address of before
    wire.ran(2)
    wire.let_through(1)
    whole.click()
    wire.ran(2)
    wire.free()
    reached(tab, lambda address: "graft_W_O2=zero" in address and "at_once" not in address)
    heading(tab, "W_O² → zero: accuracy").wait_for()


def test_what_is_drawn_anew_shows_what_was_chosen(server: str, window: Callable[..., Page]) -> None:
    """Widgets whose place was folded up while the page ran: a browser begins them again."""
    tab = go(window(), f"{server}/birth?drawer=Sweep")
    number, drawers = tab.get_by_role("combobox", name="Number shown"), tab.locator(".st-key-drawers")
    number.scroll_into_view_if_needed()
    number.click()
    tab.get_by_role("option").nth(1).click()
    reached(tab, "**metric=*")
    chosen = number.input_value()
    for times in (0, 1):
        drawers.get_by_role("radio", name="Sweep").click()
        expect(number).to_have_count(times)
    expect(number).to_have_value(chosen)
    go(tab, f"{tab.url}&projector=1").keyboard.press("m")
    tab.get_by_text("Train at once", exact=True).click()
    reached(tab, "**at_once=false*")
    tab.get_by_role("button", name="⋯").click()
    expect(tab.get_by_role("switch", name="Projector")).to_be_checked()
    tab.keyboard.press("Escape")
    drawers.get_by_role("radio", name="Why").click()
    reached(tab, lambda address: "drawer=Why" in address and "metric=" in address and "projector=1" in address)

"""What a move sends: no film that the browser has, and of another run no more than its films; no
chart shows a film of a run that is not on screen."""

from collections.abc import Callable

from conftest import until
from driver import drag, go, let_go, settled
from playwright.sync_api import Page, WebSocket

Window = Callable[..., Page]
FILMS = """() => [...document.querySelectorAll('[class*="st-key-chart-"] .js-plotly-plot')]
    .map(plot => plot.layout.meta?.film)"""
SNAPSHOTS = """() => Object.fromEntries(["loss", "weights"]
    .map(name => [name, document.querySelector(`.st-key-chart-${name} .js-plotly-plot`)])
    .map(([name, plot]) => [name, plot.layout.meta.snapshot]))"""
HELD = "() => [...window.iclStage?.panels.values() ?? []].map(({film}) => film)"
ADDRESS = "location.search"
GRAFT = "/birth?at_once=false&drawer=Graft"
# the runs of the atlas whose maps take the most bytes: five snapshots of 65 tokens, of two layers
ATLAS = "/birth?at_once=false&d=32&K=1&T=32"


class Received:
    """The bytes that a page receives by its socket."""

    def __init__(self, tab: Page) -> None:
        self.sizes: list[int] = []
        tab.on("websocket", self._listen)

    def _listen(self, socket: WebSocket) -> None:
        socket.on("framereceived", lambda frame: self.sizes.append(len(frame)))

    def during(self, tab: Page, move: Callable[[], object], ends: Callable[[], bool]) -> int:
        """The bytes of a move, which has come to its end where `ends` holds."""
        self.sizes.clear()
        move()
        until(ends, "the page shows what was moved to")
        showing_films(settled(tab))
        return sum(self.sizes)


def showing_films(tab: Page) -> list[str]:
    """The films that the charts show, once they show those that have come."""
    until(
        lambda: set(tab.evaluate(HELD)) == set(tab.evaluate(FILMS)) != set(),
        "every chart shows the film that came for it",
    )
    return tab.evaluate(FILMS)


def opened(server: str, window: Window, address: str) -> tuple[Page, Received]:
    """A page that has all of its films. The first visit of a new server may take longer than its
    clock waits for charts: this is the second."""
    go(window(), server + address)
    tab = window()
    received = Received(tab)
    showing_films(go(tab, server + address))
    return tab, received


def test_a_knob_that_changes_no_film_sends_none(server: str, window: Window) -> None:
    tab, received = opened(server, window, GRAFT)
    before = showing_films(tab)
    knob = tab.get_by_role("slider", name="factor on the constructions")
    bytes_sent = received.during(
        tab, lambda: knob.press("ArrowRight"), lambda: "strength=" in tab.evaluate(ADDRESS)
    )
    assert bytes_sent < 100_000
    assert showing_films(tab) == before


def test_a_move_on_the_atlas_sends_its_films_and_once(server: str, window: Window) -> None:
    tab, received = opened(server, window, ATLAS)
    before = showing_films(tab)
    width = tab.get_by_role("slider", name="width, d").first
    bytes_sent = received.during(
        tab,
        lambda: width.press("ArrowLeft"),
        lambda: not set(tab.evaluate(FILMS)) & set(before) and "d=16" in tab.evaluate(ADDRESS),
    )
    assert bytes_sent < 200_000
    back = received.during(tab, tab.go_back, lambda: tab.evaluate(FILMS) == before)
    assert back < 100_000
    tab.reload()  # a new session, which has none of them
    assert showing_films(settled(tab)) == before


def test_a_chart_shows_no_frame_of_another_run(page_at: Window) -> None:
    tab = page_at("/toy")
    showing_films(tab)
    tab.evaluate("iclStage.panels.get('weights').run = 'another'")
    last = tab.evaluate(SNAPSHOTS)
    drag(tab, 1)
    until(lambda: tab.evaluate(SNAPSHOTS)["loss"] == 1, "the other panel moves")
    assert tab.evaluate(SNAPSHOTS)["weights"] == last["weights"] != 1
    let_go(tab)

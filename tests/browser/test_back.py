"""A page that loses its server, and finds another at the same address."""

from collections.abc import Callable
from subprocess import Popen

import pytest
from driver import go, reached, settled, step
from playwright.sync_api import Browser, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg, ForwardMsgMetadata
from wire import Wire

pytestmark = pytest.mark.long

# whether nothing can be moved once the page is enabled again, and what was seen, in its order
CONNECTED = """() => {
    window.states = [];
    const app = document.querySelector("[data-testid=stApp]"),
      main = document.querySelector("[data-testid=stMain]");
    const look = () => {
        window.states.push([app.dataset.testConnectionState, app.dataset.testScriptState,
          main.isConnected, main.inert]);
        if (app.dataset.testConnectionState === "CONNECTED") setTimeout(() =>
          (window.wasInert ??= main.inert));
    };
    const watch = new MutationObserver(look);
    for (const part of [app, main]) watch.observe(part, {attributes: true});
}"""


def test_a_page_goes_on_with_a_new_server_from_the_first_move(
    serve: Callable[..., str], servers: dict[str, Popen], browser: Browser
) -> None:
    address = serve()
    other = browser.new_page()  # a window of the others' would count what it complains of
    go(other, f"{address}/claims")  # the first page of a server, opened by its link
    expect(other.get_by_role("heading", name="What the papers claim")).to_be_visible()
    other.wait_for_load_state("networkidle")  # what it has not loaded yet it could not load later
    tab = browser.new_page()
    go(tab, f"{address}/toy?at_once=false&d=12")
    expect(tab.get_by_role("slider", name="inputs d")).to_be_enabled()
    tab.wait_for_load_state("networkidle")
    for page in (tab, other):
        page.locator(".offline").wait_for(state="attached")  # now it hears that a server is gone
    servers[address].kill()
    servers[address].wait(timeout=20)
    expect(tab.get_by_role("slider", name="inputs d")).to_be_disabled()
    script = tab.get_by_role("dialog").locator("code")
    command = script.evaluate("script => getComputedStyle(script, '::after').content")
    assert command == '"streamlit run app.py"'
    for page in (tab, other):
        expect(page.get_by_role("dialog")).to_be_visible()
        page.evaluate(CONNECTED)
    serve(int(address.rpartition(":")[2]))
    for page in (tab, other):
        page.wait_for_function("window.wasInert !== undefined")
        states = page.evaluate("window.states")
        assert page.evaluate("window.wasInert"), f"a move before the first run is lost: {states}"
        page.wait_for_function("!document.querySelector('[data-testid=stMain]').inert")
    settled(tab)
    step(tab, "inputs d", "ArrowRight")
    reached(tab, "**d=13*")
    other.close()
    tab.close()


def test_a_page_without_a_network_says_so_and_hears_what_was_changed(
    server: str, browser: Browser
) -> None:
    far = server.replace("localhost", "localhost.")  # with its dot it is the name of some machine
    sentence = "No network. Your changes will show as soon as it is back."
    for address, expected in ((server, ""), (far, sentence)):
        visit = browser.new_context()
        tab = go(visit.new_page(), f"{address}/toy?at_once=false&d=12")
        tab.wait_for_load_state("networkidle")
        visit.set_offline(True)
        tab.wait_for_function("!navigator.onLine")
        step(tab, "inputs d", "ArrowRight")
        message = tab.locator(".offline")
        expect(message).to_have_text(expected)
        visit.set_offline(False)
        expect(message).to_be_empty()
        reached(tab, "**d=13*")
        visit.close()


def test_a_page_that_streamlit_has_given_up_on_loads_itself_anew(
    server: str, browser: Browser
) -> None:
    tab = browser.new_page()  # a window of the others' would count what it complains of
    wire = Wire(tab)
    go(tab, f"{server}/toy?at_once=false&d=12").evaluate("window.given_up = true")
    metadata = ForwardMsgMetadata(cacheable=False)
    wire.tell(ForwardMsg(ref_hash="of what it does not have", metadata=metadata))
    tab.wait_for_function("!window.given_up")
    step(settled(tab), "inputs d", "ArrowRight")
    reached(tab, "**d=13*")
    tab.close()

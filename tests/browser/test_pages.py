"""Every page there is: drawn, accessible, quiet, and as wide as its window; wide and light, narrow
and dark."""

from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from driver import go, reached
from playwright.sync_api import Page, expect

from icl_core import registry

ROOT = Path(__file__).parents[2]
PAGES = ["", "toy", *sorted(path.stem for path in (ROOT / "pages").glob("[!_]*.py"))]
# What is about to be drawn anew fades for a moment: contrast is judged as it stands.
STILL = """* { transition: none !important; animation: none !important }
[data-stale] { opacity: 1 !important }"""
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
# nothing is reported of what passes
RULES = {"runOnly": {"type": "tag", "values": TAGS}, "resultTypes": ["violations"]}

# The titles of panels whose figure is higher than the box that it stands in.
CUT = """() => [...document.querySelectorAll('.stPlotlyChart')].filter(plot =>
    plot.getBoundingClientRect().bottom
    > plot.closest('[data-testid=stElementContainer]').getBoundingClientRect().bottom + 1
).map(plot => plot.closest('[class*=st-key-panel-], [class*=st-key-seat-]'))
.map(box => box?.querySelector('h3')?.textContent)"""

# Whether each line of a script that is higher than its place can have the keys.
SCROLLED_BY_KEYS = """() => [...document.querySelectorAll('.st-key-says')].every(line =>
    line.scrollHeight <= line.clientHeight || line.tabIndex === 0)"""

Window = Callable[..., Page]


@pytest.mark.parametrize(
    "width, colours", [(1400, "light"), pytest.param(390, "dark", marks=pytest.mark.long)]
)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page or "start")
def test_a_page_is_drawn_accessible_and_not_too_wide(
    page_at: Window, page: str, width: int, colours: str
) -> None:
    tab = page_at(f"/{page}", width, colours)
    expect(tab.get_by_role("heading", level=1)).to_be_visible()
    expect(tab.get_by_test_id("stException")).to_have_count(0)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    main = tab.get_by_test_id("stMain")
    assert main.evaluate("element => element.scrollWidth - element.clientWidth") <= 0
    assert tab.evaluate(CUT) == []
    tab.wait_for_function(SCROLLED_BY_KEYS)
    style = tab.add_style_tag(content=STILL)
    report = Axe().run(tab, options=RULES)
    style.evaluate("style => style.remove()")
    assert report.violations_count == 0, report.generate_report()


HOST = "outside.example"
IMAGE = f"![x](http://{HOST}/p.png)"
MARKUP = f"{IMAGE} [y](//{HOST}) http://{HOST} www.{HOST} $x$ **b** :bug: <img>"


def test_what_the_address_says_is_shown_as_text(server: str, window: Window) -> None:
    tab = window()
    requests = []
    tab.on("request", lambda request: requests.append(request.url))
    go(tab, f"{server}/birth?{quote(MARKUP)}=1&preset={quote(IMAGE)}")
    warnings = tab.get_by_test_id("stAlert")
    expect(warnings.first).to_be_visible()
    texts = warnings.all_inner_texts()
    text = "".join(texts).replace("\u2060", "")
    assert len(texts) == 2 and text.count(IMAGE) == 2 and MARKUP[:78] in text
    markup = "img, a, strong, em, code, .katex, [data-testid=stIconMaterial]"
    assert warnings.locator(markup).count() == 0
    assert tab.locator("img").count() == 0
    assert not any(url.startswith(f"http://{HOST}") for url in requests)


@pytest.mark.parametrize("host, status", [("localhost", 101), ("outside.example", 403)])
def test_a_name_that_is_not_ours_gets_no_websocket(server: str, host: str, status: int) -> None:
    port = urlsplit(server).port
    connection = HTTPConnection("localhost", port, timeout=60)
    headers = {"Host": f"{host}:{port}", "Origin": f"http://{host}:{port}", "Connection": "Upgrade"}
    websocket = {
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "c2l4dGVlbiBieXRlcyEhIQ==",
    }
    connection.request("GET", "/_stcore/stream", headers={**headers, **websocket})
    assert connection.getresponse().status == status
    connection.close()


def test_the_menu_leads_to_every_page(page_at: Window) -> None:
    tab = page_at("/")
    links = tab.locator(".st-key-pages").get_by_role("link")
    expect(links).to_have_count(len(PAGES) - 1)  # stages lead to the page that compares runs
    for index in range(len(PAGES) - 1):
        links.nth(index).click()
        expect(tab.get_by_test_id("stException")).to_have_count(0)


def test_the_menu_of_a_phone_opens_and_closes(page_at: Window) -> None:
    tab = page_at("/claims", 390, "dark")
    links = tab.locator(".st-key-pages").get_by_role("link")
    button = tab.get_by_role("button", name="Menu", exact=True)
    button.click()
    expect(links.first).to_be_focused()
    tab.keyboard.press("Escape")
    expect(links.first).to_be_hidden()
    button.click()
    links.filter(has_text="Gallery").click()
    expect(tab.get_by_role("heading", level=1)).to_contain_text("findings")
    expect(links.first).to_be_hidden()


@pytest.mark.parametrize(
    "width, colours", [(1400, "light"), pytest.param(390, "dark", marks=pytest.mark.long)]
)
def test_an_experiment_is_searched_and_chosen_by_keys(
    server: str, window: Window, width: int, colours: str
) -> None:
    """The panel shows all with their pictures, says which was seen, and closes on a choice."""
    tab = window(width, colours)
    go(tab, f"{server}/learners?experiment=diversity&at_once=false")
    names = list(registry.papers()["learners"].experiments)
    titles = {name: registry.experiment(f"learners.{name}").title for name in names}
    panel = tab.locator(".experiments")
    links = panel.get_by_role("link")
    tab.get_by_role("button", name=titles["diversity"]).click()
    expect(panel.get_by_role("heading")).to_have_text(["First", "Then", "Beyond"])
    expect(links.locator("b")).to_have_text(list(titles.values()))
    expect(panel.locator("img")).to_have_count(len(names))
    expect(panel.locator("[aria-current]")).to_contain_text(titles["diversity"])
    assert panel.evaluate("panel => panel.getBoundingClientRect().right") <= width
    search = panel.get_by_role("searchbox")
    search.fill("AWAY take")
    expect(links).to_have_count(1)
    search.press("Enter")
    reached(tab, lambda url: "experiment=rotation" in url and "at_once=false" in url)
    expect(panel).to_have_count(0)
    tab.get_by_role("button", name=titles["rotation"]).click()
    expect(links.filter(has_text="✓ seen")).to_have_count(1)
    search.press("ArrowDown")
    expect(links.first).to_be_focused()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Enter")
    reached(tab, f"**experiment={names[1]}")


@pytest.mark.long
def test_a_page_opens_by_its_link_on_a_fresh_server(
    serve: Callable[[], str], window: Window
) -> None:
    """Runs, claims and the toy are the first page of a server in other tests."""
    tab = go(window(), f"{serve()}/memformers")
    expect(tab.get_by_role("heading", level=1)).to_be_visible()
    expect(tab.get_by_text("Page not found")).to_have_count(0)
    expect(tab.get_by_test_id("stException")).to_have_count(0)


def test_claims_stand_in_a_table_and_a_chosen_verdict_leaves_its_claims(page_at: Window) -> None:
    tab = page_at("/claims?verdict=holds&paper=gdssm")
    claims = tab.locator(".claim-table tr:has(td)")
    expect(claims).not_to_have_count(0)
    expect(claims.filter(has_not_text="✓ holds")).to_have_count(0)
    claims.first.get_by_role("link", name="Evidence").click()
    dialog = tab.get_by_role("dialog")
    expect(dialog.locator(".scale")).to_be_visible()
    reached(tab, "**claim=gdssm.*")
    dialog.get_by_role("button", name="Close").click()
    reached(tab, lambda address: "claim=" not in address)
    expect(claims.filter(has_text="✓ holds").first).to_be_visible()


@pytest.mark.long
def test_a_claim_opens_the_stage_at_its_setting_with_its_panel_outlined(page_at: Window) -> None:
    tab = page_at("/claims?experiment=birth.steps")
    link = tab.get_by_role("link", name="Open W_O² recall on the stage")
    assert "marks=recalls" in (link.get_attribute("href") or "")
    link.click()
    reached(tab, "**/birth?experiment=steps*")
    seat = tab.locator("[class*=st-key-seat-][class*=recalls]")
    expect(seat.first).to_have_css("outline-style", "solid")

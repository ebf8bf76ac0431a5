"""What is saved for a talk: a panel or the stage as SVG and PDF in the page's type, and the film of
the clock."""

import io
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from conftest import until
from driver import go
from PIL import Image
from playwright.sync_api import Locator, Page, expect

import icl_core as icl
from icl_core.share import talk

Window = Callable[..., Page]
SVG = "{http://www.w3.org/2000/svg}"
SCREEN = (1920, 1080)
PAGE = "[0 0 1440 810]"  # of a PDF, in points: 1920 × 1080 pixels
# In every frame: what it would print is kept in the page, as a PDF it is made below.
KEEP_PRINTED = "window.print = () => (window.top.printed = document.documentElement.outerHTML)"


def saved(tab: Page, button: Locator) -> Path:
    """The file that a button saves."""
    with tab.expect_download() as download:
        button.click()
    return download.value.path()


def open_menu(tab: Page) -> None:
    tab.locator(".st-key-tools").get_by_role("button").last.click()
    expect(tab.get_by_role("button", name="Film", exact=True)).to_be_visible()


def texts_of(picture: str) -> str:
    """The texts that a picture adds to its charts, and a title's lines as one."""
    root = ElementTree.fromstring(picture)
    return " ".join(text.text or "" for text in root.iter(f"{SVG}text"))


def holds_type(picture: str) -> bool:
    """Whether the page's type is in the picture itself."""
    return bool(re.search(r'@font-face \{ font-family: "Source Sans".*url\(data:', picture))


def titles(tab: Page) -> list[str]:
    return tab.locator(".seat-title [data-title]").all_inner_texts()


def printed_pdf(tab: Page, button: Locator) -> bytes:
    """The PDF that the print window would save, which a button opens."""
    button.click()
    until(lambda: tab.evaluate("Boolean(window.printed)"), "something is printed")
    paper = tab.context.new_page()
    paper.set_content(tab.evaluate("window.printed"))
    pdf = paper.pdf(prefer_css_page_size=True, print_background=True)
    paper.close()
    return pdf


def assert_one_page(pdf: bytes, box: str) -> None:
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf)) == 1
    assert re.findall(rb"/MediaBox\s*(\[[^\]]*\])", pdf) == [box.encode()]


def test_a_panel_is_saved_with_its_title_in_the_page_s_type(window: Window, server: str) -> None:
    tab = window()
    tab.add_init_script(KEEP_PRINTED)
    go(tab, f"{server}/toy")
    tab.locator("[data-title=weights]").click()  # the large panel has tools
    chart = tab.locator(".st-key-chart-weights .js-plotly-plot")
    chart.hover()
    picture = saved(tab, chart.locator("[data-title='Save as SVG']")).read_text("utf-8")
    title = tab.locator("[data-title=weights]").inner_text()
    assert title in texts_of(picture) and holds_type(picture)
    size = [float(length) for length in re.findall(r'(?:width|height)="([\d.]+)"', picture)[:2]]
    points = " ".join(f"{round(0.75 * length, 2):g}" for length in size)
    pdf = printed_pdf(tab, chart.locator("[data-title='Save as PDF']"))
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf)) == 1
    (box,) = re.findall(rb"/MediaBox\s*\[0 0 ([^\]]*)\]", pdf)
    wanted = [float(length) for length in points.split()]
    assert [float(length) for length in box.split()] == pytest.approx(wanted, abs=1)


def test_the_stage_is_saved_as_a_picture_and_as_the_film_of_its_clock(
    window: Window, server: str
) -> None:
    tab = window(colours="dark")
    tab.add_init_script(KEEP_PRINTED)
    go(tab, f"{server}/toy")
    open_menu(tab)
    button = tab.get_by_role("button", name="SVG", exact=True)
    picture = saved(tab, button).read_text("utf-8")
    texts = texts_of(picture)
    root = ElementTree.fromstring(picture)
    assert len(root.findall(f"{SVG}svg")) == len(titles(tab)) >= 2  # each panel once
    assert all(title in texts for title in titles(tab))
    assert tab.locator(".headline").inner_text() in texts and "step 300" in texts
    assert holds_type(picture) and 'width="1920" height="1080"' in picture
    assert_one_page(printed_pdf(tab, tab.get_by_role("button", name="PDF", exact=True)), PAGE)
    film: Any = Image.open(saved(tab, tab.get_by_role("button", name="Film", exact=True)))
    snapshots = int(tab.locator(".clock input").get_attribute("max") or 0) + 1
    assert film.n_frames == snapshots > 5 and film.size == SCREEN
    pixels = []
    for frame in (0, snapshots - 1):
        film.seek(frame)
        pixels.append(film.convert("RGB"))
    assert max(pixels[0].getpixel((2, 2))) < 40  # dark paper
    assert pixels[0].tobytes() != pixels[1].tobytes()


def drawn(*of: Any) -> bytes:
    """What `talk.draw` returns in a thread of its own: in this one other tests' browser runs."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(talk.draw, *of).result()


@pytest.mark.long
@pytest.mark.parametrize("dark", [False, True])
def test_the_command_line_draws_the_same(dark: bool) -> None:
    run = icl.run("birth.induction")
    first, last = (run.view(step) for step in (0, None))
    picture = drawn("birth.induction", run.run, first, ".svg", dark).decode()
    assert holds_type(picture) and "step 0 of" in texts_of(picture)
    assert ("#0e1117" in picture) == dark
    assert_one_page(drawn("birth.induction", run.run, last, ".pdf", dark), PAGE)
    if dark:
        content = drawn("birth.induction", run.run, last, ".webp", dark)
        film: Any = Image.open(io.BytesIO(content))
        assert (film.n_frames, film.size) == (len(run.steps), SCREEN)

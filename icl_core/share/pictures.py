"""Figures as small pictures, taken in a Chromium: what the gallery shows.

A picture has one panel, or several beside each other under their titles. It is drawn by the Plotly
and in the type of the dashboard.
"""

import base64
import importlib.util
import io
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from icl_core.contract.figure import Figure, Trace
from icl_core.figures import frames
from icl_core.figures.stage_seat import narrowed
from icl_core.figures.style import FAMILY, INK, PAPER, TO_DARK, themed
from icl_core.share import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Page

PIXELS = (680, 440)  # of a picture
WIDTH, HEIGHT = 386, 250  # in which its figures are drawn, with the type of the stage
COLOURS = 256  # of a picture: its most frequent ones, and those between them, rounded to these
TITLE = 20  # of the height, for the titles of several panels
INDENT = 30  # of the width, left of the names of lines
MARGIN = 14  # right of a map, in place of its colour bar
BARE = {"l": 28, "r": 8, "t": 4, "b": 24}  # margins of one of several panels, without tick labels
MISSING = (
    "not taken: that needs Playwright and a Chromium "
    "(pip install -r tests/requirements.txt, then python tests/chromium.py)"
)

_SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-lcd-text",  # grey edges of letters, on every machine
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
)
_PAGE = """<!doctype html><meta charset="utf-8"><style>{font}
body {{ margin: 0; overflow: hidden }}
main {{ display: flex; align-items: center; height: 100vh }}
h1 {{ margin: 0; font: 14px/{title}px {family}; text-align: center; white-space: nowrap }}
</style><main></main><script>{plotly}</script><script>{script}</script>"""
_FONT = "@font-face {{ font-family: 'Source Sans'; font-weight: 200 900; src: url({source}) }}"


class NotTaken(Exception):
    """Pictures that could not be taken; its text says why, in a sentence."""


def scene(figures: Sequence[Figure], titles: Sequence[str], dark: bool) -> dict[str, Any]:
    """Return what a picture shows, as JSON: figures beside each other in one theme, with a title
    above each if there are several."""
    colours = TO_DARK if dark else {}
    width = WIDTH // len(figures)
    panels: list[dict[str, Any]] = []
    for figure, title in zip(figures, titles, strict=True):
        drawn = _fitted(themed(figure, dark), width)
        if len(figures) == 1:
            panels.append({"title": "", **drawn.update_layout(height=HEIGHT).to_dict()})
        else:
            _bare(drawn).update_layout(height=HEIGHT - TITLE)
            panels.append({"title": title, **drawn.to_dict()})
    return {"panels": panels, "ink": colours.get(INK, INK), "paper": colours.get(PAPER, PAPER)}


def take(scenes: Sequence[dict[str, Any]]) -> list[bytes]:
    """Return pictures of scenes as lossless WebP, each of PIXELS.

    Raises `NotTaken` if there is no Chromium, or if it cannot draw them.
    """
    with ThreadPoolExecutor(1) as thread:  # Playwright refuses a thread that has an event loop
        return thread.submit(_take, scenes).result()


def _take(scenes: Sequence[dict[str, Any]]) -> list[bytes]:
    with open_page("the gallery's pictures were", (WIDTH, HEIGHT), PIXELS[0] / WIDTH) as page:
        page.set_content(_page())
        taken: list[bytes] = []
        for each in scenes:
            page.evaluate("(scene) => drawPicture(scene)", each)
            taken.append(_small(page.screenshot()))
        return taken


@contextmanager
def open_page(what: str, size: tuple[int, int], scale: float = 1.0) -> Iterator["Page"]:
    """Yield an empty page of a Chromium, of some size and with `scale` pixels for each of its own.

    Raises `NotTaken`, whose text begins with `what`, such as "the pictures were", if there is no
    Chromium, or if it cannot do what it is told.
    """
    path = chromium.find()
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        path = None
    if path is None:
        raise NotTaken(f"{what} {MISSING}")
    viewport: Any = dict(zip(("width", "height"), size, strict=True))
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=list(_SWITCHES))
            yield browser.new_page(viewport=viewport, device_scale_factor=scale)
            browser.close()
    except Error as problem:
        reason = str(problem).partition("\n")[0]
        raise NotTaken(f"{what} not taken: {reason}") from problem


def _page() -> str:
    from plotly.offline import get_plotlyjs

    script = frames.browser_file("picture.js")
    return _PAGE.format(
        font=font_rule(), family=FAMILY, title=TITLE, plotly=get_plotlyjs(), script=script
    )


def font_rule() -> str:
    """Return the rule for the dashboard's own type, which Streamlit brings with it; empty where it
    is not installed."""
    streamlit = importlib.util.find_spec("streamlit")
    for folder in (streamlit and streamlit.submodule_search_locations) or ():
        for file in Path(folder).glob("static/static/media/SourceSansVF-Upright*.woff2"):
            source = base64.b64encode(file.read_bytes()).decode()
            return _FONT.format(source=f"data:font/woff2;base64,{source}")
    return ""


def _small(screenshot: bytes) -> bytes:
    """Return a PNG as WebP with the most frequent of its colours, which takes a quarter of it."""
    from PIL import Image

    picture = Image.open(io.BytesIO(screenshot)).convert("RGB")
    pixels = np.asarray(picture).reshape(-1, 3).astype(np.int32) @ [2**16, 2**8, 1]
    codes, where, counts = np.unique(pixels, return_inverse=True, return_counts=True)
    colours = codes[:, None] >> [16, 8, 0] & 255  # (colours, 3)
    frequent = colours[np.argsort(-counts, kind="stable")[:COLOURS]]
    # squared distances, but for what all distances of a colour share
    distances = (frequent**2).sum(1) - 2 * colours @ frequent.T  # (colours, frequent)
    rounded = frequent[distances.argmin(1)][where].astype(np.uint8)
    file = io.BytesIO()
    shape = (picture.height, picture.width, 3)
    Image.fromarray(rounded.reshape(shape)).save(file, "WEBP", lossless=True, quality=100)
    return file.getvalue()


def _fitted(figure: Figure, width: int) -> Figure:
    """Return a copy of a figure of some width, without its colour bars; the names of its lines
    stand in rows that fit."""
    traces = [
        Trace(**trace).update(showscale=False) if trace["type"] == "heatmap" else trace
        for trace in figure.data
    ]
    copy = narrowed(Figure(traces, figure.layout), width - INDENT)
    scales = [name for name in copy.layout if name.startswith("coloraxis")]
    for name in scales:
        copy.update_layout({name: {"showscale": False}})
    if scales and copy.layout["margin"]["r"] > MARGIN:
        copy.update_layout(margin={"r": MARGIN})
    return copy.update_layout(width=width)


def _bare(figure: Figure) -> Figure:
    """Take a figure's tick labels and the room for them away, and return it."""
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(showticklabels=False, ticks="", automargin=False)
    return figure.update_layout(margin=BARE)

"""A run's stage for a talk, drawn in a Chromium by the script of the dashboard's menu (talk.js): a
picture of 1920 × 1080 pixels as SVG or PDF, and the film of the clock as an animated WebP."""

import base64
from typing import Any

from icl_core import registry
from icl_core.contract.experiment import Run
from icl_core.figures.frames import browser_file
from icl_core.figures.style import FAMILY, INK, PAPER, TO_DARK
from icl_core.share import pictures
from icl_core.share.stage_page import stage_data

ENDINGS = (".svg", ".pdf", ".webp")
_PAGE = """<!doctype html><meta charset="utf-8"><style>{font}</style>
<script>{plotly}</script><script>{script}</script>"""


def draw(experiment_id: str, run: Run, view: Any, ending: str, dark: bool = False) -> bytes:
    """Return the file with one of ENDINGS: a picture at the snapshot that the view shows, or the
    film.

    Raises `CannotDraw` if no panel of the stage can be drawn, and `pictures.NotTaken` without a
    Chromium.
    """
    from plotly.offline import get_plotlyjs

    data = stage_data(registry.experiment(experiment_id), run, view, dark)
    colours = TO_DARK if dark else {}
    look = {
        "ink": colours.get(INK, INK),
        "paper": colours.get(PAPER, PAPER),
        "family": FAMILY,
    }
    script = "".join(map(browser_file, ("picture_parts.js", "talk.js")))
    with pictures.open_page("the stage was", (1280, 720)) as page:
        page.set_content(
            _PAGE.format(font=pictures.font_rule(), plotly=get_plotlyjs(), script=script)
        )
        page.evaluate("(family) => document.fonts.load(`16px ${family}`)", FAMILY)
        drawn = page.evaluate("(of) => drawnStage(...of)", [data, look, ending])
        if ending == ".webp":
            return base64.b64decode(drawn.partition(",")[2])
        if ending == ".svg":
            return drawn.encode()
        page.set_content(drawn)
        return page.pdf(prefer_css_page_size=True, print_background=True)

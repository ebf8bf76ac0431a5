"""The site's page, script and style: those of the dashboard, and what takes Streamlit's place.

The dashboard's scripts are modules, each of which exports a function that Streamlit calls. Here
each becomes a function of its own, whose result is what it exported.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path

from icl_core.figures.frames import browser_file, clock_script
from icl_core.figures.style import CONFIG, TO_DARK
from icl_core.site import training

_BROWSER = Path(__file__).parent / "browser"
# Copied as they are: plotly.js for Cartesian charts (npm's plotly.js-cartesian-dist-min 4.1.1), and
# the dashboard's type (@fontsource-variable/source-sans-3 5.3.1), each with its licence.
COPIED = tuple(
    _BROWSER / name
    for name in (
        *("plotly-cartesian.min.js", "plotly-LICENSE.txt"),
        *("source-sans-latin.woff2", "source-sans-greek.woff2", "source-sans-LICENSE.txt"),
    )
)
_COMPONENTS = {
    "iclWiden": lambda: browser_file("parts.js") + "\nreturn widen;",
    "iclClock": lambda: clock_script(),
    "iclLargePanel": lambda: browser_file("large_panel.js") + "\nreturn keepOneLarge;",
    "iclFigures": lambda: browser_file("figures.js") + "\nreturn keepFiguresNamed;",
    "iclWords": lambda: browser_file("words.js"),
    "iclSlider": lambda: (
        browser_file("atlas_slider.js").partition("\nconst takeSlider")[0] + "\nreturn AtlasSlider;"
    ),
    "iclLinks": lambda: browser_file("plotly_parts.js") + browser_file("links.js"),
    "iclDiagram": lambda: browser_file("diagram.js"),
    "iclTabTraining": lambda: training.page_script() + "\nreturn TabTraining;",
}
_SCRIPTS = (
    "data.js",
    "theme.js",
    "address.js",
    "parts.js",
    "state.js",
    "story.js",
    "stage.js",
    "drawers.js",
    "sidebar.js",
    "experiment.js",
    "lists.js",
    "site.js",
)
_STYLES = (
    *("page.css", "script.css", "transport.css", "clock.css", "atlas_slider.css", "diagram.css"),
    *("links.css", "gallery.css"),
)
# What names in the styles stand for: (light, dark), as in .streamlit/config.toml and look/style.py.
_COLOURS = {
    "SIDEBAR": ("#F4F6F8", "#1A1F27"),
    "BACKGROUND": ("#FFFFFF", TO_DARK["#ffffff"]),
    "FAINT": ("#5C6470", "#A6ADB8"),
    "ON_PRIMARY": ("#FFFFFF", "#0E1117"),
    "LINK": ("#005A8D", "#7CC5F0"),
    "INK": ("#1D2126", "#E7E9EC"),
    "PRIMARY": ("#00639C", "#56B4E9"),
}


def files() -> dict[str, str]:
    """Return the text of each file of the page, by its name."""
    return {
        "index.html": _read("index.html"),
        "site.js": _script(_COMPONENTS, _SCRIPTS),
        "site.css": style(),
        "projector.css": browser_file("projector.css"),
    }


def _read(name: str) -> str:
    return (_BROWSER / name).read_text(encoding="utf-8")


def stage_script() -> str:
    """Return the script of a page that shows a stage alone: the class `Stage`, and `LOOK`, by which
    it draws figures."""
    look = {"colours": TO_DARK, "plotly": CONFIG}
    script = _script(("iclWiden", "iclClock"), ("data.js", "theme.js", "parts.js", "stage.js"))
    return f"{script}const LOOK = {json.dumps(look)};\n"


def _script(components_used: Iterable[str], names: Iterable[str]) -> str:
    components = "".join(
        f"const {name} = (() => {{\n{_as_value(_COMPONENTS[name]())}\n}})();\n"
        for name in components_used
    )
    clock = f"const CLOCK = {json.dumps(browser_file('clock.html'))};\n"
    return f'"use strict";\n{components}{clock}' + "".join(map(_read, names))


def _as_value(module: str) -> str:
    """Return a module as the body of a function that returns what it exports."""
    return module.replace("export default function", "return function")


def style(more: str = "") -> str:
    """Return the style: the dashboard's, and `more`, with variables in place of the names of
    colours."""
    css = "".join(map(browser_file, _STYLES)) + _wide_figures() + more
    for name in _COLOURS:
        css = re.sub(rf"\b{name}\b", f"var(--icl-{name.lower()})", css)
    themes = "".join(
        f"{selector} {{ color-scheme: {scheme}; "
        + "".join(f"--icl-{name.lower()}: {colours[index]}; " for name, colours in _COLOURS.items())
        + "}\n"
        for index, (selector, scheme) in enumerate(
            ((":root", "light"), (":root[data-dark]", "dark"))
        )
    )
    return themes + css + training.page_style() + _read("site.css")


def _wide_figures() -> str:
    """Return how figures that cannot reflow scroll on a narrow screen."""
    css = browser_file("wide_figures.css")
    text = ""
    for place, width, hint, scrolls in (
        ("panel", "1150px", "scroll the figure sideways", ""),
        ("seat", "900px", "scroll", ":has(.heatmaplayer, .barlayer)"),
    ):
        own = css.replace("NARROW", width).replace("HINT", hint)
        text += own.replace("WIDE", f'[class*="st-key-{place}-wide-"]{scrolls}')
    return text

"""The drawer "The model": its diagram, in which a matrix opens the panel that shows it."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import streamlit as st

from icl_core.contract.diagram import Box, Diagram
from icl_core.contract.experiment import STAGE, Drawing, Run
from icl_core.figures.model_svg import model_svg_text, picture
from pages.ui.link import address
from pages.ui.link.address import Setting
from pages.ui.stage import panels
from pages.ui.story import beats, prediction

MODEL = "The model"
_BROWSER = Path(__file__).parents[1] / "browser"
_DIAGRAM = st.components.v2.component(
    "icl_diagram",
    html='<div class="diagram"></div>',
    css=(_BROWSER / "diagram.css").read_text(encoding="utf-8"),
    js=(_BROWSER / "diagram.js").read_text(encoding="utf-8"),
    isolate_styles=False,
)
_KEY = {
    "trained": "learned in this training",
    "given": "given by you",
    "construction": "written down",
    "frozen": "random, as it began",
    "computed": "computed from the prompt",
}


def show(setting: Setting, run: Run) -> None:
    """Draw the model of a run, its matrices as they are where the clock rests."""
    if setting.experiment.diagram is None:
        return
    found: Diagram = setting.experiment.diagram(run.config)
    drawings = {each.name: each for each in setting.experiment.drawings if each.applies(run.config)}
    shown = {box.name: drawings[box.opens] for box in found.boxes if box.opens in drawings}
    titles = {name: _where(each) for name, each in shown.items()}
    hidden = prediction.hidden_parts(
        setting, run, beats.current(setting, run, beats.playable_beats(setting, run, pending=False))
    )
    seen = [box for box in found.boxes if box.part is not None and box.opens not in hidden]
    pictures = {box.name: _picture(setting, run, shown[box.name], box) for box in seen}
    st.markdown(found.say)
    places = {name: each.name.replace(" ", "-") for name, each in shown.items()}
    key = f"diagram of {setting.id}"
    data = {"svg": model_svg_text(found, titles, pictures), "panels": places}
    _DIAGRAM(key=key, data=data, on_opened_change=partial(_opened, setting, key, shown, found))
    kinds = dict.fromkeys(box.kind for box in found.boxes if box.kind in _KEY)
    words = "".join(f'<span class="{kind}">{_KEY[kind]}</span>' for kind in kinds)
    st.html(f'<p class="key">{words}</p>')
    st.caption("Click an underlined box, or press Enter on it: its panel is outlined.")


def _where(drawing: Drawing) -> str:
    return "its panel above" if drawing.place == STAGE else f"the drawer {drawing.place}"


def _picture(setting: Setting, run: Run, drawing: Drawing, box: Box) -> str:
    with panels.report_faults(setting, drawing.name):
        own = replace(setting, view=replace(setting.view, **box.view))
        figure = panels.cached_panel(own, drawing, run).figure
        return picture(figure, box.part or 0, box.rows) if figure is not None else ""
    return ""


def _opened(setting: Setting, key: str, shown: dict[str, Drawing], found: Diagram) -> None:
    """Outline the panel of the box that was chosen, and open its drawer."""
    name = (st.session_state.get(key) or {}).get("opened")
    box = next((each for each in found.boxes if each.name == name), None)
    if box is None or box.name not in shown:
        return
    base = address.base_view(setting.experiment, setting.preset)
    drawing = shown[box.name]
    wanted = {field: (value, getattr(base, field)) for field, value in box.view.items()}
    wanted |= {"marks": (drawing.name, "")} | (
        {"drawer": (drawing.place, "")} if drawing.place != STAGE else {}
    )
    address.write_all(wanted)

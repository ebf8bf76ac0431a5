"""The drawer "The model": the model's diagram, in which a matrix opens the panel that shows it."""

from collections.abc import Collection
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

MODEL = "The model"
_BROWSER = Path(__file__).parents[1] / "browser"
_DIAGRAM = st.components.v2.component(
    "icl_diagram",
    html='<div class="diagram"></div>',
    css=(_BROWSER / "diagram.css").read_text(encoding="utf-8"),
    js=(_BROWSER / "diagram.js").read_text(encoding="utf-8"),
    isolate_styles=False,
)
_KINDS = {
    "trained": "learned in this training",
    "given": "given by you",
    "construction": "written down",
    "frozen": "random, as it began",
    "computed": "computed from the prompt",
}


def show(setting: Setting, run: Run, hidden: Collection[str]) -> None:
    """Draw the diagram of a run's model, its matrices as they are where the clock rests, without
    those of the panels that are `hidden`."""
    if setting.experiment.diagram is None:
        return
    diagram: Diagram = setting.experiment.diagram(run.config)
    by_name = {
        drawing.name: drawing
        for drawing in setting.experiment.drawings
        if drawing.applies(run.config)
    }
    # the drawing that each box opens, by the box's name
    opened = {box.name: by_name[box.opens] for box in diagram.boxes if box.opens in by_name}
    titles = {name: _place(drawing) for name, drawing in opened.items()}
    pictures = {
        box.name: _picture(setting, run, opened[box.name], box)
        for box in diagram.boxes
        if box.part is not None and box.opens not in hidden
    }
    st.markdown(diagram.say)
    panel_names = {name: drawing.name.replace(" ", "-") for name, drawing in opened.items()}
    key = f"diagram of {setting.id}"
    _DIAGRAM(
        key=key,
        data={"svg": model_svg_text(diagram, titles, pictures), "panels": panel_names},
        on_opened_change=partial(_open, setting, key, opened, diagram),
    )
    kinds = dict.fromkeys(box.kind for box in diagram.boxes if box.kind in _KINDS)
    legend = "".join(f'<span class="{kind}">{_KINDS[kind]}</span>' for kind in kinds)
    st.html(f'<p class="key">{legend}</p>')
    st.caption("Click an underlined box, or press Enter on it: its panel is outlined.")


def _place(drawing: Drawing) -> str:
    return "its panel above" if drawing.place == STAGE else f"the drawer {drawing.place}"


def _picture(setting: Setting, run: Run, drawing: Drawing, box: Box) -> str:
    with panels.report_faults(drawing.name):
        box_setting = replace(setting, view=replace(setting.view, **box.view))
        figure = panels.cached_panel(box_setting, drawing, run).figure
        return picture(figure, box.part or 0, box.rows) if figure is not None else ""
    return ""


def _open(setting: Setting, key: str, opened: dict[str, Drawing], diagram: Diagram) -> None:
    """Outline the panel of the box that was chosen, and open its drawer."""
    name = (st.session_state.get(key) or {}).get("opened")
    box = next((box for box in diagram.boxes if box.name == name), None)
    if box is None or box.name not in opened:
        return
    base = setting.base_view
    drawing = opened[box.name]
    fields = {field: (value, getattr(base, field)) for field, value in box.view.items()}
    fields["marks"] = (drawing.name, "")
    if drawing.place != STAGE:
        fields["drawer"] = (drawing.place, "")
    address.write_all(fields)

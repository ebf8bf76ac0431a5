"""What a page of the site draws of one run: its stage with the frames of its clock, its drawers.

Figures are in the light theme; the browser draws them in the dark one (site/browser/theme.js).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any

from icl_core.contract import knobs
from icl_core.contract.drawers import group_of
from icl_core.contract.experiment import STAGE, CannotDraw, Drawing, Experiment, Panel, Run
from icl_core.contract.figure import sendable
from icl_core.contract.knobs import BadSetting
from icl_core.contract.settings_io import setting_line
from icl_core.contract.story import HEADLINE
from icl_core.figures.frames import round_maps, tag_figure
from icl_core.figures.svg import model_svg_text, picture
from icl_core.share.stage_films import (
    figure_message,
    film_id,
    moves,
    relevant_view,
    seating,
    stage_drawings,
    states_message,
    steps_of,
    view_at,
)

MODEL = "The model"
KINDS = {
    "trained": "learned in this training",
    "given": "given by you",
    "construction": "written down",
    "frozen": "random, as it began",
    "computed": "computed from the prompt",
}


def stage(experiment: Experiment, id: str, run: Run, view: Any, preset: Any) -> dict[str, Any]:
    """Return the stage of a run as the browser draws it, its clock where the view shows it.

    `preset` is the config beside which the setting is told in a line.
    """
    steps = steps_of(run, view)
    drawings = stage_drawings(experiment, run)
    label = knobs.knobs_of(experiment.view)["snapshot"].label if steps else ""
    return {
        "run": run.digest[:16],
        "steps": steps or [0],
        "at": run.snapshot_at(view) if steps else 0,
        "clock": label,
        "ticks": [(step, name) for name, step in experiment.milestones(run).items()],
        "headlines": headlines(experiment, run, view),
        "line": setting_line(run.config, preset),
        "seating": seating(drawings),
        "panels": [seat(experiment, id, drawing, run, view) for drawing in drawings],
        "drawers": drawer_names(experiment, run),
    }


def snapshot(
    experiment: Experiment, id: str, run: Run, view: Any, preset: Any, hidden: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the stage at the view's snapshot, as the browser draws it, with nothing of the other
    snapshots; without what `hidden` names, which are panels and HEADLINE."""
    steps = steps_of(run, view)
    drawings = [
        drawing for drawing in stage_drawings(experiment, run) if drawing.name not in hidden
    ]
    return {
        "title": experiment.title,
        "run": run.digest[:16],
        "steps": [run.step(view) if steps else 0],
        "last": steps[-1] if steps else 0,
        "clock": knobs.knobs_of(experiment.view)["snapshot"].label if steps else "",
        "ticks": [],
        "headlines": ["" if HEADLINE in hidden else experiment.headline(run, view)],
        "line": setting_line(run.config, preset),
        "seating": seating(drawings) if drawings else "",
        "panels": [_still_seat(experiment, id, drawing, run, view) for drawing in drawings],
    }


def _still_seat(
    experiment: Experiment, id: str, drawing: Drawing, run: Run, view: Any
) -> dict[str, Any]:
    """Return a panel of the stage at the view's snapshot, as a film of one state."""
    named = {"name": drawing.name, "wide": drawing.wide}
    view = relevant_view(experiment, drawing, view)
    film = film_id(f"{run.digest} {id} {drawing.name} {knobs.values(view)}")
    try:
        panel = tag_figure(round_maps(drawing.panel(run, view)), film, 0)
    except (CannotDraw, BadSetting) as problem:
        return {**named, "problem": str(problem)}
    return named | _seated(drawing, run, film, [panel])


def headlines(experiment: Experiment, run: Run, view: Any) -> list[str]:
    """Return the headline of each snapshot."""
    count = len(steps_of(run, view)) or 1
    return [experiment.headline(run, view_at(view, index)) for index in range(count)]


def seat(experiment: Experiment, id: str, drawing: Drawing, run: Run, view: Any) -> dict[str, Any]:
    """Return a panel of the stage: what the dashboard sends of it, and the texts of its seat. A
    drawing that shows nothing says why as its `problem`."""
    named = {"name": drawing.name, "wide": drawing.wide}
    try:
        panels = film_panels(experiment, id, drawing, run, view)
    except (CannotDraw, BadSetting) as problem:
        return {**named, "problem": str(problem)}
    return named | _seated(drawing, run, film_of(experiment, id, drawing, run, view), panels)


def _seated(drawing: Drawing, run: Run, film: str, panels: Sequence[Panel]) -> dict[str, Any]:
    """Return what is sent of a drawing's film, whose panels are tagged, and the texts of its
    seat."""
    last = panels[-1]
    message = (drawing.name, run.digest[:16], film)
    axis = last.figure.layout.get("xaxis", {}) if last.figure is not None else {}
    return {
        **figure_message(*message, last),
        **states_message(*message, panels, without_last=len(panels) > 1),
        "note": last.note,
        "whose": last.whose,
        "low": not axis.get("title", {}).get("text"),  # no row of an axis title
        "needs": last.figure.needed if last.figure is not None else (0, 0),
    }


def film_panels(
    experiment: Experiment, id: str, drawing: Drawing, run: Run, view: Any
) -> list[Panel]:
    """Return a drawing's panel at every snapshot, or the only one of a drawing that does not
    move."""
    view = _first_view(experiment, drawing, run, view)
    is_moving = moves(drawing, run, view)
    film = film_of(experiment, id, drawing, run, view)
    panels: list[Panel] = []
    for index in range(len(run.snapshot_steps) if is_moving else 1):
        panel = drawing.panel(run, view_at(view, index) if is_moving else view)
        panels.append(tag_figure(round_maps(panel), film, index if is_moving else None))
    return panels


def film_of(experiment: Experiment, id: str, drawing: Drawing, run: Run, view: Any) -> str:
    """Return the name of a drawing's film: equal ones show the same."""
    view = _first_view(experiment, drawing, run, view)
    return film_id(f"{run.digest} {id} {drawing.name} {knobs.values(view)}")


def _first_view(experiment: Experiment, drawing: Drawing, run: Run, view: Any) -> Any:
    """Return the view of the first snapshot, as far as a drawing depends on the view; what does not
    move, as it shows a seed without snapshots, is drawn where the view stands."""
    is_still = drawing.moving and drawing.is_still(run, view)
    return relevant_view(experiment, drawing, view if is_still else view_at(view, 0))


def drawer_names(experiment: Experiment, run: Run) -> list[tuple[str, str]]:
    """Return the drawers that hold figures of a run, each with its group."""
    names: dict[str, None] = {MODEL: None} if experiment.diagram else {}
    for drawing in experiment.drawings:
        if drawing.place != STAGE and drawing.applies(run.config):
            names[drawing.place] = None
    return [(name, group_of(name)) for name in names]


def drawer(experiment: Experiment, run: Run, view: Any, name: str) -> dict[str, Any]:
    """Return the panels of a drawer, at the last snapshot; of the drawer MODEL the diagram."""
    if name == MODEL:
        return {"diagram": _diagram(experiment, run, view)}
    drawings = [
        drawing
        for drawing in experiment.drawings
        if drawing.place == name and drawing.applies(run.config)
    ]
    return {"panels": [_drawer_panel(drawing, run, view) for drawing in drawings]}


def _drawer_panel(drawing: Drawing, run: Run, view: Any) -> dict[str, Any]:
    named = {"name": drawing.name, "wide": drawing.wide}
    try:
        panel = drawing.panel(run, view)
    except (CannotDraw, BadSetting) as problem:
        return {**named, "problem": str(problem)}
    texts = {"title": panel.title, "caption": panel.caption, "note": panel.note}
    if panel.figure is not None:
        round_maps(panel)
        message = figure_message(drawing.name, run.digest[:16], "", tag_figure(panel, ""))
        return {**named, **texts, **message, "needs": panel.figure.needed}
    return {**named, **texts, "table": _table(panel)}


def _table(panel: Panel) -> dict[str, Any]:
    """Return a panel's table: the names of its columns, and its rows as texts."""
    if panel.table is None:
        return {"columns": [], "rows": []}
    rows = [[_cell(value) for value in row] for row in panel.table.itertuples(index=False)]
    return {"columns": [str(name) for name in panel.table.columns], "rows": rows}


def _cell(value: Any) -> str:
    plain = sendable(value)
    if plain is None:
        return "–"
    text = f"{plain:.4g}" if isinstance(plain, float) else str(plain)
    return text.replace("-", "\N{MINUS SIGN}") if isinstance(plain, int | float) else text


def _diagram(experiment: Experiment, run: Run, view: Any) -> dict[str, Any]:
    """Return the diagram of a run's model as SVG, which panel each box opens and in which drawer,
    and the kinds of its boxes in words."""
    assert experiment.diagram is not None
    diagram = experiment.diagram(run.config)
    by_name = {
        drawing.name: drawing for drawing in experiment.drawings if drawing.applies(run.config)
    }
    opened = {box.name: by_name[box.opens] for box in diagram.boxes if box.opens in by_name}
    titles: dict[str, str] = {}
    for name, drawing in opened.items():
        is_above = drawing.place == STAGE
        titles[name] = "its panel above" if is_above else f"the drawer {drawing.place}"
    pictures: dict[str, str] = {}
    for box in diagram.boxes:
        if box.part is not None and box.name in opened:
            figure = _figure(opened[box.name], run, view, box.view)
            pictures[box.name] = picture(figure, box.part, box.rows) if figure else ""
    kinds = dict.fromkeys(box.kind for box in diagram.boxes if box.kind in KINDS)
    legend = "".join(f'<span class="{kind}">{escape(KINDS[kind])}</span>' for kind in kinds)
    places = {
        name: [drawing.name, "" if drawing.place == STAGE else drawing.place]
        for name, drawing in opened.items()
    }
    return {
        "say": diagram.say,
        "svg": model_svg_text(diagram, titles, pictures),
        "opens": places,
        "legend": legend,
    }


def _figure(drawing: Drawing, run: Run, view: Any, fields: Mapping[str, Any]) -> Any:
    """Return a drawing's figure in a view with some fields set; None if it shows nothing."""
    try:
        return drawing.panel(run, replace(view, **fields)).figure
    except (CannotDraw, BadSetting):
        return None


def changed_panels(
    experiment: Experiment, id: str, run: Run, view: Any, base: Any
) -> Sequence[dict[str, Any]]:
    """Return the panels of the stage that another view than the base view shows otherwise."""
    return [
        seat(experiment, id, drawing, run, view)
        for drawing in stage_drawings(experiment, run)
        if film_of(experiment, id, drawing, run, view)
        != film_of(experiment, id, drawing, run, base)
    ]


def changed_drawers(experiment: Experiment, run: Run, view: Any, base: Any) -> dict[str, None]:
    """Return the names of the drawers that another view than the base view shows otherwise."""
    return {
        drawing.place: None
        for drawing in experiment.drawings
        if drawing.place != STAGE
        and drawing.applies(run.config)
        and relevant_view(experiment, drawing, view) != relevant_view(experiment, drawing, base)
    }

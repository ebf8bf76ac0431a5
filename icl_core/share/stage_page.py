"""The stage of a run with its clock, as one page that needs neither a server nor a network: Plotly
and the stage's script (`figures/browser/stage.js`) are within it."""

import html
import json
from dataclasses import replace
from typing import Any

from icl_core import figures, registry
from icl_core.contract.experiment import STAGE, CannotDraw, Drawing, Experiment, Panel, Run
from icl_core.contract.knobs import knobs_of, values
from icl_core.figures.frames import browser_file, clock_frames, film_script, tag_figure

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>{css}</style><script>{plotly}</script></head>
<body><main></main>
<script type="application/json" id="settings">{settings}</script>
<script type="application/json" id="stage">{stage}</script>
<script type="module">
{script}
const stage = JSON.parse(document.getElementById("stage").textContent);
new Stage(document.querySelector("main"), stage, window, () => {{}});
</script></body></html>
"""
HEIGHT = 760  # pixels of the stage in a notebook


def html_text(experiment_id: str, run: Run, view: Any) -> str:
    """Return the page of a run's stage, whose clock begins at the snapshot that the view shows. It
    also holds the settings of run and view, as JSON.

    Raises `CannotDraw` if no panel of the stage can be drawn.
    """
    from plotly.offline import get_plotlyjs

    experiment = registry.experiment(experiment_id)
    settings = {
        "experiment": experiment_id,
        "version": registry.version(experiment_id),
        "settings": values(run.config),
        "view": values(view),
        "digest": run.digest,
    }
    return _PAGE.format(
        title=html.escape(experiment.title),
        css=style(),
        plotly=get_plotlyjs(),
        settings=script_json(settings),
        stage=script_json(stage_data(experiment, run, view)),
        script=script(),
    )


def in_notebook(page: str) -> str:
    """Return a frame that holds a page, for a notebook's output: it runs offline, and also in the
    notebook's static HTML."""
    source = html.escape(page, quote=True)
    style = f"width: 100%; height: {HEIGHT}px; border: 0; background: #fff"
    return f'<iframe title="stage" srcdoc="{source}" style="{style}"></iframe>'


def script() -> str:
    """Return the script of a stage with its clock."""
    return film_script() + browser_file("stage.js")


def style() -> str:
    """Return the CSS of a stage with its clock. It holds within the stage alone, so that a notebook
    around it keeps its own."""
    transport, stage = map(browser_file, ("transport.css", "stage.css"))
    return f".icl-stage {{ {transport} }}\n{stage}"


def stage_data(experiment: Experiment, run: Run, view: Any, dark: bool = False) -> dict[str, Any]:
    """Return what the script draws: titles, headlines, steps and panels with their frames (see
    stage.js). Raises `CannotDraw` if no panel of the stage can be drawn."""
    moves = bool(run.snapshot_steps) and "snapshot" in knobs_of(experiment.view)
    views = [view]
    if moves:
        views = [replace(view, snapshot=index) for index in range(len(run.snapshot_steps))]
    at = run.snapshot_at(view) if moves else 0
    panels: list[dict[str, Any]] = []
    for drawing in experiment.drawings:
        if drawing.place == STAGE and drawing.applies(run.config):
            moving = views if drawing.moving else [view]
            panels.extend(_panel(drawing, run, moving, at, dark))
    if not panels:
        raise CannotDraw("Nothing of this run's stage can be drawn.")
    return {
        "title": experiment.title,
        "steps": run.snapshot_steps if moves else [],
        "clock": knobs_of(experiment.view)["snapshot"].label if moves else "",
        "ticks": [(step, name) for name, step in experiment.milestones(run).items()],
        "headlines": [experiment.headline(run, shown_view) for shown_view in views],
        "at": at,
        "config": figures.CONFIG,
        "panels": panels,
    }


def _panel(
    drawing: Drawing, run: Run, views: list[Any], at: int, dark: bool
) -> list[dict[str, Any]]:
    """Return a drawing's panel at each view as one for the script, drawn at the snapshot `at`; none
    if it is a table, or cannot be drawn."""
    try:
        panels = [drawing.panel(run, view) for view in views]
    except CannotDraw:
        return []
    states: list[Panel] = []
    for index, panel in enumerate(panels):
        if panel.figure is not None:
            panel = replace(panel, figure=figures.themed(panel.figure, dark))
        states.append(tag_figure(panel, drawing.name, index))
    pictures = [panel.figure.to_dict() for panel in states if panel.figure is not None]
    if not pictures:
        return []
    last = states[-1]
    panel = {
        "name": drawing.name,
        "titles": [state.title for state in states],
        "caption": last.caption,
        "note": last.note,
        "wide": drawing.wide,
        "figure": pictures[min(at, len(pictures) - 1)],
        "frames": clock_frames(pictures) if len(pictures) > 1 else [],
    }
    return [panel]


def script_json(value: Any) -> str:
    """Return JSON that can stand in a script of a page: no text in it can end the script."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")

"""A stage as the browser plays it, in the dashboard and on the site: which drawings stand on it,
how they are seated, and what is sent of each: its whole figure, and its frames."""

import json
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from icl_core.contract import knobs
from icl_core.contract.experiment import STAGE, Drawing, Experiment, Panel, Run
from icl_core.contract.knobs import BadSetting
from icl_core.figures.frames import clock_frames, in_three_bytes


def stage_drawings(experiment: Experiment, run: Run) -> list[Drawing]:
    """Return the drawings that stand on the stage for a run."""
    return [
        drawing
        for drawing in experiment.drawings
        if drawing.place == STAGE and drawing.applies(run.config)
    ]


def seating(drawings: Sequence[Drawing]) -> str:
    """Return the key of the stage's container, by which page.css lays it out: the first panel is
    large, until the visitor makes another one large. The others stand in a row of two to four seats
    below it if it is wide, else beside it in one or two rows of one to three seats; of these a wide
    panel takes two.
    """
    first, *others = drawings
    if not others:
        return "stage-1x1"
    seats = sum(2 if drawing.wide else 1 for drawing in others)
    if first.wide and len(others) > 1:
        return f"stage-lead-top-{seats}"
    rows = min(2, len(others))
    columns = 1 if len(others) <= 2 else -(-seats // 2)
    # where a seat is left over, the last panel takes it, too
    is_spare = columns > 1 and seats % 2
    return f"stage-lead-left-{columns}by{rows}{'-spare' * is_spare}"


def steps_of(run: Run, view: Any) -> list[int]:
    """Return the training steps of the snapshots that the clock can play in a run and a view; none
    if there are no snapshots."""
    return run.snapshot_steps if hasattr(view, "snapshot") else []


def view_at(view: Any, index: int) -> Any:
    """Return the view of the snapshot `index`; `view` itself if it has no snapshots."""
    return replace(view, snapshot=index) if hasattr(view, "snapshot") else view


def relevant_view(experiment: Experiment, drawing: Drawing, view: Any) -> Any:
    """Return a view of an experiment with every field on which `drawing` does not depend at its
    default, so that these fields do not make it be drawn again."""
    view_knobs = knobs.knobs_of(experiment.view)
    all_fields = {field for other in experiment.drawings for field in other.knobs}
    irrelevant = all_fields - knobs.fields_that_matter(view, drawing.knobs)
    if not drawing.moving:
        irrelevant |= {"snapshot"}
    defaults = {field: knob.default for field, knob in view_knobs.items() if field in irrelevant}
    with suppress(BadSetting):  # a view may refuse the combination
        return replace(view, **defaults)
    return view


def moves(drawing: Drawing, run: Run, view: Any) -> bool:
    """Return whether the clock moves a drawing of a run."""
    is_moving = drawing.moving and not drawing.is_still(run, view)
    return is_moving and bool(steps_of(run, view))


def film_id(name: str) -> str:
    """Return a short id of a film, as every frame holds it."""
    return blake2b(name.encode(), digest_size=8).hexdigest()


def states_message(
    name: str,
    run: str,
    film: str,
    panels: Sequence[Panel],
    order: Sequence[int] = (),
    without_last: bool = False,
) -> dict[str, Any]:
    """Return what the panel called `name` shows at each snapshot of a run: `titles` and `frames`.

    order         for each place of the clock the index of the panel that it shows; empty if the
                  panels are one for each place
    without_last  whether the last state is left out, which is that of `figure_message`
    """
    figures = [panel.figure.to_dict() for panel in panels if panel.figure is not None]
    states = {
        "name": name,
        "run": run,
        "film": film,
        "titles": [panel.finding for panel in panels],
        "frames": clock_frames(figures),
    }
    if order:
        states["order"] = list(order)
    if without_last:
        states["frames"].pop()
    _shorten_maps([trace for frame in states["frames"] for trace in frame["data"]])
    return states


def figure_message(name: str, run: str, film: str, panel: Panel) -> dict[str, Any]:
    """Return a panel's `whole` figure, which replaces another film's in its chart."""
    whole = panel.figure.to_dict() if panel.figure is not None else {"data": []}
    _shorten_maps(whole["data"])
    return {"name": name, "run": run, "film": film, "caption": panel.caption, "whole": whole}


def _shorten_maps(traces: Sequence[dict[str, Any]]) -> None:
    """Have the maps among `traces` in three bytes a number where these hold them."""
    for trace in traces:
        if "z" in trace:
            trace["z"] = in_three_bytes(trace["z"])


def packed(message: Mapping[str, Any]) -> bytes:
    """Return a message as compressed JSON (figures/browser/parts.js unpacks it)."""
    return zlib.compress(json.dumps(message, allow_nan=False).encode())

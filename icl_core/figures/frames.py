"""Plotly frames: the changes of a figure from snapshot to snapshot; and the JavaScript and CSS
(`browser/`) of dashboard, plain page and notebook, which plays them."""

import base64
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from icl_core.contract.experiment import Panel

_BROWSER_FOLDER = Path(__file__).parent / "browser"
_FILM_SCRIPTS = ("plotly_parts.js", "film.js", "transport.js")
_CLOCK_SCRIPTS = ("parts.js", "page.js", "seats.js", "charts.js", "clock.js")


def domains(layout: Mapping[str, Any]) -> dict[str, Any]:
    """Return the domain of each axis of a layout. Plotly.js overwrites it for square-celled maps,
    and the browser restores it (film.js)."""
    return {
        name: axis["domain"] for name, axis in layout.items() if "axis" in name and "domain" in axis
    }


def tag_figure(panel: Panel, film: str, snapshot: int | None = None) -> Panel:
    """Write into the panel's figure which film it is of and which snapshot it shows, for the
    browser, and return the panel."""
    if panel.figure is not None:
        meta: dict[str, Any] = {"film": film}
        if snapshot is not None:
            meta["snapshot"] = snapshot
        panel.figure.update_layout(meta={**meta, "domains": domains(panel.figure.layout)})
    return panel


def round_maps(panel: Panel) -> Panel:
    """Round the numbers of the panel's maps in single precision to what three bytes hold, 1 part in
    65,000, as a map shows no more than three digits; return the panel."""
    for trace in panel.figure.data if panel.figure is not None else ():
        z = trace.get("z")
        if isinstance(z, np.ndarray) and z.dtype == np.float32:
            trace["z"] = ((z.view(np.uint32) + 0x80) & 0xFFFFFF00).view(np.float32)
    return panel


def in_three_bytes(packed: Any) -> Any:
    """Return an array in base64, as `Figure.to_dict` writes it, without the lowest byte of each
    number, first the second byte of all: the browser's parts.js reads it. Anything else than single
    precision whose lowest bytes are zero is returned as it is."""
    if not isinstance(packed, Mapping) or packed.get("dtype") != "f4":
        return packed
    numbers = np.frombuffer(base64.b64decode(packed["bdata"]), np.uint8).reshape(-1, 4)
    if numbers[:, 0].any():
        return packed
    upper = base64.b64encode(numbers[:, 1:].T.tobytes()).decode()
    return {**packed, "dtype": "f3", "bdata": upper}


def clock_frames(figures: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a plotly frame for each state of a figure, as `Figure.to_dict` returns it.

    A frame holds the properties that differ between any two states, and no others, so that it leads
    to its state from any other. Raises ValueError if the states do not have the same traces.
    """
    kinds = {tuple(trace["type"] for trace in figure["data"]) for figure in figures}
    if len(kinds) > 1:
        raise ValueError(
            f"a figure must have the same traces at every snapshot, got {sorted(kinds)}"
        )
    trace_states = zip(*(figure["data"] for figure in figures), strict=True)
    changing = {index: _changing_keys(states) for index, states in enumerate(trace_states)}
    traces = [index for index, keys in changing.items() if keys]
    layout_keys = _changing_keys([figure["layout"] for figure in figures])
    frames: list[dict[str, Any]] = []
    for figure in figures:
        data = [_selected(figure["data"][index], {"type", *changing[index]}) for index in traces]
        layout = _selected(figure["layout"], layout_keys)
        frames.append({"traces": traces, "data": data, "layout": layout})
    return frames


def _changing_keys(states: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the keys whose values are not the same in all states."""
    keys = {key for state in states for key in state}
    first = states[0]
    return {key for key in keys if any(state.get(key) != first.get(key) for state in states[1:])}


def _selected(properties: Mapping[str, Any], keys: set[str]) -> dict[str, Any]:
    """Return the properties with these keys; None for a key that is not there."""
    present = {key: value for key, value in properties.items() if key in keys}
    return present | {key: None for key in sorted(keys) if key not in properties}


@cache
def browser_file(name: str) -> str:
    """Return the text of a file."""
    return (_BROWSER_FOLDER / name).read_text(encoding="utf-8")


def clock_script() -> str:
    """Return the script of the clock of a page whose charts stay from run to run: the dashboard's,
    and the site's."""
    return film_script() + "".join(map(browser_file, _CLOCK_SCRIPTS))


def film_script() -> str:
    """Return the script of a clock: its bar, its motion, and how it brings a chart to a frame."""
    return "".join(browser_file(name) for name in _FILM_SCRIPTS)

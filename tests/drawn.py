"""What a drawing of a finished run must not show: a hole, an infinite number, or a word that stands
for one."""

import re
from collections.abc import Hashable
from typing import Any

import numpy as np

from icl_core.contract.figure import Figure

# the properties that hold data and texts
FREE = {"text", "hovertext", "name", "ticktext", "x", "y", "z", "customdata", "legendgroup", "meta"}
_checked: set[Hashable] = set()
WORDS = re.compile(r"\b(nan|inf|infinity)\b", re.IGNORECASE)


def checked(figure: Figure) -> None:
    """Have plotly check every property of the figure, which takes nine tenths of a drawing's time:
    once for all figures that differ in numbers and texts alone."""
    form = _form({"data": figure.data, "layout": figure.layout})
    if form not in _checked:
        figure.plotly().to_json()
        _checked.add(form)


def _form(value: Any, free: bool = False) -> Hashable:
    """What of a figure plotly may refuse: names of properties, chosen words and numbers, lengths of
    lists; of data, which are `free`, the kinds of values alone."""
    if isinstance(value, dict):
        return tuple((key, _form(inner, free or key in FREE)) for key, inner in value.items())
    if isinstance(value, list | tuple):
        forms = [_form(inner, free) for inner in value]
        return tuple(dict.fromkeys(forms)) if free else tuple(forms)
    if isinstance(value, np.ndarray):
        return value.dtype.kind, value.ndim
    return type(value) if free else (type(value), value)


def numbers_of(values) -> np.ndarray:
    """The numbers among a trace's values; a label is none, nor is None, a gap between lines."""
    numbers = [value for value in np.ravel(values).tolist() if not isinstance(value, str | None)]
    return np.array(numbers, dtype=float)


def without_words(panel) -> None:
    """No text of the panel says "nan" or "inf", and no axis reaches there."""
    texts = [panel.title, panel.caption, panel.note]
    if panel.figure is not None:
        checked(panel.figure)
        layout = panel.figure.layout
        texts += [annotation.get("text") or "" for annotation in layout.get("annotations", ())]
        for axis in layout.values():
            if isinstance(axis, dict) and axis.get("range") is not None:
                assert np.isfinite(numbers_of(axis["range"])).all(), panel.title
    for table in (panel.table, panel.data):
        if table is not None:
            texts += [str(value) for value in table.to_numpy().ravel() if isinstance(value, str)]
            assert not np.isinf(numbers_of(table.to_numpy())).any(), panel.title
    for text in texts:
        assert not WORDS.search(text), text


def without_nan(experiment, run, view) -> None:
    """Draws everything that applies to the run: no curve, bar or map may have a hole, or go beyond
    all bounds."""
    for drawing in experiment.drawings:
        if drawing.applies(run.config):
            panel = drawing.draw(run, view)
            without_words(panel)
            for trace in panel.figure.data if panel.figure else ():
                name = trace.get("name")
                for values in (trace.get("y"), trace.get("z")):
                    if values is not None and name != "numbers":
                        assert np.isfinite(numbers_of(values)).all(), (drawing.name, name)

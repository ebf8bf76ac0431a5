"""What a drawing of a finished run must not show: a hole, an infinite number, or a word that stands
for one."""

import re

import numpy as np

WORDS = re.compile(r"\b(nan|inf|infinity)\b", re.IGNORECASE)


def numbers_of(values) -> np.ndarray:
    """The numbers among a trace's values; a label is none, nor is None, a gap between lines."""
    found = [value for value in np.ravel(values).tolist() if not isinstance(value, str | None)]
    return np.array(found, dtype=float)


def without_words(panel) -> None:
    """No text of the panel says "nan" or "inf", and no axis reaches there."""
    texts = [panel.title, panel.caption, panel.note]
    if panel.figure is not None:
        layout = panel.figure.plotly().layout
        texts += [each.text or "" for each in layout.annotations]
        for each in layout.to_plotly_json().values():
            if isinstance(each, dict) and each.get("range") is not None:
                assert np.isfinite(numbers_of(each["range"])).all(), panel.title
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
            for trace in panel.figure.plotly().data if panel.figure else ():
                for values in (trace.y, getattr(trace, "z", None)):
                    if values is not None and trace.name != "numbers":
                        assert np.isfinite(numbers_of(values)).all(), (drawing.name, trace.name)

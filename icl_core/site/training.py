"""Trainings in the browser's tab: the scripts of page and worker, and what a page tells them of an
experiment. No torch."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from icl_core import registry
from icl_core.contract.knobs import knobs_of, values
from icl_core.contract.visitor import InTab
from icl_core.figures import style

_FOLDER = Path(__file__).parent / "browser" / "training"
_SHARED = ("random.js", "loop.js")  # what trainers use


def trained_in_tab() -> Iterator[tuple[str, InTab]]:
    """Yield the id of every experiment that trains in a tab, with how it does."""
    for experiment_id in registry.experiment_ids():
        in_tab = registry.experiment(experiment_id).in_tab
        if in_tab is not None:
            yield experiment_id, in_tab


def worker_source() -> str:
    """Return the text of the web worker, which trains what it is asked for: a page holds it as the
    string `window.iclWorkerSource`, for a page from a file can load no worker."""
    trained = list(trained_in_tab())
    files = [*(_FOLDER / name for name in _SHARED), *(in_tab.script for _, in_tab in trained)]
    scripts = [path.read_text(encoding="utf-8") for path in (*files, _FOLDER / "worker.js")]
    table = ", ".join(f"{json.dumps(name)}: {in_tab.trainer}" for name, in_tab in trained)
    start = (
        "self.onmessage = ({ data }) => "
        f"trainInTab(data, {{ {table} }}, (message) => self.postMessage(message));\n"
    )
    return "\n".join([*scripts, start])


def page_script() -> str:
    """Return the script of the page's part, which defines the class `TabTraining`."""
    return (_FOLDER / "tab_training.js").read_text(encoding="utf-8")


def page_style() -> str:
    """Return the CSS of the page's part."""
    return (_FOLDER / "training.css").read_text(encoding="utf-8")


def options(experiment_id: str, dark: bool = False) -> dict[str, Any]:
    """Return what `new TabTraining(root, options)` takes, ready for JSON. Raises `ValueError` for
    an experiment that does not train in a tab."""
    in_tab = _in_tab(experiment_id)
    return {
        "experiment": experiment_id,
        "title": "Train it here",
        "note": in_tab.note,
        "knobs": knobs(experiment_id),
        "setting": {**values(in_tab.config), **in_tab.data(in_tab.config)},
        "dark": dark,
        "colours": colours(dark),
    }


def knobs(experiment_id: str) -> list[dict[str, Any]]:
    """Return the sliders of an experiment: field, label, positions, and the one they start at.
    Raises `ValueError` for an experiment that does not train in a tab."""
    in_tab = _in_tab(experiment_id)
    declared = knobs_of(type(in_tab.config))
    return [
        {
            "name": name,
            "label": declared[name].label,
            "values": list(positions),
            "value": getattr(in_tab.config, name),
        }
        for name, positions in in_tab.knobs.items()
    ]


def colours(dark: bool) -> dict[str, Any]:
    """Return the colours of the figures on a light or a dark background."""

    def own(colour: str) -> str:
        return style.TO_DARK.get(colour, colour) if dark else colour

    return {
        "ink": own(style.INK),
        "faint": own(style.FAINT),
        "grid": own(style.GRID),
        "paper": own(style.PAPER),
        "family": style.FAMILY,
        "lines": {kind: own(colour) for kind, colour in style.COLOURS.items()},
        "dashes": style.DASHES,
        "signed": style.colourscale([own(each) for each in style.NEGATIVE_TO_POSITIVE]),
        "attention": style.colourscale([own(each) for each in style.NONE_TO_ALL]),
    }


def _in_tab(experiment_id: str) -> InTab:
    in_tab = registry.experiment(experiment_id).in_tab
    if in_tab is None:
        raise ValueError(f"experiment must be one that trains in a tab, got {experiment_id!r}")
    return in_tab

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
# what all trainers use, and what runs them
SHARED = ("random.js", "loop.js", "matrices.js", "worker.js")


def trained_in_tab() -> Iterator[tuple[str, InTab]]:
    """Yield the id of every experiment that trains in a tab, with how it does."""
    for experiment_id in registry.experiment_ids():
        in_tab = registry.experiment(experiment_id).in_tab
        if in_tab is not None:
            yield experiment_id, in_tab


def worker_source() -> str:
    """Return the text of the web worker, which trains what it is asked for: a page holds it as the
    string `window.iclWorkerSource`, for a page from a file can load no worker.

    Each trainer's file is in a function of its own: what one paper calls its functions is no
    other's concern.
    """
    trainers = [
        f"{json.dumps(experiment_id)}: (() => {{\n{_text(in_tab.script)}\n"
        f"return {in_tab.trainer};\n}})(),"
        for experiment_id, in_tab in trained_in_tab()
    ]
    table = "\n".join(["const trainers = {", *trainers, "};"])
    start = (
        "self.onmessage = ({ data }) => "
        "trainInTab(data, trainers, (message) => self.postMessage(message));\n"
    )
    return "\n".join([*(_text(_FOLDER / name) for name in SHARED), table, start])


def page_script() -> str:
    """Return the script of the page's part, which defines the class `TabTraining`."""
    return _text(_FOLDER / "tab_training.js")


def page_style() -> str:
    """Return the CSS of the page's part."""
    return _text(_FOLDER / "training.css")


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


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")

"""What the server does for a visitor: opening a shipped run, and each panel from view to JSON.

For the first shipped run of each length, medians of five after one warm-up, of processor time. The
row of all names the slowest; with `--all` every panel has its own.
"""

import json
import statistics
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from icl_core import registry
from icl_core.contract.experiment import Drawing, Run
from icl_core.machine import device
from icl_core.runs import store
from icl_core.runs.store import Header
from tests.bench import timing
from tests.bench.timing import Row, by_turns, in_words

ROUNDS = 5


def size(config: dict) -> str:
    """What makes a run of an experiment slow to draw: its positions, or its dimension
    and layers."""
    names = ("T",) if "T" in config else ("d", "layers")
    return ", ".join(f"{name} = {config[name]}" for name in names if name in config)


def first_runs() -> Iterator[tuple[str, Header]]:
    """The first shipped run of each length of each experiment, with its name."""
    for experiment_id in registry.experiment_ids():
        headers = [h for h in store.default().headers(experiment_id) if h.origin == "shipped"]
        first = {size(header.config): header for header in reversed(headers)}
        for length, header in sorted(first.items()):
            yield ", ".join(filter(None, (experiment_id, length))), header


def panels(run: Run, header: Header) -> Iterator[tuple[str, float]]:
    """Each panel of a run with the seconds from its view to JSON."""
    experiment = registry.experiment(header.experiment)
    view = experiment.view()
    if hasattr(view, "length"):
        view = replace(view, length=header.config["T"])
    for drawing in experiment.drawings:
        if drawing.applies(run.config):
            yield drawing.name, by_turns([partial(to_json, drawing, run, view)], ROUNDS)[0]


def to_json(drawing: Drawing, run: Run, view: Any) -> str:
    figure = drawing.draw(run, view).figure
    return json.dumps(figure.to_dict()) if figure else ""


def summary(what: str, times: dict[str, float]) -> Row:
    name, slowest = max(times.items(), key=lambda item: item[1])
    remark = f"median of {len(times)}; slowest {in_words(slowest)}, {name}"
    return what, in_words(statistics.median(times.values())), remark


def rows() -> Iterator[Row]:
    """See the head of this file."""
    device.set_threads(1)
    opening = {}
    drawing = {}
    for name, header in first_runs():
        run = store.default().load(header)
        assert run is not None
        opening[name] = by_turns([partial(store.default().load, header)], ROUNDS)[0]
        drawing |= {f"{panel} of {name}": seconds for panel, seconds in panels(run, header)}
    yield summary("opening a shipped run", opening)
    yield summary("a panel, from view to JSON", drawing)
    for panel, seconds in drawing.items() if timing.thorough else ():
        yield panel, in_words(seconds), ""

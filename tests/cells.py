"""What holds of every map that explains its cells: it is the one drawn, and its terms make its
numbers."""

from dataclasses import replace

import numpy as np

from icl_core import registry
from icl_core.contract.experiment import Drawing, Run
from icl_core.contract.explanation import Map
from icl_core.contract.knobs import knobs_of
from icl_core.runs import store

TRIED = 12  # cells of a map


def shipped(experiment: str, preset: str) -> Run:
    """The run that comes with the project."""
    header = store.default().preset(experiment, preset)
    assert header is not None
    run = store.default().load(header)
    assert run is not None
    return run


def explained(experiment: str, run: Run) -> list[Drawing]:
    """The drawings that explain the cells of this run's maps."""
    return [
        each
        for each in registry.experiment(experiment).drawings
        if each.explanations and each.applies(run.config)
    ]


def views(experiment: str, run: Run, **fields) -> list:
    """A view of the first snapshot, one in the middle, the last."""
    view = registry.experiment(experiment).view(**fields)
    if "snapshot" not in knobs_of(type(view)):
        return [view]
    last = len(run.snapshot_steps) - 1
    return [replace(view, snapshot=index) for index in sorted({0, last // 2, last})]


def check(drawing: Drawing, run: Run, view) -> list[Map]:
    """The maps are those of the figure, cell by cell; the terms of some cells make what
    they show."""
    assert drawing.explanations is not None
    figure, maps = drawing.draw(run, view).figure, list(drawing.explanations(run, view))
    assert figure is not None
    drawn = [trace for trace in figure.data if trace["type"] == "heatmap"]
    assert len(drawn) == len(maps) > 0
    for trace, each in zip(drawn, maps, strict=True):
        np.testing.assert_allclose(trace["z"], each.matrix, rtol=1e-5, atol=1e-6)
        assert (
            each.matrix.shape
            == (len(each.rows), len(each.columns))
            == (len(trace["y"]), len(trace["x"]))
        )
        for row, column in _some(each.matrix):
            _adds_up(each, row, column)
    return maps


def _some(matrix: np.ndarray) -> list[tuple[int, int]]:
    """The cell with the largest number, and others drawn by chance; none that is blank."""
    filled = np.argwhere(np.isfinite(matrix))
    chosen = np.random.default_rng(0).choice(len(filled), min(TRIED, len(filled)), replace=False)
    most = np.unravel_index(np.nanargmax(np.abs(matrix)), matrix.shape)
    return [(int(row), int(column)) for row, column in [most, *filled[chosen]]]


def _adds_up(each: Map, row: int, column: int) -> None:
    found, shown = each.explain(row, column), float(each.matrix[row, column])
    size = max(1.0, float(np.nanmax(np.abs(each.matrix))))
    assert found.title and found.says.endswith(".") and found.terms
    assert abs(found.value - shown) < 1e-5 * size, (each.title, row, column, found.value, shown)
    if found.share is not None and found.share == found.value:
        # the terms make a score, and that the share
        assert found.competitors[0].share >= found.share
        place = next((other for other in found.competitors if other.share == found.share), None)
        assert place is None or abs(place.score - found.total) < 1e-4 * max(1.0, abs(found.total))
    else:
        assert abs(found.total - shown) < 1e-5 * size, (each.title, row, column, found.total, shown)
    assert list(found.competitors) == sorted(found.competitors, key=lambda other: -other.score)

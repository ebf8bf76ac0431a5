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
        drawing
        for drawing in registry.experiment(experiment).drawings
        if drawing.explanations and drawing.applies(run.config)
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
    figure = drawing.draw(run, view).figure
    maps = list(drawing.explanations(run, view))
    assert figure is not None
    heatmaps = [trace for trace in figure.data if trace["type"] == "heatmap"]
    assert len(heatmaps) == len(maps) > 0
    for heatmap, cell_map in zip(heatmaps, maps, strict=True):
        np.testing.assert_allclose(heatmap["z"], cell_map.matrix, rtol=1e-5, atol=1e-6)
        shape = len(cell_map.rows), len(cell_map.columns)
        assert cell_map.matrix.shape == shape == (len(heatmap["y"]), len(heatmap["x"]))
        for row, column in _some(cell_map.matrix):
            _adds_up(cell_map, row, column)
    return maps


def _some(matrix: np.ndarray) -> list[tuple[int, int]]:
    """The cell with the largest number, and others drawn by chance; none that is blank."""
    filled = np.argwhere(np.isfinite(matrix))
    chosen = np.random.default_rng(0).choice(len(filled), min(TRIED, len(filled)), replace=False)
    most = np.unravel_index(np.nanargmax(np.abs(matrix)), matrix.shape)
    return [(int(row), int(column)) for row, column in [most, *filled[chosen]]]


def _adds_up(cell_map: Map, row: int, column: int) -> None:
    explanation = cell_map.explain(row, column)
    competitors = explanation.competitors
    total = explanation.total
    cell = float(cell_map.matrix[row, column])
    size = max(1.0, float(np.nanmax(np.abs(cell_map.matrix))))
    case = cell_map.title, row, column, cell, explanation
    assert explanation.title and explanation.says.endswith(".") and explanation.terms
    assert abs(explanation.value - cell) < 1e-5 * size, case
    if explanation.share is not None and explanation.share == explanation.value:
        # the terms make a score, and that the share
        assert competitors[0].share >= explanation.share
        same = next((other for other in competitors if other.share == explanation.share), None)
        assert same is None or abs(same.score - total) < 1e-4 * max(1.0, abs(total))
    else:
        assert abs(total - cell) < 1e-5 * size, case
    assert list(competitors) == sorted(competitors, key=lambda other: -other.score)

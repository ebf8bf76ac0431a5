"""Figures that two drawings or more need, and the look that all share, light and dark. Numpy and
plotly only.

    curves, bars, spectrum      over steps, sizes or names, with bands, reference lines and marks
    heatmap, triple, maps       matrices in square cells, zero in the middle
    attention, attention_pair   who attends to whom, and what is predicted
    paths, contours             iterates over the loss that they go down
    swept_curve, swept_map      one number of many runs, over one setting or two
    small_map, small_maps, small_attention  for the stage, which the page's clock moves

Each gives a figure for a light background; `themed` makes the dark one, `enlarged` a projector's.
What only one drawing has, it builds itself of traces, with the parts in `style` (colours, layout,
axis, legend), `grid` (square-celled maps) and `references`.
"""

from icl_core.figures.attention_maps import Predictions, attention, attention_pair
from icl_core.figures.axis_scale import Scale
from icl_core.figures.drawn_paths import Bowl, Track, contours, paths
from icl_core.figures.heatmaps import heatmap, maps, triple
from icl_core.figures.line_plots import bars, curves, references, spectrum
from icl_core.figures.number_text import significant
from icl_core.figures.series import Curve, dots, mean_of
from icl_core.figures.stage_maps import small_attention, small_map, small_maps
from icl_core.figures.style import (
    COLOURS,
    CONFIG,
    colour,
    enlarged,
    largest_magnitude,
    number_text,
    themed,
    visible_characters,
)
from icl_core.figures.sweep_plots import Expected, GridCell, swept_curve, swept_map

__all__ = [
    "COLOURS",
    "CONFIG",
    "Bowl",
    "Curve",
    "Expected",
    "GridCell",
    "Predictions",
    "Scale",
    "Track",
    "attention",
    "attention_pair",
    "bars",
    "colour",
    "contours",
    "curves",
    "dots",
    "enlarged",
    "heatmap",
    "largest_magnitude",
    "maps",
    "mean_of",
    "number_text",
    "paths",
    "references",
    "significant",
    "small_attention",
    "small_map",
    "small_maps",
    "spectrum",
    "swept_curve",
    "swept_map",
    "themed",
    "triple",
    "visible_characters",
]  # fmt: skip

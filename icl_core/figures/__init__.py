"""Figures that several drawings use, and the style of all figures, light and dark. No torch.

    curves, bars, spectrum      over steps, sizes or names, with bands, reference lines and marks
    heatmap, triple, maps       matrices in square cells, with zero in the middle of the colours
    attention, attention_pair   attention weights, and the tokens that are predicted
    paths, contours             iterates of optimisation methods over contour lines of the loss
    swept_curve, swept_map      one number of many runs, over one setting or two
    small_map, small_maps, small_attention
                                for the stage, where the page's clock plays them
    seated                      any figure with the margins, type and names of a seat of the stage

Each returns a figure for a light background; `themed` returns it for a dark one, `enlarged` for a
projector. A figure that only one drawing has is built there of traces, with the parts in `style`
(colours, layout, axis, legend), `map_grid` (square-celled maps) and `line_plots.references`.
"""

from icl_core.contract.number_text import number_text, significant
from icl_core.figures.attention_maps import Predictions, attention, attention_pair
from icl_core.figures.axis_scale import Scale
from icl_core.figures.character_labels import literal, visible_characters
from icl_core.figures.drawn_paths import Bowl, Track, contours, paths
from icl_core.figures.heatmaps import heatmap, maps, triple
from icl_core.figures.line_plots import bars, curves, references, spectrum
from icl_core.figures.series import Curve, dots, legend_line, mean_of
from icl_core.figures.stage_maps import small_attention, small_map, small_maps
from icl_core.figures.stage_seat import HALF, THIRD, WIDE, seated
from icl_core.figures.style import (
    COLOURS,
    CONFIG,
    SEAT,
    colour,
    enlarged,
    largest_magnitude,
    themed,
)
from icl_core.figures.sweep_plots import Expected, GridCell, swept_curve, swept_map

__all__ = [
    "COLOURS",
    "CONFIG",
    "HALF",
    "SEAT",
    "THIRD",
    "WIDE",
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
    "legend_line",
    "literal",
    "maps",
    "mean_of",
    "number_text",
    "paths",
    "references",
    "seated",
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

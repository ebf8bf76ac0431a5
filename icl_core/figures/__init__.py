"""Every figure's look, in one place: curves, bars, heatmaps, attention maps and films of training.

Factories return the figure for a light background; `themed` makes the dark one. Numpy and plotly only.
"""

from icl_core.figures.attention import Predictions, attention, attention_pair
from icl_core.figures.curves import bars, curves, spectrum
from icl_core.figures.film import film
from icl_core.figures.heatmaps import heatmap, triple
from icl_core.figures.maps import maps
from icl_core.figures.moving import Attending, Moving
from icl_core.figures.paths import Bowl, Track, paths
from icl_core.figures.series import Curve, mean_of
from icl_core.figures.style import COLOURS, CONFIG, characters, colour, largest, themed, written

__all__ = [
    "COLOURS", "CONFIG", "Attending", "Bowl", "Curve", "Moving", "Predictions", "Track", "attention",
    "attention_pair", "bars", "characters", "colour", "curves", "film", "heatmap", "largest", "maps", "mean_of",
    "paths", "spectrum", "themed", "triple", "written",
]  # fmt: skip

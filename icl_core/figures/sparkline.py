"""The curves of a run in training as lines of a few letters' height, without axes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from icl_core.figures.style import COLOURS, TO_DARK

WIDTH = 120  # pixels
HEIGHT = 26
FIRST = ("loss", "accuracy")  # curves that are shown before the others
_AXIS = "step"  # a curve that holds the steps at which the others were measured
_EDGE = 2.0  # pixels free above and below
_MOST_POINTS = 60


@dataclass(frozen=True)
class Sparkline:
    """A curve: its name, its last number, and its picture as SVG."""

    name: str
    last: float
    svg: str


def sparklines(tensors: Mapping[str, np.ndarray], most: int, dark: bool) -> list[Sparkline]:
    """Return the first `most` curves among a run's tensors, those of `FIRST` before the others.

    Of a curve [seeds, …, evaluations] the mean over all but the evaluations is drawn, from its
    least to its largest number; a curve with fewer than two finite numbers is left out.
    """
    curves = {
        name.partition("/")[2]: array
        for name, array in tensors.items()
        if name.startswith("curve/")
    }
    names = [*(name for name in FIRST if name in curves), *curves]
    lines: list[Sparkline] = []
    for name in dict.fromkeys(names):
        if name == _AXIS or name.endswith("_error"):
            continue
        means = _finite_means(curves[name])
        if len(means) > 1 and len(lines) < most:
            lines.append(Sparkline(name, float(means[-1]), _svg(means, dark)))
    return lines


def _finite_means(curve: np.ndarray) -> np.ndarray:
    """Return the mean of a curve [seeds, …, evaluations] at each evaluation, without those at which
    it is not finite [evaluations]."""
    if curve.ndim == 0:
        return np.zeros(0)
    means = curve.reshape(-1, curve.shape[-1]).astype(np.float64).mean(0)
    return means[np.isfinite(means)]


def _svg(means: np.ndarray, dark: bool) -> str:
    """Return the picture of a curve's means [evaluations]."""
    indices = np.linspace(0, len(means) - 1, min(len(means), _MOST_POINTS)).round().astype(int)
    span = float(np.ptp(means)) or 1.0
    heights = (means[indices] - means.min()) / span  # 0 to 1
    across = np.linspace(_EDGE, WIDTH - _EDGE, len(indices))
    down = HEIGHT - _EDGE - heights * (HEIGHT - 2 * _EDGE)
    colour = COLOURS["trained"]
    if dark:
        colour = TO_DARK[colour]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}">'
        f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{_points(across, down)}"'
        "/></svg>"
    )


def _points(across: Iterable[float], down: Iterable[float]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, down, strict=True))

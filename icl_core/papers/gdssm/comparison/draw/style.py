"""What the drawings of the comparison share: styles, reference lines, and what is said where a model diverged."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from icl_core.experiment import Run
from icl_core.figures.style import colour
from icl_core.papers.gdssm.comparison import comparison_tasks
from icl_core.papers.gdssm.comparison.models import Learner, learners
from icl_core.papers.gdssm.shared import construction

FAR = 1.5  # times the loss of predicting zero: beyond, a dot stands at the edge
STYLES = {  # colour, dash, marker
    "GD-SSM, 1 layer": ("trained", "solid", "circle"),
    "GD-SSM, 2 layers": ("trained", "dash", "circle-open"),
    "S5": ("layer 1", "solid", "square"),
    "Mamba": ("layer 2", "solid", "diamond"),
    "Griffin": ("layer 3", "solid", "triangle-up"),
    "Linear transformer, 1 layer": ("layer 4", "solid", "x"),
    "Linear transformer, 2 layers": ("layer 4", "dash", "x-open"),
    "Softmax transformer, 1 layer": ("layer 5", "solid", "star"),
    "Softmax transformer, 2 layers": ("layer 5", "dash", "star-open"),
}


def marker(name: str, size: int, **more: Any) -> dict[str, Any]:
    """A model's dot."""
    kind, _, symbol = STYLES[name]
    return {"size": size, "color": colour(kind), "symbol": symbol, "line": {"width": 2, "color": colour(kind)}} | more


def short(name: str) -> str:
    """A model's name within a sentence."""
    return name.replace("Linear transformer", "linear transformer").replace("Softmax", "softmax")


def known(run: Run, which: tuple[int, int]) -> tuple[float, float, float]:
    """Predicting zero, the best step and the best two on some of the held-out tasks, which are too few to lie at the
    expectation; known before the training ends."""
    tasks = comparison_tasks.held_out(run.config, which)
    one, two = (construction.best_mixture(tasks, steps)[1] for steps in (1, 2))
    return float(tasks.y[-1].square().mean()) / 2, one, two


def evaluated(run: Run) -> tuple[float, float, float]:
    """The same three on the test set."""
    zero, one, two = (float(run[f"baseline/{name}"][0]) for name in ("zero", "one", "two"))
    return zero, one, two


def levels(zero: float, one: float, two: float) -> list[tuple[str, float, str]]:
    """The reference lines."""
    return [("predicting zero", zero, "floor"), ("one step", one, "gradient descent"), ("two steps", two, "floor")]


def limits(run: Run, losses: np.ndarray) -> tuple[float, float]:
    """The range of losses that is shown: the reference lines and every loss that is not far above them."""
    zero, two = float(run["baseline/zero"][0]), float(run["baseline/two"][0])
    near = losses[losses <= FAR * zero]  # neither inf nor NaN is
    low, high = near.min(initial=two), near.max(initial=zero)
    room = 0.1 * (high - low)  # for a name under the lowest dot
    return float(low - room), float(high + room)


def beyond(run: Run, losses: np.ndarray) -> str:
    """A sentence on the models with a loss [..., models] outside the range."""
    rows = np.atleast_2d(losses)
    tops = np.where(np.isfinite(rows), rows, -np.inf).max(0)
    far = FAR * float(run["baseline/zero"][0])
    named = [f"{short(m.name)} at {top:.3g}" for m, top in zip(learners(run.config), tops, strict=True) if top > far]
    return f" Beyond the edge: {', '.join(named)}." if named else ""


def diverged(run: Run) -> list[Learner]:
    """The models with a seed whose training did not stay finite."""
    losses = run["judged/loss"].T  # [models, seeds]
    return [each for each, row in zip(learners(run.config), losses, strict=True) if not np.isfinite(row).all()]


def told(names: Iterable[str]) -> str:
    """A sentence that names what diverged, empty if nothing did."""
    text = ", ".join(names)
    return f" Diverged: {text}." if text else ""


def column(values: Any, places: int | None = None, missing: str = "diverged") -> Sequence[Any]:
    """Numbers as a column of a table; words where one is not finite."""
    numbers = np.asarray(values, dtype=float)
    rounded = numbers if places is None else numbers.round(places)
    return rounded if np.isfinite(numbers).all() else [f"{x:g}" if np.isfinite(x) else missing for x in rounded]  # type: ignore[return-value]


def few(run: Run) -> str:
    """The parameters of the GD-SSM's models."""
    own = [int(n) for n, each in zip(run["size/parameters"], learners(run.config), strict=True) if not each.rival]
    return " and ".join(f"{n:,}" for n in own)


def many(run: Run) -> str:
    """The parameters of all others."""
    baselines = [int(n) for n, each in zip(run["size/parameters"], learners(run.config), strict=True) if each.rival]
    return f"{min(baselines):,} to {max(baselines):,}"

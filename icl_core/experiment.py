"""What an experiment is: values that say what to compute, what to draw of it, and what the paper claims.

    Config --run--> Run --metrics--> [Metric(value, predicted, tolerance, source)]
                     |
                     +--drawings(View)--> [Panel(figure or table, caption)]

Numpy and plotly only, no torch: the front page imports this.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
import plotly.graph_objects as go

Tensors = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Claim:
    """One statement of a paper that a run can bear out or not. Written once, here or in the paper's folder.

    `relation` is how the value must stand to `predicted`: "near" (within `tolerance`), "at least", "at most"
    (both allow `tolerance` of slack). `reason` says why it is known not to come out, where that is so.
    """

    id: str
    label: str  # short, for a chip: "W_O² recall"
    text: str  # a sentence
    source: str  # where in the paper: "Section 5, Figure 3"
    predicted: float
    tolerance: float
    relation: str = "near"
    reason: str = ""


@dataclass(frozen=True)
class Metric:
    """A claim with what was measured for it. `value` None or NaN: not run. `error` is a standard error."""

    claim: Claim
    value: float | None
    error: float | None = None

    @property
    def verdict(self) -> str:
        """'reproduced', 'not reproduced' or 'undecided'."""
        if self.value is None or math.isnan(self.value):
            return "undecided"
        gap = self.value - self.claim.predicted
        kept = {"near": abs(gap), "at least": -gap, "at most": gap}[self.claim.relation] <= self.claim.tolerance
        return "reproduced" if kept else "not reproduced"


@dataclass(frozen=True)
class Run:
    """A finished training (or one still going, `finished` False): its settings, tensors and circumstances.

    `tensors` are numpy arrays, by convention named `curve/...` (seeds first), `snapshot/...` (moments first),
    `frozen/...` and `final/...`. `info` is JSON: version, packages, device, seconds, metrics. `digest` names
    the content: equal digests, equal tensors.
    """

    config: Any
    tensors: Tensors
    info: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""
    finished: bool = True

    def __getitem__(self, name: str) -> np.ndarray:
        return self.tensors[name]


@dataclass(frozen=True)
class Panel:
    """A title that states the finding, a figure or a table, and a caption that says what to see.

    `data` is the table behind the figure, for reading and export. `note` is a line under the figure.
    """

    title: str
    caption: str
    figure: go.Figure | None = None
    table: pd.DataFrame | None = None
    data: pd.DataFrame | None = None
    note: str = ""


@dataclass(frozen=True)
class Drawing:
    """A way to draw a run. `knobs` are the View fields that stand on its panel and redraw it alone.

    `live`: it can draw a run that is still going (its curves so far, no snapshots). `wide`: it needs both columns.
    `moment`: it changes with the view's `moment`, the training step shown. `applies`: whether there is such a thing to
    draw under a config.
    """

    name: str
    draw: Callable[[Run, Any], Panel]
    knobs: tuple[str, ...] = ()
    live: bool = False
    wide: bool = False
    moment: bool = True
    applies: Callable[[Any], bool] = lambda config: True


@runtime_checkable
class Progress(Protocol):
    """How a running experiment reports, saves its state and learns that it should stop."""

    def resume(self) -> Tensors | None:
        """The state last given to `report`, if an earlier process was killed; else None."""
        ...

    def report(
        self, done: int, total: int, loss: float, live: Callable[[], Tensors], state: Callable[[], Tensors]
    ) -> None:
        """Tell how far the run is. `live` gives the curves so far, `state` all that is needed to go on from here;
        either is called only when due. Raises `Cancelled` if the visitor asked for it."""
        ...


class Cancelled(Exception):
    """The run was cancelled by the visitor."""


class Diverged(Exception):
    """The training left the finite numbers; the message names the step."""


@dataclass(frozen=True)
class Preset:
    """A named setting. `seeds` is how many seeds its shipped run holds (the config itself asks for one).

    `group` is "classroom", "paper" or the figure it reproduces. `view` sets view knobs, by name.
    """

    name: str
    title: str
    config: Any
    about: str = ""
    group: str = "classroom"
    seeds: int = 1
    shipped: bool = True
    view: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """One experiment: one file in a paper's folder, which ends in `EXPERIMENT = Experiment(...)`.

    name       the file's name; with the paper's it makes the id, "birth.induction"
    about      the module's docstring: what you see, what to try
    version    raise it when the same config would give another result: older runs become invisible
    config     settings class of what is computed; the cache key. A field `seeds`, if any, counts seeds
    view       settings class of what is drawn. A field `moment`, if any, is the index of the snapshot shown
    run        config and progress to tensors; the only thing that may take more than a second
    metrics    a finished run to its metrics; kept in the run's file
    drawings   what can be drawn of a run, in the order of the page
    presets    the first is the default
    headline   one sentence: what you see in this run
    cost       work in giga-operations, for the estimate of time
    steps      a run to the training steps of its snapshots, for the player; empty if it has none
    """

    name: str
    title: str
    about: str
    version: int
    config: type
    view: type
    run: Callable[[Any, Progress], Tensors]
    metrics: Callable[[Run], list[Metric]]
    drawings: tuple[Drawing, ...]
    presets: tuple[Preset, ...]
    headline: Callable[[Run, Any], str]
    cost: Callable[[Any], float]
    steps: Callable[[Run], list[int]] = lambda run: []


@dataclass(frozen=True)
class Paper:
    """A paper: `PAPER = Paper(...)` in the folder's `__init__`, which imports no torch.

    `experiments` are module names, in the order of the page. `glossary` rows: code name, symbol, meaning.
    `picture` draws the front page's live picture from a shipped run, without torch: (experiment, preset, draw).
    """

    name: str
    title: str
    authors: str
    year: int
    found: str  # one sentence: what this paper found
    introduction: str
    experiments: tuple[str, ...]
    glossary: tuple[tuple[str, str, str], ...] = ()
    picture: tuple[str, str, Callable[[Run], Panel]] | None = None
    order: int = 100
    mathematics: str = ""

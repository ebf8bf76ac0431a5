"""What an experiment is: values that say what to compute, what to draw of it, and what the paper
claims.

    Config --run--> Run --metrics--> [Metric(claim, value, error)]
                     |
                     +--drawings(View)--> [Panel(figure or table, caption)]

Numpy and plotly only, no torch: the front page imports this.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from icl_core.contract.claims import Claim, Metric
from icl_core.contract.diagram import Diagram
from icl_core.contract.explanation import Map
from icl_core.contract.figure import Figure
from icl_core.contract.lesson import Lesson
from icl_core.contract.progress import Cancelled, Diverged, NextTraining, Progress  # noqa: F401 (all that is needed, in one place)
from icl_core.contract.run import Run, Tensors, compact, names  # noqa: F401
from icl_core.contract.story import Story


class CannotDraw(Exception):
    """This view shows nothing of this run; the message says why, in a sentence for the visitor."""


@dataclass(frozen=True)
class Panel:
    """A title that states the finding, a figure or a table, and a caption that says what to see.

    `data` is the table behind the figure, for reading and export. `note` is a line under the
    figure.
    """

    title: str
    caption: str
    figure: Figure | None = None
    table: pd.DataFrame | None = None
    data: pd.DataFrame | None = None
    note: str = ""


STAGE = "stage"


@dataclass(frozen=True)
class Drawing:
    """A way to draw a run, and where it stands: on the stage, 2 to 6 panels that show the mechanism
    at once, or in the drawer called `place`, which is drawn when it is opened.

    `knobs` are the View fields that it depends on; a field that no drawing names is one that all
    depend on. They stand in the drawer whose drawings name them; those of the stage alone, or of
    two drawers, in the page's menu "View", but texts in both. `moving`: it changes with the view's
    `snapshot`; on the stage it then has the same traces at every snapshot. `live`: it can draw a
    run that is still going (its curves so far, no snapshots). `wide`: it needs both columns.
    `applies`: whether there is such a thing to draw under a config. `explanations`: its maps, with
    how their numbers are made.
    """

    name: str
    draw: Callable[[Run, Any], Panel]
    knobs: tuple[str, ...] = ()
    place: str = STAGE
    live: bool = False
    wide: bool = False
    moving: bool = True
    applies: Callable[[Any], bool] = lambda config: True
    explanations: Callable[[Run, Any], Sequence[Map]] | None = None


@dataclass(frozen=True)
class Theory:
    """What theory says of a setting before anything is trained. `of` gives what it expects of the
    metric of the claim called `claim`: a line through its curve over one knob, contours over two;
    without a claim it is a number of its own and has contours over every map."""

    label: str
    of: Callable[[Any], float]
    claim: str = ""


@dataclass(frozen=True)
class Atlas:
    """Grids of settings whose runs are shipped, thinned: within them a slider shows a trained model
    at once.

    `grids` are settings that all runs of a grid share, and its axes as a sweep reads them,
    "d=32,64,128". `findings` takes what every run has measured, by claim, with its config, and
    measures claims over all of them.
    """

    grids: tuple[tuple[Any, tuple[str, ...]], ...]
    findings: Callable[[Sequence[tuple[Any, Mapping[str, float]]]], list[Metric]] = (
        lambda measured: []
    )


GROUPS = ("Classroom", "Paper's setting", "Figures", "Beyond the paper")


@dataclass(frozen=True)
class Preset:
    """A named setting. `seeds` is how many seeds its shipped run holds (the config itself asks for
    one). `group` is one of GROUPS. `view` sets view knobs, by name."""

    name: str
    title: str
    config: Any
    about: str = ""
    group: str = GROUPS[0]
    seeds: int = 1
    shipped: bool = True
    view: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Batching:
    """How several runs are made as one tensor program: those of one sweep that differ in a rate,
    say.

    alike  what the configs of runs that can go together have in common
    most   how many go together with a run of this config; 1: it goes alone
    run    their configs, each with its progress: each by its index as it ends, with what
           `Experiment.run` would have
           given, to the last bit, or the exception that ended it. If it raises one itself, they go
           one by one
    """

    alike: Callable[[Any], Hashable]
    most: Callable[[Any], int]
    run: Callable[[Sequence[Any], Sequence[Progress]], Iterator[tuple[int, Tensors | Exception]]]


@dataclass(frozen=True)
class Experiment:
    """One experiment: one folder of a paper, whose `__init__` ends in `EXPERIMENT =
    Experiment(...)`.

    name       the folder's name; with the paper's it makes the id, "birth.induction"
    about      the module's docstring: what you see, what to try
    config     settings class of what is computed; the cache key. A field `seeds`, if any, counts
               seeds
    view       settings class of what is drawn. A field `snapshot`, if any, is the index of the
               snapshot shown
    run        config and progress to tensors; the only thing that may take more than a second
    claims     what its metrics may measure
    metrics    a finished run to its metrics; kept in the run's file
    drawings   what can be drawn of a run, in the order of the page
    presets    the first is the default
    headline   one sentence: what you see in this run
    cost       work in giga-operations, for the estimate of time
    upgrade    the tensors of a run that was kept in an older form to those of today's
    milestones the training steps at which parts of the mechanism are first seen in a run, by their
    short names
    goes_on    whether a run of this config is the beginning of one of more `steps`: no rate depends
               on their number
    batching   how several runs are made as one, if they can be
    story      what is told of the first preset's run: task, beats with questions, tries
    diagram    the model of a config: what flows into what, with its matrices in place
    theory     what it gives for a config, which sweeps draw beside what was measured
    atlas      grids of shipped runs
    """

    name: str
    title: str
    about: str
    config: type
    view: type
    run: Callable[[Any, Progress], Tensors]
    claims: tuple[Claim, ...]
    metrics: Callable[[Run], list[Metric]]
    drawings: tuple[Drawing, ...]
    presets: tuple[Preset, ...]
    headline: Callable[[Run, Any], str]
    cost: Callable[[Any], float]
    upgrade: Callable[[Tensors], Tensors] = lambda tensors: tensors
    milestones: Callable[[Run], Mapping[str, float]] = lambda run: {}
    goes_on: Callable[[Any], bool] = lambda config: False
    batching: Batching | None = None
    story: Story | None = None
    diagram: Callable[[Any], Diagram] | None = None
    theory: tuple[Theory, ...] = ()
    atlas: Atlas | None = None


@dataclass(frozen=True)
class Opening:
    """What plays on top of the front page: a shipped run at each of its snapshots, drawn without
    torch.

    `run` names its experiment and preset. `say` tells a stranger in two sentences what there is to
    see; `headline` and the `panels`, by name, take the run and the index of a snapshot. A panel has
    the same traces at each.
    """

    title: str
    say: str
    run: tuple[str, str]
    headline: Callable[[Run, int], str]
    panels: Mapping[str, Callable[[Run, int], Panel]]


@dataclass(frozen=True)
class Paper:
    """A paper: `PAPER = Paper(...)` in the folder's `__init__`, which imports no torch.

    `experiments` maps the names of its folders to their versions, in the order of the page. Raise a
    version when the same config would give another result: older runs become invisible. `glossary`
    rows: code name, symbol, meaning. `picture` draws the front page's live picture from a shipped
    run, without torch: (experiment, preset, draw). `opening` is what plays there; of several papers
    that have one, the first's. `tour` names the experiments of a tour through the paper, in its
    order (all, if none is named); `highlights` its share of the tour through all papers, each an
    experiment and one of its beats; `bridge` is said at the first of these, to those who come from
    the paper before. `lesson` is the lesson that is ready for it. `documents` maps the kinds of
    documents that its settings take to the modules of the paper that end in
    `KIND = DocumentKind(...)`, such as "shared.text_counts".
    """

    name: str
    title: str
    authors: str
    year: int
    found: str  # one sentence: what this paper found
    introduction: str
    experiments: Mapping[str, int]
    glossary: tuple[tuple[str, str, str], ...] = ()
    picture: tuple[str, str, Callable[[Run], Panel]] | None = None
    opening: Opening | None = None
    tour: tuple[str, ...] = ()
    highlights: tuple[tuple[str, str], ...] = ()
    bridge: str = ""
    lesson: Lesson | None = None
    documents: Mapping[str, str] = field(default_factory=dict)
    order: int = 100
    mathematics: str = ""

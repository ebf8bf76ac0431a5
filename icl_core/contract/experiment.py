"""An experiment as a value: what it computes, what it draws, and what its paper claims.

    Config --run--> Run --metrics--> [Metric(claim, value, error)]
                     |
                     +--drawings(View)--> [Panel(figure or table, caption)]

No torch: the front page imports this. It also exports what most experiments need of the contract.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from icl_core.contract.claims import Claim, Metric
from icl_core.contract.diagram import Diagram
from icl_core.contract.explanation import Map
from icl_core.contract.figure import Panel, check_texts, finite_headline
from icl_core.contract.knobs import BadSetting, knobs_of
from icl_core.contract.lesson import Lesson
from icl_core.contract.organism import ModelExport
from icl_core.contract.paper_words import PaperWords
from icl_core.contract.progress import Cancelled, Diverged, NextTraining, Progress  # noqa: F401
from icl_core.contract.publication import FollowUp, Publication
from icl_core.contract.run import CannotDraw, Run, Tensors, compact, names  # noqa: F401
from icl_core.contract.seeds import FIELD, ROWS, can_choose, number_of, of_seed, seed_shown
from icl_core.contract.story import Story, Try
from icl_core.contract.visitor import InTab, Replacements, TextInput
from icl_core.contract.words import Words

STAGE = "stage"
MEAN_OF_SEEDS, FIRST_SEED = "mean", "first"


@dataclass(frozen=True)
class Drawing:
    """A way to draw a run, and its place on the page.

    name          its id; unique in the experiment
    draw          takes a run and a view and returns the panel; may raise CannotDraw
    knobs         the View fields that it depends on. A View field that no drawing names counts for
                  all drawings. A field stands beside the figures of the drawer whose drawings name
                  it; a field of the stage, or of two drawers, in the page's menu "View"; a text in
                  both
    place         STAGE, whose 2 to 6 panels show the mechanism at once, the first one large; or the
                  name of a drawer (`contract.drawers`), whose panels are drawn when it is opened
    live          it can draw a run that is still going, which has curves but no snapshots
    wide          it needs the page's full width
    moving        it changes with the view's field `snapshot`; on the stage its figure then has the
                  same traces at every snapshot
    applies       takes a config and returns whether there is something to draw
    explanations  takes a run and a view and returns the drawing's maps, with an explanation of each
                  of their numbers
    clicked       takes a run, a view, and the indices of a row and a column of the drawing's map,
                  and returns the View fields that a click on this cell sets
    seeds         whose numbers its title states where a run has several seeds: MEAN_OF_SEEDS or
                  FIRST_SEED. A drawing that has `seed_shown` among its knobs shows that seed
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
    clicked: Callable[[Run, Any, int, int], Mapping[str, Any]] | None = None
    seeds: str = ""

    def panel(self, run: Run, view: Any) -> Panel:
        """Return the panel of the seed that the view shows; its title says whose number it states
        where there are several seeds. Raises `CannotDraw`, also for a number that is not finite."""
        panel = self.draw(self._of_seed(run, view), view)
        check_texts(panel.texts)
        whose = self._whose(run, view)
        return replace(panel, title=f"{panel.title}, {whose}", whose=whose) if whose else panel

    def explained(self, run: Run, view: Any) -> Sequence[Map]:
        """Return the maps of the seed that the view shows, with their explanations; none if the
        drawing has none."""
        return self.explanations(self._of_seed(run, view), view) if self.explanations else ()

    def is_still(self, run: Run, view: Any) -> bool:
        """Return whether it shows a seed of which the run holds no snapshots but the last."""
        return len(self._of_seed(run, view).snapshot_steps) < len(run.snapshot_steps)

    def _of_seed(self, run: Run, view: Any) -> Run:
        return of_seed(run, seed_shown(run, view)) if FIELD in self.knobs else run

    def _whose(self, run: Run, view: Any) -> str:
        count = getattr(run.config, ROWS, 1)
        if count == 1:
            return ""
        if self.seeds == MEAN_OF_SEEDS:
            return f"mean of {count} seeds"
        if FIELD in self.knobs and can_choose(view):
            is_late = self.moving and self.is_still(run, view)
            is_late = is_late and run.snapshot_at(view) < len(run.snapshot_steps) - 1
            after = ", trained" if is_late else ""
            return f"seed {seed_shown(run, view)}{after}"
        return f"seed {number_of(run)}" if self.seeds == FIRST_SEED else ""


@dataclass(frozen=True)
class Theory:
    """A number that theory gives for a setting before anything is trained.

    label  its name for visitors
    of     takes a config and returns the number
    claim  the id of the claim whose metric it predicts: sweeps draw it as a line through the
           metric's curve over one knob and as contours over two. Without a claim it is a number of
           its own, drawn as contours over every map
    """

    label: str
    of: Callable[[Any], float]
    claim: str = ""


@dataclass(frozen=True)
class Atlas:
    """Grids of settings whose runs are shipped with few snapshots, so that their sliders show a
    trained model at once.

    grids     for each grid the settings that all its runs share, and its axes as a sweep reads
              them: "d=32,64,128"
    findings  takes the config of every run with its measured values by claim id, and returns
              metrics over all runs
    """

    grids: tuple[tuple[Any, tuple[str, ...]], ...]
    findings: Callable[[Sequence[tuple[Any, Mapping[str, float]]]], list[Metric]] = (
        lambda measured: []
    )


LENGTH = "steps"  # the setting that is a run's length
LONGER = (2, 5, 10)  # how many times as long the longer runs are
PAPERS_SETTING = "Paper's setting"
GROUPS = ("Classroom", PAPERS_SETTING, "Figures", "Beyond the paper")


@dataclass(frozen=True)
class Preset:
    """A named setting.

    name     its id in links
    title    its name for visitors
    config   the setting; it asks for one seed
    about    what it shows
    group    one of GROUPS
    seeds    how many seeds the shipped run has
    shipped  whether a run of it is shipped
    view     the View fields that it sets, by name
    """

    name: str
    title: str
    config: Any
    about: str = ""
    group: str = GROUPS[0]
    seeds: int = 1
    shipped: bool = True
    view: Mapping[str, Any] = field(default_factory=dict)

    @property
    def full_title(self) -> str:
        """Its title; at the paper's sizes with its group, as classroom presets have the same
        titles."""
        is_papers = self.group == PAPERS_SETTING
        return f"{self.title} ({self.group.lower()})" if is_papers else self.title


@dataclass(frozen=True)
class Batching:
    """How several runs are trained as one tensor program, such as the runs of a sweep over the
    learning rate.

    alike  takes a config and returns a value; runs can share a batch if their values are equal
    most   takes a config and returns how many runs such a batch may have; 1 means no batching
    run    takes the configs of a batch, each with its progress. It yields the index of each run as
           the run ends, with the tensors that `Experiment.run` would return, equal to the last bit,
           or with the exception that ended it. If `run` itself raises, the runs are trained one by
           one
    """

    alike: Callable[[Any], Hashable]
    most: Callable[[Any], int]
    run: Callable[[Sequence[Any], Sequence[Progress]], Iterator[tuple[int, Tensors | Exception]]]


@dataclass(frozen=True)
class Experiment:
    """One experiment: a folder of a paper, whose `__init__` ends in `EXPERIMENT = Experiment(...)`.

    name        the folder's name; with the paper's name it makes the id, "birth.induction"
    words       its texts, which give title, about, headline and story where they have them
    config      the settings class of what is computed; it makes the run's key. A field `seeds`, if
                there is one, is the number of seeds
    view        the settings class of what is drawn. A field `snapshot`, if there is one, is the
                index of the snapshot shown
    run         takes a config and a progress and returns the run's tensors; the only function of an
                experiment that may take more than a second
    claims      the claims that its metrics may measure
    metrics     takes a finished run and returns its metrics, which are stored in the run's file
    drawings    the drawings of a run, in the order of the page
    presets     the named settings; the first is the default
    cost        takes a config and returns the work in giga-operations, for the estimate of time
    title       its name for visitors
    about       what you see, what to try
    headline    takes a run and a view and returns one sentence: what you see
    milestones  takes a run and returns at which steps parts of the mechanism appear, by short name
    goes_on     takes a config and returns whether its run is the beginning of one of more `steps`;
                so it is if the learning rate does not depend on their number
    batching    how several runs are trained as one; None if they are not
    has_segments  takes a config and returns whether `training/segments.py` can train its run
    story       the story of the first preset's run: task, beats with questions, things to try
    diagram     takes a config and returns the diagram of its model
    theory      numbers that sweeps draw beside what was measured
    atlas       grids of shipped runs
    picture     the names of the drawings in its picture of the gallery; empty for the stage's first
    preview     takes a config and the tensors that its run, in training, has handed to
                `Progress.report` as its preview; returns what else the stage's drawings need and
                follows from the config, such as frozen embeddings
    typed       the text that the visitor types above the stage
    replaced    what the view can put in place of parts of the model
    export      how its runs' models are written for other tools; None if they are not
    in_tab      how its model is trained in a browser's tab; None if it is not
    """

    name: str
    config: type
    view: type
    run: Callable[[Any, Progress], Tensors]
    claims: tuple[Claim, ...]
    metrics: Callable[[Run], list[Metric]]
    drawings: tuple[Drawing, ...]
    presets: tuple[Preset, ...]
    cost: Callable[[Any], float]
    words: Words | None = None
    title: str = ""
    about: str = ""
    headline: Callable[[Run, Any], str] = lambda run, view: ""
    milestones: Callable[[Run], Mapping[str, float]] = lambda run: {}
    goes_on: Callable[[Any], bool] = lambda config: False
    batching: Batching | None = None
    has_segments: Callable[[Any], bool] = lambda config: False
    story: Story | None = None
    diagram: Callable[[Any], Diagram] | None = None
    theory: tuple[Theory, ...] = ()
    atlas: Atlas | None = None
    picture: tuple[str, ...] = ()
    preview: Callable[[Any, Tensors], Tensors] = lambda config, tensors: {}
    typed: TextInput | None = None
    replaced: Replacements | None = None
    export: ModelExport | None = None
    in_tab: InTab | None = None

    def __post_init__(self) -> None:
        self.take_words()
        if self.words and self.words.has("headline"):
            object.__setattr__(self, "headline", self.words.headline)
        object.__setattr__(self, "headline", finite_headline(self.headline))

    def shorter(self, config: Any) -> list[Any]:
        """Return the settings of the runs that this one is 2, 5 or 10 times as long as and can
        continue from, the longest first."""
        steps = getattr(config, LENGTH)
        configs: list[Any] = []
        for times in LONGER:
            if steps % times == 0:
                with suppress(BadSetting):  # shorter than the range of the setting
                    configs.append(replace(config, **{LENGTH: steps // times}))
        return [shorter for shorter in configs if self.goes_on(shorter)]

    def longer(self, config: Any) -> list[Any]:
        """Return the settings of the runs 2, 5 and 10 times as long, as far as the range allows."""
        configs: list[Any] = []
        if LENGTH in knobs_of(self.config):
            for times in LONGER:
                with suppress(BadSetting):  # longer than the range of the setting
                    configs.append(replace(config, **{LENGTH: times * getattr(config, LENGTH)}))
        return configs

    def take_words(self) -> None:
        """Take title, introduction and story from the words as they are now."""
        if self.words:
            object.__setattr__(self, "title", self.words.title)
            object.__setattr__(self, "about", self.words.about)
            if story := self.words.story():
                object.__setattr__(self, "story", story)


@dataclass(frozen=True)
class Opening:
    """What the top of the front page plays: a shipped run at each of its snapshots, drawn without
    torch.

    run       the names of its experiment and preset
    headline  takes the run and the index of a snapshot and returns a sentence
    panels    by name, functions that take the run and the index of a snapshot and return a panel,
              whose figure has the same traces at every snapshot
    own       something of the visitor's own to try in its experiment, for the end of a tour
    title     its title
    say       tells a newcomer in two sentences what there is to see

    Title, sentences and the link's text are those of the paper's words.
    """

    run: tuple[str, str]
    headline: Callable[[Run, int], str]
    panels: Mapping[str, Callable[[Run, int], Panel]]
    own: Try | None = None
    title: str = ""
    say: str = ""


@dataclass(frozen=True)
class Paper:
    """A paper: `PAPER = Paper(...)` in its folder's `__init__`, which imports no torch.

    name          the folder's name
    authors, year, title  the publication's
    experiments   the version of each experiment by its folder's name, in the page's order. Raise it
                  when the same config would give another result: older runs are no longer shown
    words         its texts, which give title, found, introduction, bridge, glossary, errata,
                  deviations and mathematics, and those of its opening, publication and follow-ups
    found         one sentence: what the paper found
    introduction  the text at the top of its page
    glossary      rows of a name in the code, its symbol in the paper, and its meaning
    picture       the front page's picture: the names of an experiment and a preset, and a function
                  that draws their shipped run without torch
    opening       what the front page plays; of several papers that have one, the first's
    tour          the experiments of a tour through the paper, in its order; empty for all
    beyond        the experiments that ask what the paper does not
    highlights    its part of the tour through all papers: names of an experiment and of a beat
    bridge        the sentence that leads from the paper before to the first highlight
    lessons       lessons, each on one of its experiments
    publication   what it is on arXiv, and how to cite it; None for a paper of the tests
    follow_ups    later papers that go on from it or speak against it
    errata        what is misprinted in it, a sentence each, with what is right
    deviations    where a protocol here is not the paper's: where, the paper, here, why
    folded_claims claims that say what a claim of another of its experiments says, at a setting
                  that is not the paper's: their runs stand with that claim. Both as
                  "experiment.claim"
    documents     the kinds of documents that its settings take, by name: the modules of the paper
                  that end in `KIND = DocumentKind(...)`, such as "shared.text_counts"
    learners      the module of the paper that ends in `LEARNERS`, its models as learners of linear
                  regression (`contract.trained_learner`); empty if it has none
    order         its place among the papers, smallest first
    mathematics   the text of its page's mathematics
    """

    name: str
    authors: str
    year: int
    experiments: Mapping[str, int]
    words: PaperWords | None = None
    title: str = ""
    found: str = ""
    introduction: str = ""
    glossary: tuple[tuple[str, str, str], ...] = ()
    picture: tuple[str, str, Callable[[Run], Panel]] | None = None
    opening: Opening | None = None
    tour: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()
    highlights: tuple[tuple[str, str], ...] = ()
    bridge: str = ""
    lessons: tuple[Lesson, ...] = ()
    publication: Publication | None = None
    follow_ups: tuple[FollowUp, ...] = ()
    errata: tuple[str, ...] = ()
    deviations: tuple[tuple[str, ...], ...] = ()
    folded_claims: Mapping[str, str] = field(default_factory=dict)
    documents: Mapping[str, str] = field(default_factory=dict)
    learners: str = ""
    order: int = 100
    mathematics: str = ""

    def __post_init__(self) -> None:
        self.take_words()

    def take_words(self) -> None:
        """Take all texts from the words as they are now."""
        if self.words is None:
            return
        values = self.words.values()
        values["follow_ups"] = tuple(
            replace(later, here=self.words.follow_up(later.arxiv)) for later in self.follow_ups
        )
        if self.publication:
            values["publication"] = replace(self.publication, later=self.words.later)
        if self.opening:
            title, say, own = self.words.opening
            link = self.opening.own and replace(self.opening.own, say=own)
            values["opening"] = replace(self.opening, title=title, say=say, own=link)
        for name, value in values.items():
            object.__setattr__(self, name, value)

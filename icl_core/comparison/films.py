"""Several runs under one clock, and the panels of a stage for them: each run's film, the film of
its difference from the first one, or one film of all their curves.

The clock goes by training step, or what else the experiment's clock counts, or by the steps since
a milestone.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from icl_core.comparison import joint_figures
from icl_core.comparison.joint_figures import Difference
from icl_core.comparison.table_rows import differing
from icl_core.contract.experiment import STAGE, Drawing, Experiment, Panel
from icl_core.contract.figure import Figure
from icl_core.contract.knobs import knobs_of
from icl_core.contract.run import Run


@dataclass(frozen=True)
class CommonClock:
    """The places of a clock, and the snapshot that each run shows at each place.

    places     training steps or, by a milestone, steps since it; ascending
    shown      for each run the index of its snapshot at each place: its latest one not beyond the
               clock, or its first while the clock is before all of them
    starts     for each run the training step at the clock's zero
    milestone  the name of what each run has reached there; empty by training step
    """

    places: tuple[int, ...]
    shown: tuple[tuple[int, ...], ...]
    starts: tuple[int, ...]
    milestone: str = ""


def aligned(
    steps: Sequence[Sequence[int]], starts: Sequence[int], milestone: str = ""
) -> CommonClock:
    """Return the clock over the snapshots of all runs at `steps`, each counted from the run's
    start; by a milestone also over the place where all have reached it. A run without snapshots
    shows its only state throughout."""
    own = [
        [step - start for step in run_steps] for run_steps, start in zip(steps, starts, strict=True)
    ]
    places = sorted(set().union(*own, [0] if milestone or not any(own) else []))
    snapshots = [
        tuple(max(0, bisect_right(run_steps, place) - 1) for place in places) for run_steps in own
    ]
    return CommonClock(tuple(places), tuple(snapshots), tuple(starts), milestone)


def unit_of(experiment: Experiment) -> str:
    """Return what an experiment's clock counts, such as "training step" or "pairs read"."""
    snapshot = knobs_of(experiment.view).get("snapshot")
    return snapshot.label if snapshot else "training step"


def common_milestones(experiment: Experiment, runs: Sequence[Run]) -> dict[str, tuple[int, ...]]:
    """Return the milestones that all runs have reached: for each name the step of each run, rounded
    to a whole one."""
    reached = [experiment.milestones(run) for run in runs]
    return {
        name: tuple(round(milestones[name]) for milestones in reached)
        for name in reached[0]
        if all(name in milestones for milestones in reached)
    }


def clock_of(experiment: Experiment, runs: Sequence[Run], milestone: str = "") -> CommonClock:
    """Return the clock of runs by a milestone of theirs; by training step if one of them has not
    reached it, or if there is none of that name."""
    has_clock = "snapshot" in knobs_of(experiment.view)
    steps = [run.snapshot_steps if has_clock else [] for run in runs]
    starts = common_milestones(experiment, runs).get(milestone)
    if starts is None:
        return aligned(steps, [0] * len(runs))
    return aligned(steps, starts, milestone)


def thinned_clock(clock: CommonClock, count: int) -> CommonClock:
    """Return the clock with at most `count` of its places, two at least: evenly many, the first and
    the last, and where a run is at its milestone the place nearest to it."""
    last = len(clock.places) - 1
    count = max(2, count)
    if last < count:
        return clock
    remaining = {round(index * last / (count - 1)) for index in range(count)}
    if clock.milestone:
        zero = min(range(last + 1), key=lambda index: abs(clock.places[index]))
        nearest = min(remaining - {0, last} or remaining, key=lambda index: abs(index - zero))
        remaining = remaining - {nearest} | {zero, 0, last}
    indices = sorted(remaining)
    return replace(
        clock,
        places=tuple(clock.places[index] for index in indices),
        shown=tuple(tuple(shown[index] for index in indices) for shown in clock.shown),
    )


_NO_SIZES = ("seed", "seeds", "steps")
LONGEST_TITLE = 64  # characters of a title that joins the runs' titles


@dataclass(frozen=True, eq=False)
class Film:
    """A panel over the clock.

    name    its seat's name, unique on the page
    states  the different panels that it shows
    order   for each place of the clock the index of its state
    """

    name: str
    states: tuple[Panel, ...]
    order: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Scene:
    """What becomes of one drawing: one film of all runs' curves, or a film a run.

    runs         a film a run, or one of all runs
    differences  for each run but the first the film of its maps minus the first run's; empty if
                 there are no maps, or no cell of one run has its counterpart in another
    note         why there are no differences, where one might expect them
    """

    runs: tuple[Film, ...]
    differences: tuple[Film, ...] = ()
    note: str = ""

    @property
    def films(self) -> tuple[Film, ...]:
        """All of its films."""
        return (*self.runs, *self.differences)


@dataclass(frozen=True, eq=False)
class Compared:
    """What is compared.

    experiment  the runs' experiment
    runs        two to four of them
    names       a short name for each
    clock       their clock
    curves_only whether they differ in size, see `other_sizes`
    """

    experiment: Experiment
    runs: tuple[Run, ...]
    names: tuple[str, ...]
    clock: CommonClock
    curves_only: bool = False

    @property
    def view(self) -> Any:
        """The view in which all runs are drawn: the first preset's. Where the stage shows an
        example of a text, and the runs have different ones, all read the first run's."""
        view = self.experiment.view(**self.experiment.presets[0].view)
        typed = self.experiment.typed
        if typed is None:
            return view
        examples = [typed.example(run, view) for run in self.runs]
        are_same = len(set(examples)) == 1
        return view if are_same else replace(view, **{typed.field: examples[0]})


def other_sizes(runs: Sequence[Run]) -> str:
    """Return a sentence if the runs have other sizes, such as another width d; else an empty
    string. A size is d, N, or a setting whose value is in the shape of a matrix of each run's
    snapshots, where that shape differs."""
    shapes = [
        {
            name: tensor.shape[1:]
            for name, tensor in run.tensors.items()
            if name.startswith("snapshot/") and tensor.ndim > 2
        }
        for run in runs
    ]
    common = set.intersection(*(set(shape) for shape in shapes))
    different = [name for name in common if len({shape[name] for shape in shapes}) > 1]
    causes: list[str] = []
    for field in differing([run.config for run in runs], without=_NO_SIZES):
        knob = knobs_of(type(runs[0].config))[field]
        values = [getattr(run.config, field) for run in runs]
        are_sizes = knob.kind == "slider" and any(
            all(value in shape[name] for value, shape in zip(values, shapes, strict=True))
            for name in different
        )
        if are_sizes or field in ("d", "N"):
            texts = [f"{knob.symbol} = {value}" for value in dict.fromkeys(values)]
            causes.append(" and ".join(texts))
    if not causes:
        return ""
    return (
        f"These runs differ in size ({'; '.join(causes)}), so that a cell of one has no "
        "counterpart in another. You see their curves and their metrics."
    )


def stage_drawings(compared: Compared) -> list[Drawing]:
    """Return the drawings of the stage that all runs have."""
    return [drawing for drawing in _drawings_of(compared) if drawing.place == STAGE]


def drawer_curves(compared: Compared) -> list[Drawing]:
    """Return the curves in drawers that all runs have."""
    return [
        drawing for drawing in _drawings_of(compared) if drawing.live and drawing.place != STAGE
    ]


def _drawings_of(compared: Compared) -> list[Drawing]:
    configs = [run.config for run in compared.runs]
    return [
        drawing
        for drawing in compared.experiment.drawings
        if all(drawing.applies(config) for config in configs)
    ]


def left_out(compared: Compared) -> int:
    """Return how many panels of the stage only some of the runs have, by their settings."""
    configs = [run.config for run in compared.runs]
    counts = [
        sum(drawing.applies(config) for config in configs)
        for drawing in compared.experiment.drawings
        if drawing.place == STAGE
    ]
    return sum(0 < count < len(configs) for count in counts)


def scene(compared: Compared, drawing: Drawing) -> Scene | None:
    """Return the films of a drawing; None where its panel is a table, or a map where only curves
    are compared. Colours and axes have one scale for all runs. Raises `CannotDraw` where one of the
    runs has nothing to draw."""
    films = [_film(compared, drawing, place) for place in range(len(compared.runs))]
    figures = [_figures(film) for film in films]
    if not all(figures):
        return None
    for figure in [figure for film_figures in figures for figure in film_figures]:
        # all seats of a comparison have one size
        figure.layout["meta"] = {**figure.layout.get("meta", {}), "needs": [0, 0]}
    if joint_figures.can_overlay([film_figures[-1] for film_figures in figures]):
        return Scene((_overlaid(compared, drawing, films),))
    have_maps = any(joint_figures.maps_of(film_figures[-1]) for film_figures in figures)
    if have_maps and compared.curves_only:
        return None
    joint_figures.share_scales([figure for film_figures in figures for figure in film_figures])
    named = tuple(
        replace(
            film,
            states=tuple(replace(panel, title=f"{name} · {panel.title}") for panel in film.states),
        )
        for film, name in zip(films, compared.names, strict=True)
    )
    if not all(joint_figures.maps_of(film_figures[-1]) for film_figures in figures):
        return Scene(named)
    return _with_differences(compared, drawing, films, named)


def _figures(film: Film) -> list[Figure]:
    """Return the figures of a film's states; none if one is a table."""
    figures = [panel.figure for panel in film.states if panel.figure is not None]
    return figures if len(figures) == len(film.states) else []


def _film(compared: Compared, drawing: Drawing, place: int) -> Film:
    """Return one run's film: its own snapshots that the clock shows. Raises `CannotDraw`."""
    run = compared.runs[place]
    view = compared.view
    moves = drawing.moving and not drawing.is_still(run, view) and run.snapshot_steps
    last = len(run.snapshot_steps) - 1
    snapshots_of_clock = compared.clock.shown[place] if moves else (last,)
    snapshots = sorted(set(snapshots_of_clock))
    states: list[Panel] = []
    for snapshot in snapshots:
        has_clock = "snapshot" in knobs_of(type(view)) and run.snapshot_steps
        own = replace(view, snapshot=snapshot) if has_clock else view
        states.append(drawing.panel(run, own))
    order = [snapshots.index(snapshot) for snapshot in snapshots_of_clock]
    if len(order) == 1:
        order *= len(compared.clock.places)
    return Film(f"{drawing.name} {place + 1}", tuple(states), tuple(order))


def _together(
    films: Sequence[Film], make: Callable[[tuple[int, ...]], Any]
) -> tuple[list[Any], tuple[int, ...]]:
    """Return what `make` makes of each different combination of the films' states, and for each
    place of the clock the index of its combination."""
    combinations = list(zip(*(film.order for film in films), strict=True))
    different = list(dict.fromkeys(combinations))
    index = {combination: number for number, combination in enumerate(different)}
    joined = [make(combination) for combination in different]
    return joined, tuple(index[combination] for combination in combinations)


def _overlaid(compared: Compared, drawing: Drawing, films: Sequence[Film]) -> Film:
    """Return the film of all runs' curves in one figure."""
    clock = compared.clock

    def panel(states: tuple[int, ...]) -> Panel:
        panels = [film.states[state] for film, state in zip(films, states, strict=True)]
        figures = [panel.figure for panel in panels if panel.figure is not None]
        titles = zip(compared.names, [panel.title for panel in panels], strict=True)
        title = " · ".join(f"{name}: {own}" for name, own in titles)
        if len(title) > LONGEST_TITLE:
            title = joint_figures.what_is_drawn(figures[0]) or title
        is_common = len({panel.caption for panel in panels}) == 1
        whose = "" if is_common else f"Of {compared.names[0]}: "
        return Panel(
            title,
            "One colour a run; where a run has several curves, one line style each. "
            f"{whose}{panels[0].caption}",
            joint_figures.overlaid(figures, compared.names, clock.starts, clock.milestone),
        )

    states, order = _together(films, panel)
    return Film(drawing.name, tuple(states), order)


def _with_differences(
    compared: Compared, drawing: Drawing, films: Sequence[Film], named: tuple[Film, ...]
) -> Scene:
    """Return the scene of maps with the films of their differences, all on one scale."""
    first = films[0]
    pairs: list[tuple[list[Difference | None], tuple[int, ...]]] = []
    for film in films[1:]:

        def difference(states: tuple[int, ...], film: Film = film) -> Difference | None:
            one, other = first.states[states[0]].figure, film.states[states[1]].figure
            return one and other and joint_figures.difference_of(one, other)

        pairs.append(_together((first, film), difference))
    every = [difference for differences, _ in pairs for difference in differences]
    if any(difference is None for difference in every):
        title = first.states[-1].title
        note = f"“{title}”: the maps have different rows or columns, so that there is no difference"
        return Scene(named, note=f"{note} to show.")
    limit = joint_figures.common_limit(
        [difference for difference in every if difference is not None]
    )
    difference_films = tuple(
        Film(
            f"{drawing.name} {place + 2} minus 1",
            tuple(
                _difference_panel(compared, difference, place + 1, limit)
                for difference in differences
            ),
            order,
        )
        for place, (differences, order) in enumerate(pairs)
    )
    return Scene(named, difference_films)


def _difference_panel(
    compared: Compared, difference: Difference | None, place: int, limit: float
) -> Panel:
    assert difference is not None
    name, first = compared.names[place], compared.names[0]
    return Panel(
        f"{name} minus {first}: {difference.mean:.2g} a cell on average",
        f"Each cell is the number of {name} minus that of {first}; the title has the mean of its "
        f"magnitude. Grey is no difference. The scale, {limit:.2g} to either side, is that of all "
        "differences of this panel over the whole film.",
        difference.figure(limit),
    )

"""Tours, the beats of a paper's experiments, or of all papers, in one order; and things to try: the
links from one state of the pages to another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import streamlit as st

from icl_core import registry
from icl_core.contract import knobs
from icl_core.contract.experiment import Paper
from icl_core.contract.story import Beat, Try
from pages.ui.link import address, lesson_rules, same_tab_links
from pages.ui.link.address import Setting
from pages.ui.look import menu

ALL = "all"
END = "end"  # the field of the front page's address that shows the end of a tour


class Stop(NamedTuple):
    """A beat on a tour: the paper's name, the experiment's name in it, the beat's name."""

    paper: str
    experiment: str
    beat: str


@dataclass(frozen=True)
class Way:
    """The way of the tour in the address through an experiment.

    name   the tour's name; empty if there is none, or if it does not stop in the experiment
    stops  the tour's stops
    here   the stop of the beat on screen, on the tour or not; None off the script
    """

    name: str
    stops: Sequence[Stop]
    here: Stop | None

    @property
    def begins(self) -> bool:
        """Whether the tour begins an experiment here, whose task is then shown."""
        if self.here is None or self.here not in self.stops:
            return False
        index = self.stops.index(self.here)
        return index == 0 or self.stops[index - 1][:2] != self.here[:2]

    @property
    def bridge(self) -> str:
        """The paper's `bridge` where the tour through all papers enters it; empty elsewhere."""
        if self.name != ALL or self.here is None or self.here not in self.stops:
            return ""
        index = self.stops.index(self.here)
        enters_paper = index > 0 and self.stops[index - 1].paper != self.here.paper
        return registry.papers()[self.here.paper].bridge if enters_paper else ""


def way(experiment_id: str, beat: Beat | None) -> Way:
    """Return the way of the tour in the address through an experiment, at a beat of it."""
    paper, _, experiment = experiment_id.partition(".")
    here = Stop(paper, experiment, beat.name) if beat else None
    name = st.query_params.get("tour", "")
    tour = stops(name)
    if any(stop[:2] == (paper, experiment) for stop in tour):
        return Way(name, tour, here)
    return Way("", [], here)


def number(tour: Sequence[Stop], stop: Stop) -> str:
    """Return the number of a stop on a tour, "7 / 13"; empty if it is not on it."""
    return f"{tour.index(stop) + 1} / {len(tour)}" if stop in tour else ""


def stops(name: str) -> list[Stop]:
    """Return the stops of a tour: ALL, or a paper's; none for another name."""
    papers = registry.papers()
    if name == ALL:
        return [
            Stop(paper.name, *highlight)
            for paper in papers.values()
            for highlight in paper.highlights
        ]
    return _paper_stops(papers[name]) if name in papers else []


def _paper_stops(paper: Paper) -> list[Stop]:
    """Return the stops of a paper's tour: every beat of its experiments."""
    stops: list[Stop] = []
    for name in paper.tour or tuple(paper.experiments):
        story = registry.experiment(f"{paper.name}.{name}").story
        if story:
            stops += [Stop(paper.name, name, beat.name) for beat in story.beats]
    return stops


def offer(name: str, primary: bool = False) -> None:
    """Draw the button that begins a tour, if the tour has more than one experiment."""
    tour = stops(name)
    experiments = {stop[:2] for stop in tour}
    kind = "primary" if primary else "secondary"
    if len(experiments) > 1 and st.button(title(name), key=f"tour {name}", type=kind):
        go(tour[0], name)


def go(stop: Stop, tour: str) -> None:
    """Go to a stop, on whichever page it is; the projector stays."""
    st.switch_page(f"pages/{stop.paper}.py", query_params=query(stop, tour))


def go_to_end(name: str) -> None:
    """Go to the page that ends a tour."""
    st.switch_page("app.py", query_params=address.lasting_query() | {END: name})


def query(stop: Stop, tour: str = "") -> dict[str, str]:
    """Return the address of a stop on its paper's page; off a tour a lesson in the address
    stays."""
    experiment = registry.experiment(f"{stop.paper}.{stop.experiment}")
    fields = {"experiment": stop.experiment, "beat": stop.beat}
    if tour:
        fields["tour"] = tour
        lesson_fields = {}
    else:
        lesson_fields = lesson_rules.lesson_query(fields)
    beat_fields = {}
    if experiment.story:
        beat = next(beat for beat in experiment.story.beats if beat.name == stop.beat)
        beat_fields = beat_query(experiment.view(**experiment.presets[0].view), beat)
    return address.lasting_query() | lesson_fields | fields | beat_fields


def beat_query(base: object, beat: Beat) -> dict[str, str]:
    """Return what a beat sets in the address: view fields that differ from `base`, and a drawer."""
    fields = {
        field: address.value_text(value)
        for field, value in beat.view.items()
        if value != getattr(base, field)
    }
    if beat.drawer:
        fields["drawer"] = beat.drawer
    return fields


def title(name: str) -> str:
    """Return the title of a tour."""
    if name == ALL:
        return "Take the ten-minute tour"
    return f"Tour of {menu.short_title(name)}"


def unknown() -> str:
    """Return a sentence on a tour in the address that does not exist; empty if it does."""
    name = st.query_params.get("tour", ALL)
    names = [*registry.papers(), ALL]
    return "" if name in names else f"There is no tour {name!r:.80}; there are {', '.join(names)}."


def show_tries(setting: Setting) -> None:
    """Draw the menu of links to things to try, and of tours."""
    tries = setting.experiment.story.tries if setting.experiment.story else ()
    with st.popover("Try", type="tertiary", width="content"):
        paper = setting.paper
        items = "".join(
            f"<li>{same_tab_links.link(paper, item.say, _try_query(setting, item))}</li>"
            for item in tries
        )
        st.html(f'<ul class="tries">{items}</ul>')
        for name in (paper, ALL):
            offer(name)


def _try_query(setting: Setting, item: Try) -> dict[str, str]:
    """Return the address of something to try, without the fields that equal the preset's."""
    first = setting.experiment.presets[0]
    presets = {preset.name: preset for preset in setting.experiment.presets}
    preset = presets[item.preset] if item.preset else first
    base = {
        **knobs.values(preset.config),
        **knobs.values(address.base_view(setting.experiment, preset)),
    }
    query = address.lasting_query() | {"experiment": setting.name}
    if preset != first:
        query["preset"] = preset.name
    query |= item.sight
    for field, value in item.fields.items():
        if value != base[field]:
            query[field] = address.value_text(value)
    return query

"""Tours: the beats of a paper's experiments, or of all papers, in one order, each with its
address."""

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from icl_core import registry
from icl_core.contract.experiment import Paper
from icl_core.contract.story import Beat
from pages.ui.link import address, lesson_rules
from pages.ui.link.address import Setting
from pages.ui.look import menu

ALL = "all"
END = "end"  # the field of the front page's address that shows the end of a tour


class Stop(NamedTuple):
    """A beat on a tour: the paper's name, the experiment's name in it, the beat's name."""

    paper: str
    experiment: str
    beat: str


def stop_of(setting: Setting, beat: Beat) -> Stop:
    """Return the stop of a beat of the page's experiment."""
    return Stop(setting.paper, setting.name, beat.name)


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


def place(tour: Sequence[Stop], stop: Stop) -> str:
    """Return the number of a stop on a tour, "7 / 13"; empty if it is not on it."""
    return f"{tour.index(stop) + 1} / {len(tour)}" if stop in tour else ""


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


def is_first(name: str, stop: Stop) -> bool:
    """Return whether a stop of a tour begins an experiment, whose task is then shown."""
    tour = stops(name) if name else []
    if stop not in tour:
        return False
    index = tour.index(stop)
    return index == 0 or tour[index - 1][:2] != stop[:2]


def bridge(name: str, stop: Stop) -> str:
    """Return the paper's `bridge` where the tour through all papers enters it; empty elsewhere."""
    tour = stops(name) if name == ALL else []
    if stop not in tour:
        return ""
    index = tour.index(stop)
    enters_paper = index > 0 and tour[index - 1].paper != stop.paper
    return registry.papers()[stop.paper].bridge if enters_paper else ""


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


def requested_tour(setting: Setting) -> str:
    """Return the name of the tour in the address; empty if it does not stop in this experiment."""
    name = st.query_params.get("tour", "")
    experiment = (setting.paper, setting.name)
    if name and any(stop[:2] == experiment for stop in stops(name)):
        return name
    return ""

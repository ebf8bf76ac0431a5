"""Where a tour leads: the beats of one experiment, of a paper, of all papers, as addresses."""

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
END = (
    "Three models, one habit. Each finds in its prompt what its weights cannot hold: one looks "
    "it up, one walks "
    "towards it layer by layer, one adds it up as it reads."
)


class Stop(NamedTuple):
    """A beat somewhere: the paper, the experiment's name in it, the beat's name."""

    paper: str
    experiment: str
    beat: str


def stop_of(setting: Setting, beat: Beat) -> Stop:
    """Where a beat of the page stands."""
    return Stop(setting.id.partition(".")[0], setting.name, beat.name)


def stops(name: str) -> list[Stop]:
    """The stops of the tour called `name`: ALL, or a paper's; none of another name."""
    papers = registry.papers()
    if name == ALL:
        return [Stop(paper.name, *each) for paper in papers.values() for each in paper.highlights]
    return _through(papers[name]) if name in papers else []


def _through(paper: Paper) -> list[Stop]:
    names = paper.tour or tuple(paper.experiments)
    found = [(name, registry.experiment(f"{paper.name}.{name}").story) for name in names]
    return [
        Stop(paper.name, name, beat.name)
        for name, script in found
        if script
        for beat in script.beats
    ]


def place(tour: Sequence[Stop], here: Stop) -> str:
    """Where on the tour this is, "7 / 13"; empty where it does not come by."""
    return f"{tour.index(here) + 1} / {len(tour)}" if here in tour else ""


def offer(name: str) -> None:
    """A button that begins a tour, if it leads through more than one experiment."""
    found = stops(name)
    several = len({stop[:2] for stop in found}) > 1
    if several and st.button(title(name), key=f"tour {name}", type="secondary"):
        go(found[0], name)


def go(stop: Stop, tour: str) -> None:
    """Go to a stop, wherever it is; the projector stays."""
    st.switch_page(f"pages/{stop.paper}.py", query_params=query(stop, tour))


def query(stop: Stop, tour: str = "") -> dict[str, str]:
    """The address of a stop on its paper's page."""
    experiment = registry.experiment(f"{stop.paper}.{stop.experiment}")
    beat = (
        next(each for each in experiment.story.beats if each.name == stop.beat)
        if experiment.story
        else None
    )
    fields = {"experiment": stop.experiment, "beat": stop.beat} | ({"tour": tour} if tour else {})
    stays = lesson_rules.lesson_query(fields) if not tour else {}
    own = beat_query(experiment.view(**experiment.presets[0].view), beat) if beat else {}
    return address.lasting_query() | stays | fields | own


def beat_query(base: object, beat: Beat) -> dict[str, str]:
    """What a beat sets in the address: the view's fields that differ from the preset's,
    the drawer."""
    fields = {
        field: address.value_text(value)
        for field, value in beat.view.items()
        if value != getattr(base, field)
    }
    return fields | ({"drawer": beat.drawer} if beat.drawer else {})


def is_first(name: str, here: Stop) -> bool:
    """Whether a stop of a tour is the first of its experiment in a row: its task is told there."""
    found = stops(name) if name else []
    at = found.index(here) if here in found else -1
    return at == 0 or (at > 0 and found[at - 1][:2] != here[:2])


def transition_text(name: str, here: Stop) -> tuple[str, str]:
    """What the tour through all papers says before and after the beat of a stop: where it comes to
    another paper, and at its end."""
    found = stops(name) if name == ALL else []
    if here not in found:
        return "", ""
    at, bridge = found.index(here), registry.papers()[here.paper].bridge
    arrives = at > 0 and found[at - 1].paper != here.paper
    return (bridge if arrives else ""), (END if at == len(found) - 1 else "")


def title(name: str) -> str:
    """A tour's name, as it is offered."""
    return (
        "How models learn in context, in ten minutes"
        if name == ALL
        else f"Tour of {menu.short_title(name)}"
    )


def unknown() -> str:
    """What is wrong with the tour that the address names; empty if nothing is."""
    name, known = st.query_params.get("tour", ALL), [*registry.papers(), ALL]
    return "" if name in known else f"There is no tour {name!r:.80}; there are {', '.join(known)}."


def requested_tour(setting: Setting) -> str:
    """The tour that the address names; empty if there is none that comes by here."""
    name = st.query_params.get("tour", "")
    here = (setting.id.partition(".")[0], setting.name)
    return name if name and any(stop[:2] == here for stop in stops(name)) else ""

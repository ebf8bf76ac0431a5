"""Which runs the page of runs shows, in which order and how grouped: read from the address, written
by the widgets above the table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote

import streamlit as st

from icl_core import registry
from icl_core.evidence import run_table
from icl_core.evidence.run_table import RunFilter, RunRow
from pages.ui.controls import filters
from pages.ui.link import pending_address
from pages.ui.link.widget_events import set_widget, widget_arguments
from pages.ui.look import menu

RUN = "run"  # in the address: the key of one run
WHERE = "where"  # settings, like "d=64;d=128;K=3"
PAPER, EXPERIMENT, ORIGIN, SORT, GROUP, NUMBER = (
    "paper",
    "experiment",
    "origin",
    "sort",
    "group",
    "number",
)
LINES = "lines"  # of a long table: 1 is its first part
FIELDS = (RUN, PAPER, EXPERIMENT, ORIGIN, WHERE, SORT, GROUP, NUMBER, LINES)
# A sort is a property of `run_table.SORTS`, after a minus where the largest comes first.
SORT_TITLES = {
    "-date": "latest first",
    "date": "oldest first",
    "experiment": "by experiment",
    "-number": "largest number first",
    "number": "smallest number first",
    "-seconds": "longest training first",
    "-size": "largest file first",
    "-seeds": "most seeds first",
}
GROUP_TITLES = {"": "no groups", "paper": "paper", "experiment": "experiment", "origin": "origin"}
_BETWEEN = ";"
_PAGE = "runs"  # what the keys of the widgets begin with


@dataclass(frozen=True)
class Choice:
    """What the address asks the page of runs for.

    run     the key of the one run that is shown; empty for all
    filter  which runs are shown
    sort    one of `SORT_TITLES`
    group   one of `GROUP_TITLES`, or a setting's field
    number  the claim whose number is shown; empty for each run's headline
    """

    run: str
    filter: RunFilter
    sort: str
    group: str
    number: str

    @property
    def is_open(self) -> bool:
        """Whether all runs are shown."""
        return not self.run and self.filter == RunFilter()


def read() -> Choice:
    """Return what the address asks for; a warning names what of it does not exist."""
    query = st.query_params
    papers = filters.names(PAPER, registry.papers())
    experiments = filters.names(EXPERIMENT, registry.experiment_ids())
    origins = filters.names(ORIGIN, run_table.ORIGINS)
    where: dict[str, tuple[str, ...]] = {}
    for name, text in parse_qsl(query.get(WHERE, ""), separator=_BETWEEN):
        where[name] = (*where.get(name, ()), text)
    sort = query.get(SORT, "")
    return Choice(
        query.get(RUN, ""),
        RunFilter(papers, experiments, origins, where),
        sort if sort in SORT_TITLES else "-date",
        query.get(GROUP, ""),
        query.get(NUMBER, ""),
    )


def where_text(where: Mapping[str, Sequence[str]]) -> str:
    """Return settings as the address writes them: "d=64;d=128;K=3"."""
    pairs = []
    for name, texts in where.items():
        pairs += [f"{quote(name)}={quote(text, safe=' ,:')}" for text in texts]
    return _BETWEEN.join(pairs)


def clear() -> None:
    """Take every filter out of the address; order and groups stay."""
    pending_address.change({}, drop=(RUN, PAPER, EXPERIMENT, ORIGIN, WHERE, NUMBER, LINES))


def narrow(choice: Choice, group: str, value: str) -> None:
    """Show the runs of one group alone, ungrouped."""
    if group in (PAPER, EXPERIMENT, ORIGIN):
        filters.put(**{group: value, GROUP: ""})
    else:
        filters.put(**{WHERE: where_text({**choice.filter.where, group: [value]}), GROUP: ""})


def draw(choice: Choice, rows: Sequence[RunRow]) -> None:
    """Draw the widgets. `rows` are all runs; what is offered of settings and numbers is what those
    of the chosen papers, experiments and origins have."""
    current = choice.filter
    wide = RunFilter(current.papers, current.experiments, current.origins)
    offered = run_table.filtered(rows, wide)
    with st.container(key="run-filters"):
        filters.several(_PAGE, "Paper", PAPER, registry.papers(), menu.short_title, current.papers)
        titles = _experiment_titles(current.papers)
        filters.several(
            _PAGE, "Experiment", EXPERIMENT, titles, titles.__getitem__, current.experiments
        )
        filters.several(
            _PAGE,
            "Origin",
            ORIGIN,
            run_table.ORIGINS,
            run_table.ORIGINS.__getitem__,
            current.origins,
        )
        labels = {name: name for name in current.where} | run_table.settings_of(offered)
        _settings(labels, current.where)
        for name, texts in current.where.items():
            values = dict.fromkeys([*run_table.texts_of(offered, name), *texts])
            _values(labels[name], name, values, current.where)
        for name in _pending_settings(current.where, labels):
            _values(labels[name], name, run_table.texts_of(offered, name), current.where)
        filters.one(_PAGE, "Order", SORT, SORT_TITLES, choice.sort, "-date")
        groups = GROUP_TITLES | {name: label for name, label in labels.items() if label}
        group = choice.group if choice.group in groups else ""
        filters.one(_PAGE, "Group by", GROUP, groups, group, "")
        claims = run_table.claims_of(offered)
        if claims:
            numbers = {"": "each run's headline", **claims}
            filters.one(
                _PAGE,
                "Number",
                NUMBER,
                numbers,
                choice.number if choice.number in numbers else "",
                "",
            )


def _experiment_titles(papers: Sequence[str]) -> dict[str, str]:
    """Return the titles of experiments by id: of the chosen papers, of all if none is chosen."""
    return {
        id: registry.experiment(id).title
        for id in registry.experiment_ids()
        if not papers or id.partition(".")[0] in papers
    }


_ADDED = "runs: settings without a value yet"


def _pending_settings(where: Mapping[str, Any], labels: Mapping[str, str]) -> list[str]:
    """Return the settings that were chosen and of which no value is chosen yet."""
    names = st.session_state.get(_ADDED, [])
    return [name for name in names if name not in where and name in labels]


def _settings(labels: Mapping[str, str], where: Mapping[str, Sequence[str]]) -> None:
    """Draw the choice of settings by which the runs are filtered."""
    key = "runs: settings"
    value = [*where, *_pending_settings(where, labels)]
    set_widget(key, value, dict(labels))
    arguments = widget_arguments(key, _settings_changed, key, where)
    st.multiselect(
        "Setting", list(labels), value, format_func=labels.__getitem__, placeholder="any",
        **arguments,
    )  # fmt: skip


def _settings_changed(key: str, where: Mapping[str, Sequence[str]]) -> None:
    names = st.session_state[key]
    st.session_state[_ADDED] = names
    filters.put(**{WHERE: where_text({name: where[name] for name in names if name in where})})


def _values(
    label: str, name: str, texts: Iterable[str], where: Mapping[str, Sequence[str]]
) -> None:
    """Draw the choice of a setting's values."""
    options = list(texts)
    key = f"runs: value of {name}"
    value = list(where.get(name, ()))
    set_widget(key, value, options)
    arguments = widget_arguments(key, _values_changed, key, name, where)
    st.multiselect(label, options, value, placeholder="any", **arguments)


def _values_changed(key: str, name: str, where: Mapping[str, Sequence[str]]) -> None:
    filters.put(**{WHERE: where_text({**where, name: st.session_state[key]})})

"""Which runs are compared: read from the text of an address, written into one, and the runs that
are nearest to a given one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from icl_core import registry
from icl_core.comparison import table_rows
from icl_core.contract import settings_io
from icl_core.contract.settings_io import setting_line
from icl_core.runs.header import Header, typed_config
from icl_core.runs.request import Request
from icl_core.runs.store import Store

MOST = 4  # runs that are compared
BETWEEN = ";"  # between the runs of an address, as names of presets hold commas
_ORIGINS = ("shipped", "local", "atlas")  # which of several runs as near is offered first


@dataclass(frozen=True)
class ChosenRuns:
    """The runs that an address asks for, without repeats, and sentences about those that it cannot
    have."""

    headers: tuple[Header, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Neighbour:
    """A run that another may be compared with.

    header   the run's
    count    how many settings differ, seeds aside
    differs  which ones, in words: "K = 5 instead of 1"
    """

    header: Header
    count: int
    differs: str


def name_of(header: Header) -> str:
    """Return a run's name in an address: its preset's if it is shipped for one, else its key."""
    presets = _presets_of(header)
    return presets[0] if presets else header.key


def _presets_of(header: Header) -> tuple[str, ...]:
    """Return the names of the presets that a run is shipped for."""
    return tuple(header.info.get("presets") or ()) if header.origin == "shipped" else ()


def title_of(header: Header) -> str:
    """Return a run's title: its preset's if it is shipped for one, else its settings."""
    experiment = registry.experiment(header.experiment)
    name = name_of(header)
    titles = {preset.name: preset.full_title for preset in experiment.presets}
    if name in titles:
        return titles[name]
    line = setting_line(typed_config(header), experiment.presets[0].config)
    return f"{line} (atlas)" if header.origin == "atlas" else line


def to_text(headers: Iterable[Header]) -> str:
    """Return the text of an address that `read` reads back."""
    return BETWEEN.join(name_of(header) for header in headers)


def read(store: Store, experiment_id: str, text: str) -> ChosenRuns:
    """Return the runs that `text` names by preset or key, at most MOST of them.

    A preset without a shipped run names the run of it that was trained here. What cannot be
    compared is left out and said in a sentence: a run that is not here, and one of another
    experiment. One sentence is for all names of a run that is named before, and one for those
    beyond MOST. Raises `BadSetting` for an unknown experiment.
    """
    by_name = _by_name(store, experiment_id)
    presets = {preset.name: preset for preset in registry.experiment(experiment_id).presets}
    every_name = [name.strip() for name in text.split(BETWEEN) if name.strip()]
    different = list(dict.fromkeys(every_name))
    names = different[: MOST + 1]  # one more than are shown, as one of them may be missing
    headers: dict[str, Header] = {}
    missing: list[str] = []
    for name in names:
        header = by_name.get(name)
        if header is None and name in presets:
            header = store.find(Request(experiment_id, presets[name].config))
        if header is None:
            missing.append(name)
        else:
            headers.setdefault(header.key, header)
    warnings = _missing(store, experiment_id, missing)
    if len(every_name) > len(different) or len(names) > len(headers) + len(missing):
        warnings.append("A run that is named several times is shown once.")
    if len(different) > len(names) or len(headers) > MOST:
        warnings.append(
            f"At most {MOST} runs are compared, got {len(different)}. The last ones are left out."
        )
    return ChosenRuns(tuple(headers.values())[:MOST], tuple(warnings))


def _by_name(store: Store, experiment_id: str) -> dict[str, Header]:
    """Return the runs of an experiment by key and, the shipped ones, by each of their presets."""
    by_name: dict[str, Header] = {}
    for header in reversed(store.every(experiment_id)):  # of several the first is the preferred one
        by_name |= dict.fromkeys((header.key, *_presets_of(header)), header)
    return by_name


def _missing(store: Store, experiment_id: str, names: Sequence[str]) -> list[str]:
    """Return for each name why there is no run of that name to compare."""
    by_key = {header.key: header for header in store.headers()} if names else {}
    return [_why_missing(experiment_id, name, by_key.get(name)) for name in names]


def _why_missing(experiment_id: str, name: str, other: Header | None) -> str:
    """Return why there is no run of that name to compare; `other` is the run of another experiment
    whose key it is."""
    experiment = registry.experiment(experiment_id)
    if other is not None:
        title = registry.experiment(other.experiment).title
        return (
            f"The run {name!r:.80} is one of “{title}”, not of “{experiment.title}”. Only runs of "
            "one experiment are compared."
        )
    if name in {preset.name for preset in experiment.presets}:
        return (
            f"The preset {name!r:.80} of “{experiment.title}” has no run here yet. Open it and "
            "train it."
        )
    return (
        f"There is no run {name!r:.80} of “{experiment.title}” here: it was deleted, dropped to "
        "make room, or never made on this computer."
    )


def nearest(store: Store, header: Header) -> list[Neighbour]:
    """Return all other runs of the experiment, those with the fewest differing settings first;
    of several the shipped ones, then those whose values are nearest."""
    settings = registry.experiment(header.experiment).config
    config = typed_config(header)
    neighbours: dict[str, tuple[tuple[int, int, float], Neighbour]] = {}
    for other in store.every(header.experiment):
        if other.key == header.key or other.key in neighbours:
            continue
        other_config = typed_config(other)
        count = len(table_rows.differing((config, other_config), without=("seeds",)))
        order = (
            count,
            _ORIGINS.index(other.origin),
            settings_io.distance(settings, header.config, other.config),
        )
        differs = table_rows.instead_of(other_config, config)
        neighbours[other.key] = order, Neighbour(other, count, differs)
    ordered = sorted(neighbours.values(), key=lambda each: each[0])
    return [neighbour for _, neighbour in ordered]

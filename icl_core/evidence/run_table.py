"""All runs as the rows of one table: how each differs from the nearest preset, what it measured,
what its training took. Only headers are read, each once. No torch."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from typing import Any

from icl_core import registry
from icl_core.contract import knobs, settings_io
from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import BadSetting, NotHere
from icl_core.figures.character_labels import shown_name
from icl_core.runs.file import Damaged
from icl_core.runs.header import Header, typed_config
from icl_core.runs.store import Store

# Where a run is from, in words. A given run is stored as one that was made here.
ORIGINS = {"shipped": "included", "atlas": "atlas", "local": "made here", "given": "given"}
MOST_ROWS = 32_768  # that are kept
_OWN_COLUMN = ("seeds",)  # a setting that the table has a column for


@dataclass(frozen=True)
class Measured:
    """What a run measured for one claim: the claim's id and name, the number, its standard
    error."""

    claim: str
    label: str
    value: float
    error: float | None


@dataclass(frozen=True, eq=False)
class RunRow:
    """A run in the table.

    header   the run's
    title    its experiment's title
    values   its settings as texts, by field
    seeds    how many it has
    numbers  what it measured, in the order in which its experiment declares the claims
    size     the bytes of its file; of a run of an atlas those of its tensors
    """

    header: Header
    title: str
    values: Mapping[str, str] = field(repr=False)
    seeds: int
    numbers: tuple[Measured, ...]
    size: int

    @property
    def paper(self) -> str:
        """The name of the paper's folder."""
        return self.header.experiment.partition(".")[0]

    @property
    def preset(self) -> str:
        """The title of the preset that it is nearest to; empty if its settings are no longer
        possible."""
        return self._comparison[0]

    @property
    def differs(self) -> str:
        """How its settings differ from that preset's, seeds aside: "d = 64 (preset 128)"."""
        return self._comparison[1]

    @cached_property
    def _comparison(self) -> tuple[str, str]:
        try:
            config = typed_config(self.header)
        except (Damaged, NotHere) as problem:
            return "", f"this setting is no longer possible: {problem}"
        preset = _nearest_preset(self.header, knobs.values(config))
        differences = settings_io.differences(config, preset.config, without=_OWN_COLUMN)
        return preset.full_title, ", ".join(differences)

    @property
    def origin(self) -> str:
        """Where it is from, one of `ORIGINS`."""
        return "given" if self.header.info.get("given") else self.header.origin

    @property
    def date(self) -> str:
        """The minute in which it was made, UTC: "2026-11-22 14:16"; empty if it is not known."""
        return str(self.header.info.get("date") or "")[:16].replace("T", " ")

    @property
    def device(self) -> str:
        """What it was trained on, as it can be shown."""
        return shown_name(str(self.header.info.get("device") or ""), 80)

    @property
    def seconds(self) -> float | None:
        """How long one waited for the training; None if that is not known."""
        seconds = self.header.waited
        if isinstance(seconds, (int, float)) and math.isfinite(seconds):
            return float(seconds)
        return None

    def number(self, claim: str = "") -> Measured | None:
        """Return what was measured for a claim, by default the headline: the first claim that the
        experiment declares and the run has measured. None if there is nothing."""
        named = [number for number in self.numbers if claim in ("", number.claim)]
        return named[0] if named else None


@dataclass(frozen=True)
class RunFilter:
    """Which runs are shown: those of any of the `papers`, of the `experiments` and of the
    `origins`, whose settings have one of the texts in `where`, by field. Empty takes all."""

    papers: tuple[str, ...] = ()
    experiments: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)

    def takes(self, row: RunRow) -> bool:
        """Return whether a run is shown."""
        return (
            (not self.papers or row.paper in self.papers)
            and (not self.experiments or row.header.experiment in self.experiments)
            and (not self.origins or row.origin in self.origins)
            and all(row.values.get(name) in texts for name, texts in self.where.items())
        )


@dataclass(frozen=True, eq=False)
class RunGroup:
    """The runs that have one value in common, in one line of the table.

    value  the value as a filter has it; empty for runs without it
    label  the same for visitors
    rows   the runs
    """

    value: str
    label: str
    rows: tuple[RunRow, ...]

    def numbers(self, claim: str = "") -> tuple[Measured, ...]:
        """Return what the runs measured for a claim, by default their headline; nothing if they
        have different ones."""
        numbers = [number for row in self.rows if (number := row.number(claim))]
        kinds = {(row.header.experiment, number.claim) for row in self.rows for number in numbers}
        return tuple(numbers) if len(kinds) == 1 else ()


def all_rows(store: Store) -> list[RunRow]:
    """Return a row for every run, the latest first. Imports the experiments that have runs."""
    headers = store.headers()
    for experiment_id in registry.experiment_ids():
        headers += store.atlases.headers(experiment_id).values()
    rows = [_row(header, store) for header in headers]
    return sorted(rows, key=lambda row: row.date, reverse=True)


@lru_cache(maxsize=MOST_ROWS)
def _row(header: Header, store: Store) -> RunRow:
    values = _setting_texts(header)
    return RunRow(
        header=header,
        title=registry.experiment(header.experiment).title,
        values=values,
        seeds=int(values.get("seeds", "1")),
        numbers=_numbers(header),
        size=_size(header, store),
    )


def _setting_texts(header: Header) -> dict[str, str]:
    """Return the texts of a run's settings by field; of settings that are no longer possible as
    files name them."""
    try:
        values: Mapping[str, Any] = knobs.values(typed_config(header))
    except (Damaged, NotHere):
        values = header.config
    return {name: settings_io.field_text(value) for name, value in values.items()}


def _nearest_preset(header: Header, values: Mapping[str, Any]) -> Preset:
    """Return the preset whose run it is, else the one from which the fewest settings differ; of
    several the first."""
    presets = _presets(header.experiment)
    names = header.info.get("presets") or ()
    for preset, _ in presets:
        if preset.name in names:
            return preset
    own = values.items()
    return max(presets, key=lambda each: len(each[1] & own))[0]


@cache
def _presets(experiment_id: str) -> list[tuple[Preset, frozenset[tuple[str, Any]]]]:
    """Return the presets, each with its settings but for those that have a column of their own."""
    return [
        (preset, frozenset(_without_own_column(knobs.values(preset.config))))
        for preset in registry.experiment(experiment_id).presets
    ]


def _without_own_column(values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in values.items() if name not in _OWN_COLUMN]


def _numbers(header: Header) -> tuple[Measured, ...]:
    records = {record["claim"]: record for record in header.info.get("metrics", ())}
    numbers = []
    for claim in registry.experiment(header.experiment).claims:
        record = records.get(claim.id)
        if record is not None and record["value"] is not None:
            numbers.append(Measured(claim.id, claim.label, record["value"], record["error"]))
    return tuple(numbers)


def _size(header: Header, store: Store) -> int:
    if header.origin == "atlas":
        return sum(store.atlases.parts(header).values())
    try:
        return header.path.stat().st_size
    except OSError:  # deleted since its header was read: it is gone at the next look
        return 0


def filtered(rows: Iterable[RunRow], chosen: RunFilter) -> list[RunRow]:
    """Return the rows that the filter takes, in their order."""
    return [row for row in rows if chosen.takes(row)]


def settings_of(rows: Sequence[RunRow]) -> dict[str, str]:
    """Return the fields in which the rows differ, with their labels: what else they can be filtered
    by. Seeds are among them."""
    texts: dict[str, set[str]] = {}
    for row in rows:
        for name, text in row.values.items():
            texts.setdefault(name, set()).add(text)
    labels: dict[str, str] = {}
    for experiment_id in dict.fromkeys(row.header.experiment for row in rows):
        for name, knob in knobs.knobs_of(registry.experiment(experiment_id).config).items():
            if len(texts.get(name, ())) > 1:
                labels.setdefault(name, knob.label)
    return labels


def main_settings(rows: Sequence[RunRow]) -> list[str]:
    """Return the main settings, seeds aside, in which rows of one experiment differ."""
    names = knobs.main_knobs(registry.experiment(rows[0].header.experiment).config)
    return [
        name
        for name in names
        if name not in _OWN_COLUMN and len({row.values.get(name) for row in rows}) > 1
    ]


def texts_of(rows: Iterable[RunRow], name: str) -> list[str]:
    """Return the texts that a field has in the rows, numbers first and by size."""
    return sorted({row.values[name] for row in rows if name in row.values}, key=by_size)


def by_size(text: str) -> tuple[bool, float, str]:
    """Return a key by which texts are sorted: numbers first, by size, then words."""
    value = settings_io.number(text)
    is_word = math.isnan(value)
    return is_word, 0.0 if is_word else value, text


def claims_of(rows: Sequence[RunRow]) -> dict[str, str]:
    """Return the names of the claims that the rows measured, by id, in the order of their
    experiment; none if they are of several experiments."""
    ids = {row.header.experiment for row in rows}
    if len(ids) != 1:
        return {}
    measured = {number.claim for row in rows for number in row.numbers}
    claims = registry.experiment(ids.pop()).claims
    return {claim.id: claim.label for claim in claims if claim.id in measured}


# What the rows can be sorted by; a row without the value comes last.
SORTS = ("date", "number", "seconds", "size", "seeds", "experiment")


def ordered(rows: Iterable[RunRow], by: str, falling: bool, claim: str = "") -> list[RunRow]:
    """Return the rows sorted by one of `SORTS`, the largest first if `falling`."""
    order = {id: index for index, id in enumerate(registry.experiment_ids())}

    def value(row: RunRow) -> Any:
        if by == "number":
            number = row.number(claim)
            return None if number is None else number.value
        if by == "experiment":
            return order[row.header.experiment]
        return getattr(row, by)

    valued = [(value(row), row) for row in rows]
    with_value = [pair for pair in valued if pair[0] not in (None, "")]
    with_value.sort(key=lambda pair: pair[0], reverse=falling)
    return [row for _, row in with_value] + [row for number, row in valued if number in (None, "")]


# What the rows can be grouped by beside a setting.
GROUPS = ("paper", "experiment", "origin")


def grouped(rows: Iterable[RunRow], by: str) -> list[RunGroup]:
    """Return the rows by a property in `GROUPS` or a setting's field, in the order of the pages, of
    `ORIGINS` or of size."""
    members: dict[str, list[RunRow]] = {}
    for row in rows:
        members.setdefault(_group_of(row, by), []).append(row)
    orders = {
        "paper": list(registry.papers()),
        "experiment": registry.experiment_ids(),
        "origin": list(ORIGINS),
    }
    if by in orders:
        values = [value for value in orders[by] if value in members]
    else:
        values = sorted(members, key=by_size)
    return [RunGroup(value, _group_label(value, by), tuple(members[value])) for value in values]


def _group_of(row: RunRow, by: str) -> str:
    if by == "experiment":
        return row.header.experiment
    return getattr(row, by) if by in GROUPS else row.values.get(by, "")


def _group_label(value: str, by: str) -> str:
    if by == "paper":
        return registry.papers()[value].title.split(":")[0]
    if by == "experiment":
        return registry.experiment(value).title
    return ORIGINS[value] if by == "origin" else value or "not a setting of theirs"


def header_of(store: Store, origin: str, experiment_id: str, key: str) -> Header | None:
    """Return the header of a run as it is now; None if it was deleted meanwhile."""
    try:
        every = store.every(experiment_id)
    except BadSetting:
        return None
    return next((row for row in every if (row.origin, row.key) == (origin, key)), None)

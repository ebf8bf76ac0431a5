"""The runs of one experiment by their settings: how far each is from a setting, and in which fields
it differs. Much cheaper than to compare run by run, as most runs have few values of a field."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from icl_core.contract import settings_io
from icl_core.contract.knobs import knobs_of
from icl_core.runs.header import Header, all_but_seeds


class _Column(NamedTuple):
    """What the runs have of one field: the different values, and for each run the number of its
    own, of shape (runs,)."""

    values: Collection[Any]
    numbers: np.ndarray


class SettingsIndex:
    """The runs `headers` by their settings, which are given and kept as files hold them."""

    def __init__(self, headers: Sequence[Header]) -> None:
        self.headers = headers
        self._columns: dict[str, _Column] = {}

    def is_of(self, headers: Sequence[Header]) -> bool:
        """Return whether these are the very runs of this index."""
        return len(headers) == len(self.headers) and all(map(is_, headers, self.headers))

    def same_but_seeds(self, settings: Mapping[str, Any]) -> Sequence[Header]:
        """Return the runs that differ from the settings in nothing but the number of seeds."""
        return self._by_all_but_seeds.get(all_but_seeds(settings), ())

    @cached_property
    def one_of_each_shape(self) -> Sequence[Header]:
        """The runs, but of those that were computed here one for each shape of their tensors."""
        return list(
            {
                each.shape if each.origin == "local" else each.key: each for each in self.headers
            }.values()
        )

    def distances(self, settings_class: type, settings: Mapping[str, Any]) -> np.ndarray:
        """Return the distance of every run from the settings, `settings_io.distance`: (runs,)."""
        total = np.zeros(len(self.headers))
        for name, knob in knobs_of(settings_class).items():
            stored_name = knob.was or name
            value = settings.get(stored_name)
            column = self._column(stored_name)
            each = [
                settings_io.field_distance(stored_name, knob, value, other)
                for other in column.values
            ]
            total += np.array(each)[column.numbers]
        return total

    def differences(self, names: Sequence[str], settings: Mapping[str, Any]) -> np.ndarray:
        """Return whether each run differs from the settings in each field: (fields, runs)."""
        rows = []
        for name in names:
            column = self._column(name)
            is_other = [value != settings.get(name) for value in column.values]
            rows.append(np.array(is_other, bool)[column.numbers])
        return np.array(rows)

    @cached_property
    def _by_all_but_seeds(self) -> Mapping[Any, Sequence[Header]]:
        groups: dict[Any, list[Header]] = defaultdict(list)
        for header in self.headers:
            groups[header.all_but_seeds].append(header)
        return groups

    def _column(self, name: str) -> _Column:
        column = self._columns.get(name)
        if column is None:
            numbers: dict[Any, int] = {}
            each = [
                numbers.setdefault(header.config.get(name), len(numbers)) for header in self.headers
            ]
            column = self._columns[name] = _Column(list(numbers), np.array(each, np.intp))
        return column

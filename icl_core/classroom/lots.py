"""A lot: the settings of a grid that a class trains by turns, which phone has drawn which, and what
each of them says now."""

import secrets
from collections import Counter
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from icl_core.classroom.question import Refused
from icl_core.machine import limits


@dataclass(frozen=True)
class Told:
    """What a setting says on the phones that have drawn it.

    says   how far it is, in a sentence
    large  what stands above that in large type: its step, then its number
    """

    says: str = "It waits to be trained."
    large: str = ""


@dataclass(frozen=True)
class Lot:
    """The settings that phones draw from. It never changes: each method returns another lot.

    key     names the grid: two lots of one key have the same settings
    labels  what each setting is called, by its index in the grid
    grid    the grid, for who trains it
    drawn   the setting's index, by phone
    asked   the indices of the settings whose runs were asked for, which happens once
    told    what the settings say, by index, as the lecturer's page said it last
    version counts the changes of `told`
    """

    key: Hashable
    labels: Mapping[int, str]
    grid: Any = None
    drawn: Mapping[str, int] = field(default_factory=dict)
    asked: frozenset[int] = frozenset()
    told: Mapping[int, Told] = field(default_factory=dict)
    version: int = 0

    def with_draw(self, phone: str) -> "Lot":
        """Return the lot in which this phone has a setting: one of those that fewest have, by
        chance; its first one if it has drawn before. Raises `Refused` where too many have drawn."""
        if phone in self.drawn:
            return self
        if len(self.drawn) >= limits.PHONES:
            raise Refused(f"A class takes {limits.PHONES} phones, and so many have drawn.", 503)
        holders = Counter(self.drawn.values())
        fewest = min(holders[index] for index in self.labels)
        index = secrets.choice([index for index in self.labels if holders[index] == fewest])
        return replace(self, drawn={**self.drawn, phone: index})

    def with_told(self, told: Mapping[int, Told], asked: Collection[int]) -> "Lot":
        """Return the lot in which settings say this, and runs of these were asked for too."""
        changed = {**self.told, **told}
        version = self.version + (changed != self.told)
        return replace(self, told=changed, asked=self.asked | set(asked), version=version)

    def state(self, phone: str) -> dict[str, Any]:
        """Return what a phone shows: how many settings there are, and its own once it has one."""
        index = self.drawn.get(phone)
        if index is None:
            return {"of": len(self.labels)}
        told = self.told.get(index, Told())
        return {"own": self.labels[index], "says": told.says, "large": told.large}

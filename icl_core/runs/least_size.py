"""The bytes that a run will take at least, known before it is trained from the runs that are
stored.

The shapes of its tensors follow from its settings. A stored run of the same choices and texts tells
how large they are:

- a whole number that is as large or larger makes no tensor smaller;
- one that is smaller makes a tensor smaller by its square at most, as a matrix of d rows and d
  columns, and by itself at most if it counts steps or seeds;
- a tensor without an axis of seeds does not depend on their number, and weights do not depend on
  the number of steps;
- fractions, such as rates, the first seed and the size of a batch change values, and no shape.

So a run that would fit is not said to be too large; one that is too large may be said to fit.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from icl_core.runs.file import TensorSizes, canonical

NO_SHAPE = ("seed", "batch")  # whole numbers on which no tensor's shape depends
COUNTS = ("steps", "seeds")  # of which each adds as much as the one before, or less
WEIGHTS = ("final", "frozen", "seed")  # first parts of names, see `icl_core.contract.run`


class Part(NamedTuple):
    """What the tensors of a run that change their shape with the same counts have in common.

    seeds  "rows" if an axis may be of seeds, "others" if they are of seeds but the first, else ""
    steps  whether their shape may depend on the number of steps
    """

    seeds: str
    steps: bool


Parts = Mapping[Part, int]  # the bytes of each


def parts_of(sizes: TensorSizes, seeds: int) -> Parts:
    """Return the bytes of the tensors of a run of so many seeds, by what they depend on."""
    parts: Counter[Part] = Counter()
    for name, (shape, size) in sizes.items():
        kind = name.split("/")[0]
        rows = "rows" if any(extent % max(seeds, 1) == 0 for extent in shape) else ""
        parts[Part("others" if kind == "seed" else rows, kind not in WEIGHTS)] += size
    return parts


def shape_of(config: Mapping[str, Any]) -> str:
    """Return what is the same text for settings whose runs have tensors of the same shapes."""
    return canonical(
        {
            name: value
            for name, value in config.items()
            if name not in NO_SHAPE and not isinstance(value, float)
        }
    )


def least_size(known: Iterable[tuple[Mapping[str, Any], Parts]], config: Mapping[str, Any]) -> int:
    """Return the bytes that the tensors of a run of `config` take at least; 0 if no known run is
    comparable. Of each `known` run the settings and its parts are given."""
    return max((_size(other, parts, config) for other, parts in known), default=0)


def _size(known: Mapping[str, Any], parts: Parts, config: Mapping[str, Any]) -> int:
    share = _share(known, config)
    if not share:
        return 0
    steps = _ratio(known.get("steps", 1), config.get("steps", 1))
    seeds = {
        "": 1.0,
        "rows": _ratio(known.get("seeds", 1), config.get("seeds", 1)),
        "others": _ratio(known.get("seeds", 1) - 1, config.get("seeds", 1) - 1),
    }
    sizes = [
        size * seeds[part.seeds] * (steps if part.steps else 1.0) for part, size in parts.items()
    ]
    return int(share * sum(sizes))


def _share(known: Mapping[str, Any], config: Mapping[str, Any]) -> float:
    """Return the least share of the bytes of a known run that one of `config` takes, if both have
    as many steps and seeds; 0 if the two cannot be compared."""
    if known.keys() != config.keys():
        return 0.0
    share = 1.0
    for name, value in config.items():
        other = known[name]
        if name in (*NO_SHAPE, *COUNTS) or float in (type(value), type(other)):
            continue
        if type(value) is int and type(other) is int:
            share *= _ratio(other, value) ** 2
        elif value != other:
            return 0.0
    return share


def _ratio(known: int, value: int) -> float:
    """Return the share of a known whole number that a smaller one is; 1 if it is not smaller."""
    return max(value, 0) / known if value < known else 1.0

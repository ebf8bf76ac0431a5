"""What changes in a figure from snapshot to snapshot, for a clock that moves it in the browser."""

from collections.abc import Mapping, Sequence
from typing import Any


def clock_frames(figures: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each state of a figure (`Figure.to_dict`) a frame of plotly's that brings it there from
    any other: what differs between any two of them, and nothing else. ValueError if they do not
    have the same traces."""
    kinds = {tuple(trace["type"] for trace in figure["data"]) for figure in figures}
    if len(kinds) > 1:
        raise ValueError(
            f"a figure must have the same traces at every snapshot, got {sorted(kinds)}"
        )
    states = zip(*(each["data"] for each in figures), strict=True)
    moving = {index: _differing(every) for index, every in enumerate(states)}
    traces = [index for index, keys in moving.items() if keys]
    layout = _differing([each["layout"] for each in figures])
    return [
        {
            "traces": traces,
            "data": [_only(each["data"][index], {"type", *moving[index]}) for index in traces],
            "layout": _only(each["layout"], layout),
        }
        for each in figures
    ]


def _differing(states: Sequence[Mapping[str, Any]]) -> set[str]:
    """The keys whose values are not the same in all."""
    keys = {key for each in states for key in each}
    return {key for key in keys if any(each.get(key) != states[0].get(key) for each in states[1:])}


def _only(properties: Mapping[str, Any], keys: set[str]) -> dict[str, Any]:
    return {key: properties.get(key) for key in properties if key in keys} | {
        key: None for key in sorted(keys) if key not in properties
    }

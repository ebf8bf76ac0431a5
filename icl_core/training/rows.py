"""Tensors of several trainings as one: rows [rows, …], of which each training has its own, and of
them as many entries as its own tensors have."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor


def join(parts: Sequence[Tensor]) -> Tensor:
    """Return one tensor [rows, …] of all parts, and make each part a view of it: of its rows and,
    where it is smaller than others, of their first entries along each axis. All else is zero.

    A change of the whole then changes the parts in place.
    """
    sizes = np.max([part.shape[1:] for part in parts], axis=0).astype(int).tolist()
    whole = parts[0].new_zeros(sum(len(part) for part in parts), *sizes)
    start = 0
    for part in parts:
        view = whole[start : start + len(part)]
        view = view[tuple(slice(length) for length in part.shape)]
        view.copy_(part.detach())
        part.data = view
        start += len(part)
    return whole


def by_member(values: Mapping[str, Any], rows: Sequence[int]) -> list[dict[str, Any]]:
    """Return each member's part of values [rows, …], by name, given how many rows each has."""
    starts = np.cumsum([0, *rows])
    return [
        {name: array[start : start + count] for name, array in values.items()}
        for start, count in zip(starts, rows, strict=False)
    ]


def corner(parameters: Mapping[str, Tensor], rows: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the part of a training's `rows` that its own, smaller `parameters` have, by name."""
    return {
        name: tensor[tuple(slice(length) for length in parameters[name].shape)]
        for name, tensor in rows.items()
    }


def equal(alone: Mapping[str, Any], batched: Mapping[str, Any]) -> bool:
    """Return whether a training's tensors or measures agree with those computed alone, to the last
    bit; NaN agrees with NaN."""
    return all(
        torch.allclose(
            torch.as_tensor(alone[name]), torch.as_tensor(value), rtol=0, atol=0, equal_nan=True
        )
        for name, value in batched.items()
    )

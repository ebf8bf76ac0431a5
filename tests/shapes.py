"""The check of shapes in signatures, made cheap: a call is checked when its arguments have shapes
that this function has not had before, and a few times after that.

A training calls a step hundreds of times with the same shapes, and each check costs as much as the
arithmetic of a tiny model.
"""

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

import jaxtyping
import torch

AGAIN = 10  # calls with the same shapes that are checked, in every test
_calls: dict[tuple, int] = {}


def check_new_ones() -> None:
    """Have the import hook of jaxtyping, which looks this decorator up, take the cheap one."""
    jaxtyping.jaxtyped = functools.partial(_cheap, jaxtyping.jaxtyped)


def forget() -> None:
    """Begin anew: a test finds what it would find alone."""
    _calls.clear()


def _cheap(jaxtyped: Callable, *, typechecker: Any) -> Callable:
    """Return the decorator that `jaxtyped` is, for functions with few calls checked."""

    def decorate(function: Any) -> Any:
        checked = jaxtyped(function, typechecker=typechecker)
        if not isinstance(function, FunctionType):
            return checked

        @functools.wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            seen = function, *(_shape(each) for each in given), *map(_shape, named.values())
            count = _calls.get(seen, 0)
            if count >= AGAIN:
                return function(*given, **named)
            _calls[seen] = count + 1
            return checked(*given, **named)

        return call

    return decorate


def _shape(given: Any) -> Any:
    if isinstance(given, torch.Tensor):
        return given.shape, given.dtype
    return type(given)

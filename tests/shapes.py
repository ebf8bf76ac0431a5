"""The check of shapes in signatures, made cheap: a call is checked when its arguments have shapes
that this function has not had before, and a few times after that.

A training calls a step hundreds of times with the same shapes, and each check costs as much as the
arithmetic of a tiny model.
"""

import functools
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import jaxtyping
import torch

ROOT = Path(__file__).parents[1]
PAPERS = ROOT / "icl_core" / "papers"
AGAIN = 10  # calls with the same shapes that are checked, in every test
_calls: dict[tuple, int] = {}


def check_new_ones() -> None:
    """Check what is imported from now on: models and probes, in whose signatures shapes stand.
    Settings check themselves, with messages of their own."""
    # the import hook looks this decorator up
    jaxtyping.jaxtyped = functools.partial(_cheap, jaxtyping.jaxtyped)
    shaped = [path for path in PAPERS.rglob("*.py") if "jaxtyping" in path.read_text()]
    modules = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in shaped]
    jaxtyping.install_import_hook(modules, "beartype.beartype")


def forget() -> None:
    """Begin anew: a test finds what it would find alone."""
    _calls.clear()


def _cheap(jaxtyped: Callable, *, typechecker: Any) -> Callable:
    """Return the decorator that `jaxtyped` is, for functions with few calls checked."""

    def decorate(function: Any) -> Any:
        if not isinstance(function, FunctionType):
            return jaxtyped(function, typechecker=typechecker)

        @functools.cache  # once it is called: most functions are not, in most processes
        def checked() -> Callable:
            return jaxtyped(function, typechecker=typechecker)

        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            signature = function, *map(_shape, (*arguments, *named.values()))
            count = _calls.get(signature, 0)
            if count >= AGAIN:
                return function(*arguments, **named)
            _calls[signature] = count + 1
            return checked()(*arguments, **named)

        return call

    return decorate


def _shape(argument: Any) -> Any:
    if isinstance(argument, torch.Tensor):
        return argument.shape, argument.dtype
    return type(argument)

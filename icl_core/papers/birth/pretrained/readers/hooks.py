"""What stands in the way of a network's modules while it runs: hooks and other forward functions,
which are taken away in the end."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor


class Reached(Exception):
    """A pass has come as far as it was wanted."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


@contextmanager
def hook_removed(*hooks: Any) -> Iterator[None]:
    """Remove hooks in the end."""
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def forward_of(functions: dict[Any, Any]) -> Iterator[None]:
    """Have modules compute something else meanwhile."""
    with ExitStack() as stack:
        for module, function in functions.items():
            module.forward = function
            stack.callback(module.__dict__.pop, "forward")
        yield


def replaced(args: tuple, kwargs: dict, x: Tensor) -> tuple[tuple, dict]:
    """Return the arguments of a layer or of its attention with another stream."""
    return ((x, *args[1:]), kwargs) if args else (args, kwargs | {"hidden_states": x})


def first_of(output: Any) -> Tensor:
    return output[0] if isinstance(output, tuple) else output


def silent(_module: Any, _args: tuple, output: Any) -> Any:
    if isinstance(output, tuple):
        return (torch.zeros_like(output[0]), *output[1:])
    return torch.zeros_like(output)


def end_here(_module: Any, _args: tuple, output: Any) -> None:
    raise Reached(output)

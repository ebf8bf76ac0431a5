"""Training steps as one program each (`ICL_COMPILE=1`), where a step is bound by the many small
operations it is made of or by the memory between them. It costs a C++ compiler and about a minute a
model; sums are rounded otherwise."""

import os
from collections.abc import Callable
from typing import Any

import torch

from icl_core.contract.knobs import BadSetting


def wanted() -> bool:
    """Return whether `ICL_COMPILE` asks for it. Raise `BadSetting` if it is neither 0 nor 1."""
    value = os.environ.get("ICL_COMPILE") or "0"
    if value not in ("0", "1"):
        raise BadSetting(f"ICL_COMPILE must be 0 or 1, got {value!r:.60}")
    return value == "1"


def compile_function(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return the function as one program for each shape it meets, where that is wanted. What was
    compiled before is dropped: a training needs one model at a time, and torch refuses more than a
    few programs of one function. The result raises `BadSetting` where nothing can be compiled."""
    if not wanted():
        return function
    from torch._dynamo.exc import BackendCompilerFailed  # whose import takes seconds

    torch.compiler.reset()
    program = torch.compile(function, dynamic=False)

    def run(*arguments: Any) -> torch.Tensor:
        """Run the program, which is compiled when it first meets arguments of a shape."""
        try:
            return program(*arguments)
        except BackendCompilerFailed as problem:
            why = str(problem).partition("\n")[0]
            raise BadSetting(
                "ICL_COMPILE must be 0 where no step can be compiled, as without a C++ compiler "
                f"such as g++; got 1, and torch says: {why:.200}"
            ) from problem

    return run

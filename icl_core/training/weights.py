"""A model's weights as tensors by name."""

from dataclasses import dataclass, fields, replace
from typing import Any, Self

from torch import Tensor


@dataclass(frozen=True, eq=False)
class Weights:
    """The base of what a model learns: a field a tensor; None for one that it does not have."""

    def tensors(self) -> dict[str, Tensor]:
        """The tensors by name, in order, those that are None left out; themselves, not copies."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in named.items() if isinstance(value, Tensor)}

    def with_(self, **tensors: Tensor | None) -> Self:
        """A copy in which the named tensors are others: how a part is set to its construction."""
        return replace(self, **tensors)

    def to(self, *args: Any) -> Self:
        """A copy on another device or of another dtype."""
        return self.with_(**{name: tensor.to(*args) for name, tensor in self.tensors().items()})

"""The base class of a model's weights: named tensors."""

from dataclasses import dataclass, fields, replace
from typing import Any, Self

from torch import Tensor


@dataclass(frozen=True, eq=False)
class Weights:
    """A model's weights, one field a tensor; None for a tensor that the model does not have."""

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors by field name, in order, without those that are None. Not copies."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, Tensor)}

    def with_(self, **tensors: Tensor | None) -> Self:
        """Return a copy with the named tensors replaced, for instance by a construction."""
        return replace(self, **tensors)

    def to(self, *args: Any) -> Self:
        """Return a copy on another device or of another dtype; arguments as of `Tensor.to`."""
        return self.with_(**{name: tensor.to(*args) for name, tensor in self.tensors().items()})

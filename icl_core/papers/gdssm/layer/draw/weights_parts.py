"""What of two models is compared, part by part: weights, decays and rates, the symmetries normalised away or not."""

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from icl_core.papers.gdssm.layer.symmetries import RATES, compare, mean_decay
from icl_core.papers.gdssm.shared.any_layer import Model
from icl_core.papers.gdssm.shared.layer_1d import Layer1D
from icl_core.papers.gdssm.shared.multi_layer import MultiLayer

COLUMNS = ["x", "y", "x⁺"]
DECAYS, RATE = "decays", "rates"  # the kinds that are numbers, one or as many as the state has rows or entries
MEAN = "decay: the mean of a^(N − t)"
SHOWN = {"S": "Q̄", "Q_1": "Q₁", "Q_tilde": "Q̃₂"}  # S is Σ x xᵀ on the page
MEANINGS = {"rate": "rate in η/N", "A": "A and B over the constructed", "B": "A and B over the constructed"}


@dataclass(frozen=True, eq=False)
class Part:
    """One quantity of both models. Weights are [rows, columns]; a decay or a rate is [], [f] or [f, f]."""

    kind: str  # as the title names it: "weights", "M", "decays" or "rates"
    name: str
    trained: np.ndarray
    constructed: np.ndarray
    meaning: str = ""
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    @property
    def away(self) -> float:
        """The largest difference of an entry."""
        return float(np.abs(self.trained - self.constructed).max())


def normalised(trained: Model, constructed: Model, N: int) -> list[Part]:
    """What `symmetries.compare` compares, in its units, and the mean decays."""
    found = []
    for each in compare(trained, constructed, N):
        ours, theirs = each.trained[0] / each.unit, each.constructed / each.unit
        if each.name == "M":
            found.append(_product(ours, theirs))
        elif each.name in RATES:
            found.append(_number(RATE, each.name, ours, theirs, MEANINGS[each.name]))
        else:
            found.append(_weights(SHOWN.get(each.name, each.name), ours, theirs))
    decays = _numbers(trained, constructed, DECAYS, N)
    weights = [part for part in found if part.kind != RATE]
    return [*weights, *decays, *(part for part in found if part.kind == RATE)]


def over_largest(trained: Model, constructed: Model, N: int) -> list[Part]:
    """Every matrix over its largest entry, for models whose symmetries nobody has normalised, and the mean decays.
    What is zero in the construction has no scale to be freed of, and stays as it is. Rates mean nothing here."""
    found = []
    for name, ours, theirs in _matrices(trained, constructed):
        free = bool(theirs.any()) and bool(ours.any())
        found.append(_weights(name, ours / ours.flatten()[ours.abs().argmax()] if free else ours, theirs))
    return [*found, *_numbers(trained, constructed, DECAYS, N)]


def raw(trained: Model, constructed: Model) -> list[Part]:
    """Every tensor as it is."""
    numbers = [part for kind in (DECAYS, RATE) for part in _numbers(trained, constructed, kind)]
    if isinstance(trained, Layer1D) and isinstance(constructed, Layer1D):
        f = trained.Psi.shape[1]
        found = []
        for name, ours, theirs in (("Ψ", trained.Psi, constructed.Psi), ("Θ", trained.Theta, constructed.Theta)):
            rows = tuple(f"{name} {i + 1}" for i in range(f))
            found.append(Part("weights", name, ours[0].numpy(), theirs[0].numpy(), "", rows, _halves(f)))
        return [*found, *numbers]
    return [*(_weights(*each) for each in _matrices(trained, constructed)), *numbers]


def _weights(name: str, ours: Tensor, theirs: Tensor) -> Part:
    """A 3 x 3 matrix, or a vector of at most 3 as one row."""
    rows = (name,) if ours.dim() == 1 else tuple(f"{name} {column}" for column in COLUMNS)
    width = ours.shape[-1]
    first, second = ours.reshape(-1, width).numpy(), theirs.reshape(-1, width).numpy()
    return Part("weights", name, first, second, "skip" if name == "skip" else "", rows, tuple(COLUMNS[:width]))


def _product(ours: Tensor, theirs: Tensor) -> Part:
    names = _halves(len(ours) // 2)
    return Part("M", "M", ours.numpy(), theirs.numpy(), "", names, names)


def _number(kind: str, name: str, ours: Tensor, theirs: Tensor, meaning: str) -> Part:
    """A decay or a rate, without the axes that only make it broadcast. The construction's decays are all alike, and
    stand as one where the trained model has one."""
    first, second = ours.squeeze(), theirs.squeeze()
    second = second if second.shape == first.shape else second.mean().expand(first.shape)
    return Part(kind, name, first.numpy(), second.numpy(), meaning)


def _numbers(trained: Model, constructed: Model, kind: str, N: int = 0) -> list[Part]:
    """The decays, or the rates beta and b, as they are; with N the mean decays."""
    ours, theirs = trained.tensors(), constructed.tensors()
    found = []
    for name in ("a", "a_tilde") if kind == DECAYS else ("beta", "b"):
        if name not in ours:
            continue
        first, second = (mean_decay(each[name], N) if N else each[name] for each in (ours, theirs))
        if not isinstance(trained, MultiLayer):
            label, meaning = ("decay", MEAN) if N else ("a", "decay a") if kind == DECAYS else ("β", "β")
            found.append(_number(kind, label, first[0], second[0], meaning))
            continue
        sign = {"a": "Z" if N else "a", "a_tilde": "Z̃" if N else "ã", "b": "b"}[name]
        meaning = MEAN if N else "decays a" if kind == DECAYS else "rates b"
        for index in range(first.shape[1]):
            label = _numbered(sign, index + (2 if name == "a_tilde" else 1))
            found.append(_number(kind, label, first[0, index], second[0, index], meaning))
    return found


def _matrices(trained: Model, constructed: Model) -> list[tuple[str, Tensor, Tensor]]:
    """Q, Q tilde, q and skip, layer by layer."""
    ours, theirs = trained.tensors(), constructed.tensors()
    found = []
    for name, sign in (("Q", "Q"), ("Q_tilde", "Q̃"), ("q", "q"), ("skip", "skip")):
        if name not in ours:
            continue
        first, second = ours[name][0], theirs[name][0]
        if first.dim() < 3:
            found.append((sign, first, second))
        for index in range(len(first) if first.dim() == 3 else 0):
            found.append((_numbered(sign, index + (2 if sign == "Q̃" else 1)), first[index], second[index]))
    return found


def _numbered(sign: str, layer: int) -> str:
    return f"{sign}{'₁₂₃₄'[layer - 1]}"


def _halves(f: int) -> tuple[str, ...]:
    return tuple(f"{half} {i + 1}" for half in ("x y", "x⁺") for i in range(f))

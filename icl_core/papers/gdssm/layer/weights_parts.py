"""What of two models is compared, part by part: weights, decays and rates, the symmetries
normalised away or not."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from icl_core.papers.gdssm.layer.symmetries import compare, mean_decay
from icl_core.papers.gdssm.shared.any_layer import Model
from icl_core.papers.gdssm.shared.load_run import folded
from icl_core.papers.gdssm.shared.multi_layer import MultiLayer
from icl_core.papers.gdssm.shared.settings import Config

COLUMNS = ["x", "y", "x⁺"]
KINDS = WEIGHTS, PRODUCT, DECAYS, RATE = (
    "weights",
    "M",
    "decays",
    "rates",
)  # as the title names them, in their order
NUMBERS = (DECAYS, RATE)  # one number, or as many as the state has rows or entries
KIND_OF = {
    "a": DECAYS,
    "a_tilde": DECAYS,
    "beta": RATE,
    "b": RATE,
    "M": PRODUCT,
    "rate": RATE,
    "A": RATE,
    "B": RATE,
}
SIGNS = {"a_tilde": "ã", "Q_tilde": "Q̃", "Psi": "Ψ", "Theta": "Θ", "beta": "β"}
NORMALISED = {"S": "Q̄", "Q_1": "Q₁", "Q_tilde": "Q̃₂"}  # S is ∑ x xᵀ on the page
HEADS = {"a": "Z", "ã": "Z̃"}  # whose decays they are
AB = "A and B over the constructed"
MEANINGS = {
    "rate": "rate in η/N",
    "A": AB,
    "B": AB,
    "skip": "skip, which is ours",
    "beta": "β",
    "b": "rates b",
}


@dataclass(frozen=True, eq=False)
class Part:
    """One quantity of both models, or several in one block: matrices with a name for each row and
    column."""

    kind: str
    name: str
    trained: np.ndarray  # [rows, columns]
    constructed: np.ndarray
    rows: list[str]
    columns: list[str]
    meaning: str = ""

    @property
    def maps(self) -> dict[str, np.ndarray]:
        """What is drawn of it, by title."""
        return {
            "learned": self.trained,
            "constructed": self.constructed,
            "difference": self.trained - self.constructed,
        }

    @property
    def away(self) -> float:
        """The largest difference of an entry."""
        return float(np.abs(self.maps["difference"]).max())


def parts(config: Config, trained: Model, constructed: Model, raw: bool) -> list[Part]:
    """Return the parts that are drawn, those of one seed: every tensor as it is, or normalised with
    the mean decays."""
    if raw:
        decay = f"decay{'s' * config.several} a"
        drawn = [_part(*pair, decay) for pair in _tensors(trained, constructed)]
    else:
        compared = _over_largest if config.layers > 2 else _normalised
        drawn = [
            *compared(trained, constructed, config),
            *_mean_decays(trained, constructed, config.N),
        ]
    return sorted(drawn, key=lambda part: KINDS.index(part.kind))


def _normalised(trained: Model, constructed: Model, config: Config) -> Iterator[Part]:
    """Yield what `symmetries.compare` compares, in its units."""
    for part in compare(folded(trained, config.f), constructed, config.N):
        sign = NORMALISED.get(part.name, part.name)
        yield _part(part.name, sign, part.trained[0] / part.unit, part.constructed / part.unit)


def _over_largest(trained: Model, constructed: Model, config: Config) -> Iterator[Part]:
    """Yield every matrix over its largest entry, for models whose symmetries nobody has normalised.
    What is zero in the construction has no scale to be freed of, and stays as it is. Rates mean
    nothing here."""
    for name, sign, ours, theirs in _tensors(trained, constructed):
        if KIND_OF.get(name) not in NUMBERS:
            if theirs.any() and ours.any():
                ours = ours / ours.flatten()[ours.abs().argmax()]
            yield _part(name, sign, ours, theirs)


def _mean_decays(trained: Model, constructed: Model, N: int) -> Iterator[Part]:
    """Yield the decays, each as the mean of a^(N - t) over the examples."""
    for name, sign, ours, theirs in _tensors(trained, constructed, N):
        if KIND_OF.get(name) == DECAYS:
            shown = HEADS[sign[0]] + sign[1:] if isinstance(trained, MultiLayer) else "decay"
            yield _part(name, shown, ours, theirs, "decay: the mean of a^(N − t)")


def _tensors(
    trained: Model, constructed: Model, N: int = 0
) -> Iterator[tuple[str, str, Tensor, Tensor]]:
    """Yield every tensor of both models, of the first seed, with its name and its sign; those of
    several layers apart. With N decays are the mean ones."""
    for name in trained.tensors():
        sign = SIGNS.get(name, name)
        ours = trained.tensors()[name]
        theirs = constructed.tensors()[name]
        if N and KIND_OF.get(name) == DECAYS:
            ours = mean_decay(ours, N)
            theirs = mean_decay(theirs, N)
        if not isinstance(trained, MultiLayer) or name in ("q", "skip"):
            yield name, sign, ours[0], theirs[0]
            continue
        first = 2 if name.endswith("tilde") else 1  # Z̃ begins with the second layer
        for layer, pair in enumerate(zip(ours[0], theirs[0], strict=True), first):
            yield name, f"{sign}{'₀₁₂₃₄'[layer]}", *pair


def _part(name: str, sign: str, ours: Tensor, theirs: Tensor, decay: str = "") -> Part:
    """Return a quantity of one seed as matrices: a vector is a row, a number a matrix of one entry.
    Decays and rates lose the axes that only make them broadcast. The construction's decays are all
    alike: one stands for all where training has one. `decay`: the meaning of a decay."""
    kind = KIND_OF.get(name, WEIGHTS)
    if kind in NUMBERS:
        ours = ours.squeeze()
        theirs = theirs.squeeze()
        theirs = theirs if theirs.shape == ours.shape else theirs.mean().expand(ours.shape)
    rows, columns = _labels(kind, sign, ours)
    meaning = MEANINGS.get(name, decay if kind == DECAYS else "")
    return Part(
        kind,
        sign,
        torch.atleast_2d(ours).numpy(),
        torch.atleast_2d(theirs).numpy(),
        rows,
        columns,
        meaning,
    )


def _labels(kind: str, sign: str, tensor: Tensor) -> tuple[list[str], list[str]]:
    """Return a name for each row and each column."""
    if kind in NUMBERS:
        numbers = [str(i + 1) for i in range(tensor.shape[-1])] if tensor.dim() else [sign]
        return ([" "], [sign], numbers)[tensor.dim()], numbers
    features = range(1, tensor.shape[-1] // 2 + 1)
    halves = [*(f"x y {i}" for i in features), *(f"x⁺ {i}" for i in features)]
    if kind == PRODUCT:
        return halves, halves
    if sign in ("Ψ", "Θ"):
        return [f"{sign} {i + 1}" for i in range(len(tensor))], halves
    rows = [sign] if tensor.dim() == 1 else [f"{sign} {column}" for column in COLUMNS]
    return rows, COLUMNS[: tensor.shape[-1]]

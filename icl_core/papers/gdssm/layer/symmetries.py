"""Weights compared up to what the models cannot tell apart. Each comparison holds the trained
model's numbers, a row a seed, beside the construction's, in the same units.

N-D         scale and sign pass freely among Q, q and beta; the skip, of its own scale, is compared
            as it is
1-D         Psi -> G Psi, Theta -> G^-T Theta: any invertible G if all decays are equal, else scales
            of the state's coordinates and their order. Never compare entry by entry
two layers  moreover c Q_1, Q~_2 / c and Q_2 + (1 - c) (b_1 / b_2) Q_1 act alike: S = b_1 Q_1 + b_2
            Q_2 is what counts
A decay a counts as the mean of a^(N-t) over the context, a head being a sum of as many terms.

At the end stand the parts that are drawn: weights, decays and rates of both models, the symmetries
normalised away or not.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Run
from icl_core.papers.gdssm.shared.any_layer import Model
from icl_core.papers.gdssm.shared.layer_1d import Layer1D
from icl_core.papers.gdssm.shared.layer_nd import LayerND
from icl_core.papers.gdssm.shared.load_run import constructed_of, folded, model_of, trained_at
from icl_core.papers.gdssm.shared.multi_layer import MultiLayer
from icl_core.papers.gdssm.shared.settings import Config
from icl_core.papers.gdssm.shared.weights import powers


@dataclass(frozen=True, eq=False)
class Comparison:
    """One quantity of both models. `unit` is what it is a multiple of in the construction: 1, or
    eta / N."""

    name: str
    trained: Tensor  # (seeds, ...)
    constructed: Tensor  # (...)
    unit: float = 1.0

    @property
    def farthest(self) -> Tensor:
        """(seeds,): the largest difference of an entry, in units."""
        gap = (self.trained - self.constructed).abs() / self.unit
        return gap.reshape(len(gap), -1).amax(1)


def compare(trained: Model, constructed: Model, N: int) -> list[Comparison]:
    """Return every quantity that the models can be compared in. Raise `ValueError` for more than
    two layers, or for models of unlike kinds."""
    if type(trained) is not type(constructed):
        wanted = type(trained).__name__
        got = type(constructed).__name__
        raise ValueError(f"constructed must be a {wanted} as trained is, got a {got}")
    ours = quantities(trained, N)
    theirs = quantities(constructed, N)
    return [
        Comparison(name, ours[name], value[0], float(value.abs().max()) if name in RATES else 1.0)
        for name, value in theirs.items()
    ]


RATES = ("M", "rate", "A", "B")


def quantities(weights: Model, N: int) -> dict[str, Tensor]:
    """Return what a model's behaviour consists of, by name, the seeds first: the same for all
    weights that act alike."""
    if isinstance(weights, Layer1D):
        return {"M": product(weights, N)}
    parts = one_layer(weights, N) if isinstance(weights, LayerND) else two_layers(weights, N)
    return parts if weights.skip is None else {**parts, "skip": weights.skip}


def mean_decay(a: Tensor, N: int) -> Tensor:
    """Return the mean of a^(N-t) over t = 1..N, entry by entry."""
    return powers(a, N).mean(1)


def product(weights: Layer1D, N: int) -> Tensor:
    """Return M = beta Psi^T diag(mean a^(N-t)) Theta, (seeds, 2f, 2f); (eta / N) [[0, I], [0, 0]]
    in the construction."""
    decayed = mean_decay(weights.a, N)[..., None] * weights.Theta  # (seeds, f, 2f)
    return weights.beta[:, None, None] * weights.Psi.mT @ decayed


def one_layer(weights: LayerND, N: int) -> dict[str, Tensor]:
    """Return Q / Q[1, 0], q / q[2], and the rate: beta Q[1, 0] q[2] times the mean decays, in the
    shape of a."""
    Q = weights.Q[:, 1, 0]
    q = weights.q[:, 2]
    rate = (weights.beta * Q * q)[:, None, None] * mean_decay(weights.a, N)
    return {"Q": weights.Q / Q[:, None, None], "q": weights.q / q[:, None], "rate": rate}


def shared_as(constructed: Model, trained: Model, N: int) -> Model:
    """Return a construction of two layers that acts as before, and in which the first layer has the
    same share of A = b_1 Q_1 + b_2 Q_2 as in the trained model; return any other construction as it
    is. Both models are in the units Q_1[1, 0] = q[2] = 1."""
    if not isinstance(constructed, MultiLayer) or not isinstance(trained, MultiLayer):
        return constructed
    if constructed.layers != 2:
        return constructed
    ours = two_layers(trained, N)
    theirs = two_layers(constructed, N)
    keep = [1 - model.b[:, 1] * N * model.penalty for model in (trained, constructed)]
    decay = mean_decay(trained.a[:, 0], N).mean((-2, -1))  # (1,)
    first = keep[0] * trained.b[:, 0] * decay / ours["A"]  # (1,), the share
    rate = first * theirs["A"] / keep[1]  # the new b_1
    # a penalty fixes b_2
    second = theirs["B"] / rate if constructed.penalty == 0 else constructed.b[:, 1]
    inner = (1 - first) * theirs["A"] / second
    tilde = theirs["B"] / (rate * second)
    changed = (rate, second, inner, tilde)
    if not all(bool(number.isfinite().all()) for number in changed):
        return constructed  # the trained first layer does nothing, or A is 0
    Q = constructed.Q.clone()
    Q_tilde = constructed.Q_tilde.clone()
    Q[:, 1, 1, 0] = inner
    Q_tilde[:, 0, 0, 0] = tilde
    return constructed.with_(Q=Q, Q_tilde=Q_tilde, b=torch.stack((rate, second), 1))


def two_layers(weights: MultiLayer, N: int) -> dict[str, Tensor]:
    """Return S / S[1, 0], Q_1 / Q_1[1, 0], Q~_2 / Q~_2[0, 0], q / q[2] and (A, B) of the prediction
    A G x_q - B G S x_q.

    Rows with decays of their own are averaged; the penalty's shrinking of layer 1 counts to b_1
    Q_1.
    """
    if weights.layers != 2:
        raise ValueError(f"layers must be 2 for this comparison, got {weights.layers}")
    decay = mean_decay(weights.a, N).mean((-2, -1))  # (seeds, 2)
    decay_tilde = mean_decay(weights.a_tilde, N).mean((-2, -1))[:, 0]  # (seeds,)
    keep = 1 - weights.b[:, 1] * N * weights.penalty
    first, second = (weights.b[:, i] * decay[:, i] for i in range(2))
    S = (keep * first)[:, None, None] * weights.Q[:, 0] + second[:, None, None] * weights.Q[:, 1]
    Q_1 = weights.Q[:, 0]
    Q_tilde = weights.Q_tilde[:, 0]
    q = weights.q
    curvature = first * Q_1[:, 1, 0] * weights.b[:, 1] * decay_tilde * Q_tilde[:, 0, 0]  # (seeds,)
    return {
        "S": S / S[:, 1:2, 0:1],
        "Q_1": Q_1 / Q_1[:, 1:2, 0:1],
        "Q_tilde": Q_tilde / Q_tilde[:, 0:1, 0:1],
        "q": q / q[:, 2:],
        "A": S[:, 1, 0] * q[:, 2],
        "B": curvature * q[:, 2],
    }


def compared(run: Run) -> list[Comparison]:
    """Return every quantity of the trained weights beside the construction's."""
    trained = model_of(run.config, run.tensors, "final/")
    return compare(folded(trained, run.config.f), constructed_of(run), run.config.N)


def farthest(part: Comparison) -> float:
    """Return the largest difference of any seed; of rates that differ within a row of the state, of
    the rows' means."""
    gap = part.trained - part.constructed
    if part.name == "rate":
        gap = gap.mean(-1)  # (seeds, rows, entries) to (seeds, rows)
    return float(gap.abs().max()) / part.unit


def decays(run: Run) -> list[np.ndarray]:
    """Return the mean decays minus 1 of each head, the seeds first. As Figure 3 B shows them, "each
    diagonal entry is the mean of the corresponding diagonal recurrence matrix": a row of the state
    counts as the mean of its entries."""
    names = [name for name in ("final/a", "final/a_tilde") if name in run.tensors]
    heads = [(mean_decay(torch.tensor(run[name]), run.config.N) - 1).numpy() for name in names]
    # [seeds, ..., rows, entries] -> [seeds, ..., rows]; the 1-D state [seeds, f] has no rows
    return [head.mean(-1) if head.ndim > 2 else head for head in heads]


def coefficients(run: Run, snapshot: int) -> np.ndarray:
    """Return (A, B) of every seed at a snapshot, [seeds, 2]."""
    rates = quantities(trained_at(run, snapshot), run.config.N)
    return np.stack([rates["A"].numpy(), rates["B"].numpy()], -1)


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


def compared_parts(config: Config, trained: Model, constructed: Model, raw: bool) -> list[Part]:
    """Return the parts that are drawn, those of one seed: every tensor as it is, or normalised with
    the mean decays."""
    if raw:
        decay = f"decay{'s' * config.several} a"
        drawn = [_part(*pair, decay) for pair in _tensors(trained, constructed)]
    else:
        comparison = _over_largest if config.layers > 2 else _normalised
        drawn = [
            *comparison(trained, constructed, config),
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

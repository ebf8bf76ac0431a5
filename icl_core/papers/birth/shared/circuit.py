"""A model as a circuit on one sequence: the paths on which embeddings reach the logits.

On this sequence, the attention, the hidden units that are on and the scale of layer norm are kept
as they are. What is left is linear, so the logits are exactly the sum over paths: past every part,
through one, through several in turn.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_core.papers.birth.shared.model import Weights, attend

Stream = Float[Tensor, "T d"]
# where a path begins
CHARACTER = "w_E"
POSITION = "p"
BIAS = "biases"
FEED = 0  # the layer of a part that is no attention


class Path(NamedTuple):
    """Where a path begins, the attention layers that it takes, and whether it takes a feed-forward
    layer, too."""

    source: str
    layers: tuple[int, ...] = ()
    fed: bool = False


class Part(NamedTuple):
    """What reads the stream and adds to it: attention of a layer, counted from 1, or FEED. `apply`
    is linear; `constant` is what the part adds whatever the stream is."""

    layer: int
    apply: Callable[[Stream], Tensor]
    constant: Tensor | None = None


class Circuit(NamedTuple):
    """A model on one sequence, in double precision: what its stream begins as, what adds to it in
    this order, what reads logits from it, and every layer's attention, [heads, T, T]."""

    sources: Mapping[str, Stream]
    parts: tuple[Part, ...]
    read: Part
    attention: tuple[Float[Tensor, "H T T"], ...]


@torch.no_grad()
def simplified(weights: Weights, tokens: Int[Tensor, "T"], layers: int = 2) -> Circuit:
    """Return the simplified transformer as a circuit. If it has one layer, that counts as the
    first."""
    W = Weights(**{name: tensor.double() for name, tensor in weights.tensors().items()})
    sources = {CHARACTER: W.W_E[tokens], POSITION: W.P[: len(tokens)]}  # (T, d) each
    h = sources[CHARACTER] + sources[POSITION]  # (T, d)
    # of each layer, what scores its keys and what it writes of the token attended to
    matrices = [(W.W_K1, W.R1)] if layers == 2 else []
    matrices.append((W.W_K2, W.W_O2 @ W.V2))
    parts: list[Part] = []
    maps: list[Tensor] = []
    for layer, (W_K, written) in enumerate(matrices, start=1):
        _, attention = attend(h[None], W_K)  # (1, T, T)
        part = Part(layer, _mixed(attention[0], written))
        parts.append(part)
        h = h + part.apply(h)
        maps.append(attention)  # of one sequence, hence of one head
    if W.W_F is not None:
        parts.append(Part(FEED, _times(W.W_F)))
    return Circuit(sources, tuple(parts), Part(FEED, _times(W.W_U)), tuple(maps))


def _mixed(
    attention: Float[Tensor, "T T"], written: Float[Tensor, "d d"]
) -> Callable[[Stream], Stream]:
    """Return the map from a stream to what an attention layer adds to it."""
    return lambda stream: attention @ stream @ written.T


def _times(matrix: Float[Tensor, "rows d"]) -> Callable[[Stream], Tensor]:
    """Return the map that applies a matrix to every row of a stream."""
    return lambda stream: stream @ matrix.T


@torch.no_grad()
def contributions(circuit: Circuit) -> dict[Path, Float[Tensor, "T N"]]:
    """Return what each path adds to the logits, [T, N] each; their sum is the model's logits. Paths
    through several feed-forward layers are counted with those through one."""
    streams: dict[Path, Stream] = {Path(name): stream for name, stream in circuit.sources.items()}
    for part in circuit.parts:
        for path, stream in list(streams.items()):
            _add(streams, _through(path, part), part.apply(stream))
        _add(streams, Path(BIAS), part.constant)
    logits: dict[Path, Tensor] = {}
    for path, stream in streams.items():
        _add(logits, path, circuit.read.apply(stream))
    _add(logits, Path(BIAS), circuit.read.constant)
    return logits


def _through(path: Path, part: Part) -> Path:
    """Return the path that continues through a part."""
    if part.layer == FEED:
        return path._replace(fed=True)
    return path._replace(layers=(*path.layers, part.layer))


def _add(sums: dict[Path, Tensor], path: Path, term: Tensor | None) -> None:
    """Add a term to the sum of a path; nothing if it is None."""
    if term is not None:
        sums[path] = sums[path] + term if path in sums else term


def merged(by_path: Mapping[Path, Tensor]) -> dict[str, Tensor]:
    """Return `contributions` added up over where the paths begin, by the names of the paths. What
    biases add is kept by itself."""
    sums: dict[Path, Tensor] = {}
    for path, logits in sorted(by_path.items(), key=lambda item: _rank(item[0])):
        _add(sums, Path(BIAS) if path.source == BIAS else path._replace(source=""), logits)
    return {named(path): logits for path, logits in sums.items()}


def _rank(path: Path) -> tuple:
    """Return a key that sorts short paths before long ones, those with a feed-forward layer after
    those without, and biases last."""
    return path.source == BIAS, path.fed, len(path.layers), path.layers


def named(path: Path) -> str:
    """Return a path's name on the page, which does not say where the path begins."""
    if path.source == BIAS:
        return BIAS
    stations = [str(layer) for layer in path.layers]
    if path.fed:
        stations.append("F")
    return f"via {', '.join(stations)}" if stations else "direct"

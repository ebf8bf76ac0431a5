"""A model as a circuit on one sequence: the paths by which embeddings come to the logits.

Where attention looks, which hidden units are on and how far layer norm scales is kept as it is on
this sequence. What is left is linear, so the logits are exactly the sum over paths: past every
part, through one, through several in turn.
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
    """Where a path begins, the attention layers that it takes, and whether a feed-forward layer,
    too."""

    source: str
    layers: tuple[int, ...] = ()
    fed: bool = False


class Part(NamedTuple):
    """What reads the stream and adds to it: attention of a layer, counted from 1, or FEED. `apply`
    is linear; what it adds whatever the stream is, is `constant`."""

    layer: int
    apply: Callable[[Stream], Tensor]
    constant: Tensor | None = None


class Circuit(NamedTuple):
    """A model on one sequence: what its stream begins as, what adds to it in this order, what reads
    logits from it, and every layer's attention, [heads, T, T]. In double precision."""

    sources: Mapping[str, Stream]
    parts: tuple[Part, ...]
    read: Part
    attention: tuple[Float[Tensor, "H T T"], ...]


@torch.no_grad()
def simplified(weights: Weights, tokens: Int[Tensor, "T"], layers: int = 2) -> Circuit:
    """Return the simplified transformer; its only layer is then the first."""
    W = Weights(**{name: each.double() for name, each in weights.tensors().items()})
    sources = {CHARACTER: W.W_E[tokens], POSITION: W.P[: len(tokens)]}
    h = sources[CHARACTER] + sources[POSITION]
    parts = []
    maps = []
    reads = [(W.W_K1, W.R1)] if layers == 2 else []
    for layer, (keys, written) in enumerate([*reads, (W.W_K2, W.W_O2 @ W.V2)], start=1):
        attention = attend(h[None], keys)[1][0]
        parts.append(Part(layer, _mixed(attention, written)))
        h = h + parts[-1].apply(h)
        maps.append(attention[None])
    if W.W_F is not None:
        parts.append(Part(FEED, _times(W.W_F)))
    return Circuit(sources, tuple(parts), Part(FEED, _times(W.W_U)), tuple(maps))


def _mixed(
    attention: Float[Tensor, "T T"], written: Float[Tensor, "d d"]
) -> Callable[[Stream], Stream]:
    return lambda stream: attention @ stream @ written.T


def _times(matrix: Float[Tensor, "rows d"]) -> Callable[[Stream], Tensor]:
    return lambda stream: stream @ matrix.T


@torch.no_grad()
def contributions(circuit: Circuit) -> dict[Path, Float[Tensor, "T N"]]:
    """Return what each path adds to the logits, [T, N] each: together they are the model's. Paths
    through several feed-forward layers count with those through one."""
    streams: dict[Path, Stream] = {Path(name): stream for name, stream in circuit.sources.items()}
    for part in circuit.parts:
        for path, stream in list(streams.items()):
            _add(streams, _through(path, part), part.apply(stream))
        _add(streams, Path(BIAS), part.constant)
    found: dict[Path, Tensor] = {}
    for path, stream in streams.items():
        _add(found, path, circuit.read.apply(stream))
    _add(found, Path(BIAS), circuit.read.constant)
    return found


def _through(path: Path, part: Part) -> Path:
    if part.layer == FEED:
        return path._replace(fed=True)
    return path._replace(layers=(*path.layers, part.layer))


def _add(into: dict[Path, Tensor], path: Path, more: Tensor | None) -> None:
    if more is not None:
        into[path] = into[path] + more if path in into else more


def merged(found: Mapping[Path, Tensor]) -> dict[str, Tensor]:
    """Return the same by their names, wherever they begin; what biases add is by itself."""
    sums: dict[Path, Tensor] = {}
    for path, each in sorted(found.items(), key=lambda item: _rank(item[0])):
        _add(sums, Path(BIAS) if path.source == BIAS else Path("", *path[1:]), each)
    return {named(path): each for path, each in sums.items()}


def _rank(path: Path) -> tuple:
    """Short paths before long ones, those that are fed after those that are not, biases last."""
    return path.source == BIAS, path.fed, len(path.layers), path.layers


def named(path: Path) -> str:
    """Return a path as the page calls it, wherever it begins."""
    if path.source == BIAS:
        return BIAS
    via = ", ".join([*map(str, path.layers), *(["F"] if path.fed else [])])
    return f"via {via}" if via else "direct"

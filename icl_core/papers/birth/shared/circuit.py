"""A model as a circuit on one sequence: the paths on which embeddings reach the logits.

On this sequence, the attention, the hidden units that are on and the scale of layer norm are kept
as they are. What is left is linear, so the logits are exactly the sum over paths: past every part,
through one, through several in turn. Below stand the panels of the drawer "The circuit" of both
transformers: the streams on a sequence, with arrows; what each path adds to two logits.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_core.contract.experiment import Panel
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import literal, number_text, visible_characters
from icl_core.figures.style import COLOURS, FAINT, INK, TICKS, axis, layout
from icl_core.papers.birth.shared.model import Weights, attend
from icl_core.papers.birth.shared.sequence import Shown
from icl_core.papers.birth.shared.superposition import Traced, diagram, streams, table
from icl_core.papers.birth.shared.words import WORDS

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


CIRCUIT = "The circuit"  # the drawer
NAMED = 24  # characters of a sequence that a diagram can name
MOSTLY = 0.5  # weight from which a position carries a copy
MOST = 10  # paths with a bar of their own
SUM = "all paths"
ROW = 44  # pixels of a path's two bars
BESIDE = {"t": 34, "b": 46, "l": 92, "r": 30}  # margins in pixels


def followed(sequence: Shown, position: int) -> int:
    """Return the index of the position that a view asks to follow.

    position  counted from 1; 0: the last that only the context tells, or the last of all where
              there is none
    """
    count = len(sequence.inputs)
    if position:
        return min(position, count) - 1
    in_context = sequence.in_context.nonzero().flatten().tolist()
    return in_context[-1] if in_context else count - 1


def traced(
    circuit: Circuit, best: Sequence[int], sequence: Shown, at: int, heads: tuple[int, int] = (0, 0)
) -> Traced:
    """Return what the diagram needs of a circuit of two layers.

    best   the likeliest next token at every position
    at     the index of the position to follow
    heads  the head of each layer whose attention is drawn
    """
    truth = [sequence.truth.get(token) for token in sequence.inputs.tolist()]
    right: list[bool | None] = []
    for token, answer, in_context in zip(best, truth, sequence.in_context.tolist(), strict=True):
        right.append(token == answer if in_context else None)
    attention1, attention2 = circuit.attention  # (heads, T, T) each
    return Traced(
        sequence.characters,
        attention1[heads[0]].numpy(),
        attention2[heads[1]].numpy(),
        [sequence.task.characters[token] for token in best],
        right,
        at,
    )


def arrows(trace: Traced, when: str, left_out: str = "") -> Panel:
    """Return the panel of the streams with their vectors, and of the way from layer to layer to the
    position followed.

    when      names the snapshot in the title
    left_out  says what of the model is not drawn
    """
    stream_vectors = streams(trace)
    return WORDS.panel(
        "streams",
        figure=diagram(trace, stream_vectors),
        data=table(stream_vectors),
        when=when,
        left_out=left_out,
        **_way(trace),
    )


def _way(trace: Traced) -> dict[str, Any]:
    """Return where layer 2 looks from the position followed, at how many positions, of what all of
    them carry a copy (None if they do not agree), and what the model predicts."""
    letters = visible_characters(trace.tokens)
    at = trace.followed
    keys = trace.looked[:3]
    places = [f"{key + 1} '{letters[key]}'" for key in keys]
    copies = {_copy(trace, key, letters) for key in keys}
    return {
        "query": f"{at + 1} '{letters[at]}'",
        "keys": " and ".join([", ".join(places[:-1]), places[-1]] if len(keys) > 1 else places),
        "looked": len(keys),
        "copy": copies.pop() if len(copies) == 1 else None,
        "says": visible_characters([trace.says[at]])[0],
    }


def _copy(trace: Traced, key: int, letters: Sequence[str]) -> str | None:
    """Return the character of which a position carries most of a copy; None if there is none."""
    sources = trace.copied(key)
    if sources and trace.attention1[key, sources[0]] >= MOSTLY:
        return letters[sources[0]]
    return None


def paths(circuit: Circuit, sequence: Shown, at: int, when: str, also_fixed: str) -> Panel:
    """Return the panel of what every path adds to the logits of the right answer and of the
    strongest other.

    at          the index of the position that predicts
    when        names the snapshot in the title
    also_fixed  says what is kept as it is on this sequence beside attention
    """
    by_path = contributions(circuit)
    logits = torch.stack([added[at] for added in by_path.values()]).sum(0)  # (N)
    right, other = _answers(sequence, logits, at)
    letters = visible_characters([sequence.task.characters[token] for token in (right, other)])
    pairs = {
        name: (float(added[at, right]), float(added[at, other]))
        for name, added in merged(by_path).items()
    }
    gaps = {name: first - second for name, (first, second) in pairs.items()}
    rows = [
        (path.source, *path[1:], float(added[at, right]), float(added[at, other]))
        for path, added in by_path.items()
    ]
    columns = ["begins as", "layers", "feed-forward", *(f"'{letter}'" for letter in letters)]
    return WORDS.panel(
        "paths",
        figure=_paths_figure(_few(pairs), letters),
        data=pd.DataFrame(rows, columns=columns),
        when=when,
        query=f"{at + 1} '{visible_characters(sequence.characters)[at]}'",
        right=letters[0],
        other=letters[1],
        known=_answer(sequence, at) is not None,
        fed=any(path.fed for path in by_path),
        also_fixed=also_fixed,
        **_leads(gaps),
    )


def _leads(gaps: Mapping[str, float]) -> dict[str, Any]:
    """Return who leads (0 nobody, 1 the right answer, 2 the other) by how much, and which paths add
    most to that and take most from it, empty where they hardly do, with how much that is."""
    lead = sum(gaps.values())
    most = max(gaps, key=lambda name: gaps[name])
    least = min(gaps, key=lambda name: gaps[name])
    return {
        "lead": 0 if not lead else 1 if lead > 0 else 2,
        "margin": abs(lead),
        "most": _route(most) if gaps[most] >= 0.05 else "",
        "added": gaps[most],
        "least": _route(least) if gaps[least] <= -0.05 else "",
        "taken": -gaps[least],
    }


def _route(path: str) -> str:
    """Return a path's name as the subject of a sentence: "the path via 1, 2"."""
    return f"the path {path}" if path.startswith("via") else f"the {path} path"


def _answer(sequence: Shown, at: int) -> int | None:
    """Return the token that should follow a position, if the context or the sequence tells it."""
    if bool(sequence.in_context[at]):
        return sequence.truth.get(int(sequence.inputs[at]))
    return int(sequence.targets[at]) if at < len(sequence.targets) else None


def _answers(sequence: Shown, logits: torch.Tensor, at: int) -> tuple[int, int]:
    """Return the right answer, or the likeliest token where none is known, and the strongest
    other."""
    first, second = logits.topk(2).indices.tolist()
    answer = _answer(sequence, at)
    right = first if answer is None else answer
    return right, second if right == first else first


def _few(pairs: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Return the paths that add most, in their order, then all others together, and the sum."""
    largest = sorted(pairs, key=lambda name: -max(map(abs, pairs[name])))[:MOST]
    bars = {name: pairs[name] for name in pairs if name in largest}
    others = [values for name, values in pairs.items() if name not in largest]
    if others:
        bars[f"{len(others)} others"] = _total(others)
    return {**bars, SUM: _total(list(pairs.values()))}


def _total(values: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the sums of the first and of the second numbers."""
    return sum(first for first, _ in values), sum(second for _, second in values)


def _paths_figure(pairs: dict[str, tuple[float, float]], letters: list[str]) -> Figure:
    """Return a chart with two bars per path, from top to bottom, and their sum under a line."""
    height = len(pairs) * ROW + BESIDE["t"] + BESIDE["b"]
    figure = Figure(layout=layout(height, BESIDE, barmode="group", bargap=0.25))
    names = list(pairs)
    first = np.array([values[0] for values in pairs.values()])  # (paths)
    second = np.array([values[1] for values in pairs.values()])  # (paths)
    figure.add_trace(_side(letters[0], COLOURS["trained"], names, first))
    figure.add_trace(_side(letters[1], FAINT, names, second))
    low = min(0.0, *map(min, pairs.values()))
    high = max(0.0, *map(max, pairs.values()))
    room = 0.16 * (high - low)  # for the numbers beside the bars
    zero = {
        "zeroline": True,
        "zerolinecolor": FAINT,
        "range": [low - 1.4 * room * (low < 0), high + room],
    }
    figure.update_xaxes(axis("logit", **zero))
    figure.update_yaxes(axis(autorange="reversed", showgrid=False, showline=False))
    figure.add_shape(
        type="line",
        xref="paper",
        x0=0,
        x1=1,
        yref="y",
        y0=len(pairs) - 1.5,
        y1=len(pairs) - 1.5,
        line={"color": FAINT, "width": 1},
    )
    return figure.update_layout(
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": TICKS}}
    )


def _side(letter: str, fill: str, names: list[str], values: np.ndarray) -> Trace:
    """Return the bars of one logit."""
    text: dict[str, Any] = {
        "text": [number_text(value, 1) for value in values],
        "textposition": "outside",
        "textangle": 0,
    }
    trace = Trace(
        "bar",
        orientation="h",
        y=names,
        x=values,
        name=f"'{literal(letter)}'",
        marker={"color": fill},
        cliponaxis=False,
    )
    return trace.update(
        text, textfont={"size": TICKS, "color": INK}, hovertemplate="%{y}: %{x:.3f}"
    )

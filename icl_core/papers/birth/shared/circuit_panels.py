"""The drawer "The circuit" of both transformers: the streams on a sequence, with arrows; what each
path adds to two logits."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch

from icl_core.contract.experiment import Panel
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import number_text, visible_characters
from icl_core.figures.style import COLOURS, FAINT, INK, TICKS, axis, layout
from icl_core.papers.birth.shared.circuit import Circuit, Path, contributions, merged
from icl_core.papers.birth.shared.sequence import Shown
from icl_core.papers.birth.shared.superposition import Traced, streams, table
from icl_core.papers.birth.shared.superposition_figure import diagram

CIRCUIT = "The circuit"  # the drawer
NAMED = 24  # characters of a sequence that a diagram can name
MOSTLY = 0.5  # weight from which a position carries a copy
MOST = 10  # paths with a bar of their own
SUM = "all paths"
# pixels of a path's two bars; margins
ROW = 44
BESIDE = {"t": 34, "b": 46, "l": 92, "r": 30}


def followed(sequence: Shown, wanted: int) -> int:
    """Return the position that a view asks to follow, counted from 1, as an index; 0: the last that
    only the context tells."""
    count = len(sequence.inputs)
    inside = sequence.in_context.nonzero().flatten().tolist()
    return min(wanted, count) - 1 if wanted else (inside or [count - 1])[-1]


def traced(
    circuit: Circuit, best: Sequence[int], sequence: Shown, at: int, heads: tuple[int, int] = (0, 0)
) -> Traced:
    """Return what the diagram needs of a circuit of two layers, with these heads, and the likeliest
    next token everywhere."""
    vocabulary = sequence.task.characters
    truth = [sequence.truth.get(token) for token in sequence.inputs.tolist()]
    answers = zip(best, truth, sequence.in_context.tolist(), strict=True)
    right = [
        likeliest == truth_token if in_context else None
        for likeliest, truth_token, in_context in answers
    ]
    first, second = (
        maps[head].numpy() for maps, head in zip(circuit.attention, heads, strict=True)
    )
    return Traced(
        sequence.characters, first, second, [vocabulary[token] for token in best], right, at
    )


def arrows(trace: Traced, when: str, left_out: str = "") -> Panel:
    """Draw the streams with their vectors, and the way from layer to layer to the position
    followed; `left_out` says what of the model is not drawn."""
    stream_vectors = streams(trace)
    return Panel(
        f"{when}: {_way(trace)}",
        "Each row is a position, each bar the vectors whose sum it carries from layer to layer, "
        "its residual stream, as wide as their weights. Follow the coloured arrows backwards from "
        "the shaded row: layer 2 goes to characters that carry a copy of the shaded one, and "
        "writes down what stands there. Layer 1 has put the copies there. Without an induction "
        "head the arrows fan out and the copies have no name.",
        diagram(trace, stream_vectors),
        data=table(stream_vectors),
        note="Contributions below 0.1 are merged into one unnamed bar." + left_out,
    )


def _way(trace: Traced) -> str:
    """Return where layer 2 looks from the position followed, what it finds there and what is
    said."""
    letters = visible_characters(trace.tokens)
    at = trace.followed
    says = f"and says '{visible_characters([trace.says[at]])[0]}'"
    who = f"{at + 1} '{letters[at]}'"
    keys = trace.looked[:3]
    if not keys:
        return f"{who} looks nowhere in particular {says}"
    where = _listed([f"{key + 1} '{letters[key]}'" for key in keys])
    copies = [
        [
            letters[position]
            for position in trace.copied(key)[:1]
            if trace.attention1[key, position] >= MOSTLY
        ]
        for key in keys
    ]
    if any(position != copies[0] for position in copies) or not copies[0]:
        return f"{who} looks at {where} {says}"
    carry = "which carries" if len(keys) == 1 else "which carry"
    return f"{who} looks at {where}, {carry} a copy of '{copies[0][0]}', {says}"


def _listed(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def paths(circuit: Circuit, sequence: Shown, at: int, when: str, also_fixed: str) -> Panel:
    """Draw what every path adds to the logits of the right answer and of the strongest other;
    `kept` says what is kept as it is on this sequence beside attention."""
    by_path = contributions(circuit)
    row = torch.stack([each[at] for each in by_path.values()]).sum(0)
    right, other = _answers(sequence, row, at)
    letters = visible_characters([sequence.task.characters[token] for token in (right, other)])
    added = {
        name: (float(each[at, right]), float(each[at, other]))
        for name, each in merged(by_path).items()
    }
    gaps = {name: first - second for name, (first, second) in added.items()}
    data = [
        (path.source, *path[1:], float(each[at, right]), float(each[at, other]))
        for path, each in by_path.items()
    ]
    who = f"at {at + 1} '{visible_characters(sequence.characters)[at]}'"
    return Panel(
        f"{when}, {who}: {_leads(gaps, letters)}",
        "Logits are sums over paths from the embedding: past both layers (direct), through one "
        f"(via 1, via 2), through one after the other (via 1, 2){_fed(by_path)}. Blue is what a "
        f"path adds to the logit of {_first(sequence, at)}, grey to that of the strongest other. "
        "Layer 1 is to say nothing: it tells layer 2 where to look, and where a layer looks is "
        f"kept as it is here{also_fixed}. So the paths add up to the model's logits exactly.",
        _paths_figure(_few(added), letters),
        data=pd.DataFrame(
            data,
            columns=["begins as", "layers", "feed-forward", *(f"'{each}'" for each in letters)],
        ),
    )


def _leads(gaps: Mapping[str, float], letters: list[str]) -> str:
    """Who leads by how much, and which paths add most to that and take most from it."""
    lead, most, least = (
        sum(gaps.values()),
        *(pick(gaps, key=lambda name: gaps[name]) for pick in (max, min)),
    )
    sentence = f"'{letters[0]}' and '{letters[1]}' are level"
    if lead:
        verb = "beats" if lead > 0 else "loses to"
        sentence = f"'{letters[0]}' {verb} '{letters[1]}' by {number_text(abs(lead), 1)}"
    reasons = []
    if gaps[most] >= 0.05:
        reasons.append(f"{_route(most)} adds {number_text(gaps[most], 1)}")
    if gaps[least] <= -0.05:
        reasons.append(f"{_route(least)} takes {number_text(-gaps[least], 1)}")
    return f"{sentence}: {', '.join(reasons)}" if reasons else sentence


def _route(path: str) -> str:
    """Return a path's name as the subject of a sentence: "the path via 1, 2"."""
    return f"the path {path}" if path.startswith("via") else f"the {path} path"


def _fed(every: Mapping[Path, torch.Tensor]) -> str:
    return ", and through a feed-forward layer (F)" if any(path.fed for path in every) else ""


def _first(sequence: Shown, at: int) -> str:
    return "the right answer" if _known(sequence, at) is not None else "the likeliest character"


def _known(sequence: Shown, at: int) -> int | None:
    """Return what should be said at a position, if the context or the sequence tells it."""
    if bool(sequence.in_context[at]):
        return sequence.truth.get(int(sequence.inputs[at]))
    return int(sequence.targets[at]) if at < len(sequence.targets) else None


def _answers(sequence: Shown, logits: torch.Tensor, at: int) -> tuple[int, int]:
    """Return the right answer, or the likeliest where none is known, and the strongest other."""
    first, second = logits.topk(2).indices.tolist()
    answer = _known(sequence, at)
    right = first if answer is None else answer
    return right, second if right == first else first


def _few(added: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Return the paths that add most, in their order, all others together, and the sum."""
    largest = sorted(added, key=lambda name: -max(map(abs, added[name])))[:MOST]
    bars = {name: added[name] for name in added if name in largest}
    others = [values for name, values in added.items() if name not in largest]
    if others:
        bars[f"{len(others)} others"] = _total(others)
    return {**bars, SUM: _total(list(added.values()))}


def _total(values: list[tuple[float, float]]) -> tuple[float, float]:
    return sum(first for first, _ in values), sum(second for _, second in values)


def _paths_figure(added: dict[str, tuple[float, float]], letters: list[str]) -> Figure:
    """Two bars a path, from top to bottom; under a line their sum."""
    figure = Figure(
        layout=layout(
            len(added) * ROW + BESIDE["t"] + BESIDE["b"], BESIDE, barmode="group", bargap=0.25
        )
    )
    sides = zip(
        letters, (COLOURS["trained"], FAINT), zip(*added.values(), strict=True), strict=True
    )
    for letter, fill, values in sides:
        figure.add_trace(_side(letter, fill, list(added), np.array(values)))
    low = min(0.0, *map(min, added.values()))
    high = max(0.0, *map(max, added.values()))
    room = 0.16 * (high - low)
    zero = {
        "zeroline": True,
        "zerolinecolor": FAINT,
        "range": [low - 1.4 * room * (low < 0), high + room],
    }
    figure.update_xaxes(axis("logit", **zero)).update_yaxes(
        axis(autorange="reversed", showgrid=False, showline=False)
    )
    figure.add_shape(
        type="line",
        xref="paper",
        x0=0,
        x1=1,
        yref="y",
        y0=len(added) - 1.5,
        y1=len(added) - 1.5,
        line={"color": FAINT, "width": 1},
    )
    return figure.update_layout(
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": TICKS}}
    )


def _side(letter: str, fill: str, names: list[str], values: np.ndarray) -> Trace:
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
        name=f"'{letter}'",
        marker={"color": fill},
        cliponaxis=False,
    )
    return trace.update(
        text, textfont={"size": TICKS, "color": INK}, hovertemplate="%{y}: %{x:.3f}"
    )

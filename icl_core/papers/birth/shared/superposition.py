"""What the residual stream holds at every position of a sequence (Figure 1): the vectors that it is
the sum of, with their weights, and where both layers look; and these as a diagram. There, positions
run down, as the rows of an attention map do, so that it can be read on a narrow screen, too; layers
run to the right, and attention is arrows between them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from icl_core.contract.figure import Figure, Trace
from icl_core.figures import literal, visible_characters
from icl_core.figures.attention_maps import legend_below
from icl_core.figures.style import (
    COLOURS,
    FAINT,
    INK,
    MONO,
    PAPER,
    TEXT,
    TICKS,
    axis,
    colour,
    layout,
)

LEAST = 0.1  # weight from which a vector is named, and from which a position counts as looked at
CHARACTER = "character"
POSITION = "position"
COPY = "layer 1 copies"
COPIED = "its position"
WRITTEN = "layer 2 writes"
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@dataclass(frozen=True, eq=False)
class Held:
    """One vector in a stream: at a position; in the column of the embedding (0), of what is there
    after layer 1 (1), or of what layer 2 adds (2)."""

    at: int
    column: int
    kind: str
    vector: str  # as a formula writes it; of several that are small, what they are
    label: str  # as a small bar has room for it
    weight: float


@dataclass(frozen=True, eq=False)
class Traced:
    """A model of two layers on a sequence: its characters, both maps [T, T], what it says at every
    position and whether that is right (None: the context does not tell), and the position that is
    followed."""

    tokens: Sequence[str]
    attention1: np.ndarray
    attention2: np.ndarray
    says: Sequence[str]
    right: Sequence[bool | None]
    followed: int

    @property
    def looked(self) -> list[int]:
        """Where layer 2 looks from the position followed, the most looked at first."""
        row = self.attention2[self.followed, : self.followed + 1]
        return [int(key) for key in np.argsort(-row, kind="stable") if row[key] >= LEAST]

    def copied(self, at: int) -> list[int]:
        """Return which positions layer 1 copies to a position, the most copied first."""
        row = self.attention1[at, : at + 1]
        return [int(key) for key in np.argsort(-row, kind="stable") if row[key] >= LEAST]


def place(at: int) -> str:
    """Return a position's embedding, counted from 1."""
    return "p" + str(at + 1).translate(SUBSCRIPTS)


def streams(traced: Traced) -> list[Held]:
    """Return every vector of every stream, position by position; in a column in the order of the
    sum."""
    letters = visible_characters(traced.tokens)
    places = [place(at) for at in range(len(letters))]
    vectors = []
    for at, letter in enumerate(letters):
        for column in (0, 1):
            vectors.append(Held(at, column, CHARACTER, f"w_E({letter})", letter, 1.0))
            vectors.append(Held(at, column, POSITION, places[at], places[at], 1.0))
        first = traced.attention1[at, : at + 1]  # (keys)
        second = traced.attention2[at, : at + 1]  # (keys)
        copies = [f"R¹ w_E({character})" for character in letters]
        vectors += _mixed(at, 1, COPY, copies, letters, first)
        vectors += _mixed(at, 1, COPIED, [f"R¹ {embedding}" for embedding in places], places, first)
        outputs = [f"W_O² W_V² h{embedding[1:]}" for embedding in places]
        vectors += _mixed(at, 2, WRITTEN, outputs, letters, second)
    return vectors


def _mixed(
    at: int,
    column: int,
    kind: str,
    vectors: Sequence[str],
    labels: Sequence[str],
    weights: np.ndarray,
) -> list[Held]:
    """Return what attention adds: a vector for every key that it looks at, and one for all the
    others."""
    keys = [key for key in range(len(weights)) if weights[key] >= LEAST]
    named = [Held(at, column, kind, vectors[key], labels[key], float(weights[key])) for key in keys]
    other_weight = max(0.0, 1.0 - sum(vector.weight for vector in named))
    other_count = len(weights) - len(keys)
    return (
        [*named, Held(at, column, kind, f"{other_count} others of this kind", "", other_weight)]
        if other_count
        else named
    )


def table(vectors: Sequence[Held]) -> pd.DataFrame:
    """Return the vectors, a row each."""
    columns = ("embedding", "after layer 1", "layer 2 adds")
    rows = [
        (vector.at + 1, columns[vector.column], vector.vector, round(vector.weight, 4))
        for vector in vectors
    ]
    return pd.DataFrame(rows, columns=["position", "stream", "vector", "weight"])


ON = "#10151b"  # letters on colours that both themes share
KINDS = {  # the colour of a vector by what it is, and of the letters on it
    CHARACTER: ("seed", ON),
    POSITION: ("#e2e5ea", INK),
    COPY: ("layer 1", ON),
    COPIED: ("#b5daf0", ON),
    WRITTEN: ("layer 2", ON),
}
# widths, in vectors of weight one: of arrows, of all that layer 2 adds, of a prediction
GAP = 2.4
WRITES = 2.6
SAYS = 1.8
LEFT = (0.0, 2.0 + GAP, 6.0 + 2 * GAP)  # of the columns: two vectors, four, what layer 2 adds
RIGHT = (2.0, 6.0 + GAP, 6.0 + 2 * GAP + WRITES)
HEADINGS = ("embedding", "after<br>layer 1", "layer 2<br>adds", "says")
NAMED = 0.45  # width from which a vector has room for its name
FAINTEST = 0.04  # attention that is no arrow
# of a bar, in rows; of an arrow of weight one, in pixels
HIGH = 0.62
THICK = 3.5
MARGIN = {"t": 44, "b": 60, "l": 44, "r": 6}


def diagram(traced: Traced, vectors: Sequence[Held]) -> Figure:
    """Draw streams as bars of vectors, as wide as their weights, attention as arrows, and
    what is said."""
    count = len(traced.tokens)
    row = 34 if count <= 12 else 26
    figure = Figure(
        layout=layout(count * row + MARGIN["t"] + MARGIN["b"], MARGIN, barmode="overlay")
    )
    figure.add_traces(_bars(vectors))
    figure.add_traces([_pointed(traced), _says(traced)])
    figure.update_layout(
        _axes(traced),
        annotations=[*_arrows(traced), *_headings()],
        shapes=[_band(traced.followed)],
    )
    return figure.update_layout(legend=legend_below() | {"font": {"size": TICKS - 1}})


def _bars(vectors: Sequence[Held]) -> list[Trace]:
    """Return a trace a kind; each vector stands beside those before it in its column."""
    ends: dict[tuple[int, int], float] = {}
    bars: dict[str, list[tuple[Held, float, float]]] = {kind: [] for kind in KINDS}
    for vector in vectors:
        start = ends.get((vector.at, vector.column), LEFT[vector.column])
        width = vector.weight * (WRITES if vector.kind == WRITTEN else 1.0)
        ends[vector.at, vector.column] = start + width
        bars[vector.kind].append((vector, start, width))
    return [_bar(kind, *zip(*rows, strict=True)) for kind, rows in bars.items()]


def _bar(
    kind: str, vectors: Sequence[Held], starts: Sequence[float], widths: Sequence[float]
) -> Trace:
    fill, letters = KINDS[kind]
    font = {"family": MONO, "size": TEXT - 1, "color": letters}
    labels = [
        f"position {vector.at + 1}: {vector.weight:.2f} {literal(vector.vector)}"
        for vector in vectors
    ]
    where = {
        "orientation": "h",
        "y": [vector.at for vector in vectors],
        "base": list(starts),
        "x": list(widths),
        "width": HIGH,
    }
    text = {
        "text": [
            literal(vector.label) if width >= NAMED else ""
            for vector, width in zip(vectors, widths, strict=True)
        ],
        "textposition": "inside",
        "insidetextanchor": "middle",
    }
    marker = {"color": colour(fill), "line": {"color": PAPER, "width": 1}}
    hover = {"customdata": labels, "hovertemplate": "%{customdata}<extra></extra>"}
    trace = Trace(
        "bar", name=kind, marker=marker, insidetextfont=font, textangle=0, constraintext="inside"
    )
    return trace.update(where, text, hover, showlegend=kind != COPIED)


def _looks(traced: Traced) -> Iterator[tuple[int, int, int, float, bool]]:
    """Yield layer, query, key, weight, and whether the arrow is one of those that end in the
    position followed."""
    for layer, weights in ((1, traced.attention1), (2, traced.attention2)):
        queries = [traced.followed] if layer == 2 else traced.looked
        for query in range(len(weights)):
            for key in range(query + 1):
                weight = float(weights[query, key])
                if weight >= FAINTEST:
                    yield layer, query, key, weight, query in queries and weight >= LEAST


def _arrows(traced: Traced) -> list[dict[str, Any]]:
    """Those that end in the position followed in their layer's colour, over all others."""
    return [_arrow(*look) for look in sorted(_looks(traced), key=lambda look: look[-1])]


def _arrow(layer: int, query: int, key: int, weight: float, strong: bool) -> dict[str, Any]:
    line = {
        "arrowcolor": colour(f"layer {layer}"),
        "arrowwidth": 1 + (THICK - 1) * weight,
        "opacity": 0.4 + 0.6 * weight,
    }
    faint = {"arrowcolor": FAINT, "arrowwidth": 1, "opacity": 0.4 * weight}
    where = {"x": LEFT[layer] - 0.1, "y": query, "ax": RIGHT[layer - 1] + 0.1, "ay": key}
    refs = {"xref": "x", "yref": "y", "axref": "x", "ayref": "y"}
    return {
        "text": "",
        "showarrow": True,
        "arrowhead": 2,
        "arrowsize": 0.8,
        **where,
        **refs,
        **(line if strong else faint),
    }


def _pointed(traced: Traced) -> Trace:
    """Return what the pointer finds in the middle of each arrow."""
    looks = list(_looks(traced))
    letters = [literal(letter) for letter in visible_characters(traced.tokens)]
    labels = [
        f"layer {layer}: {query + 1} '{letters[query]}' looks at {key + 1} '{letters[key]}' with "
        f"{weight:.2f}"
        for layer, query, key, weight, _ in looks
    ]
    x = [LEFT[layer] - GAP / 2 for layer, *_ in looks]
    y = [(query + key) / 2 for _, query, key, *_ in looks]
    hover = {"customdata": labels, "hovertemplate": "%{customdata}<extra></extra>"}
    return Trace(
        x=x,
        y=y,
        mode="markers",
        marker={"size": 14, "opacity": 0},
        showlegend=False,
        name="attention",
        **hover,
    )


def _says(traced: Traced) -> Trace:
    """Return the likeliest next character of every position, with a mark where the context tells
    it."""
    marks = {True: (" ✓", COLOURS["trained"]), False: (" ✗", INK), None: ("", FAINT)}
    ends, colours = zip(*(marks[is_right] for is_right in traced.right), strict=True)
    letters = map(literal, visible_characters(traced.says))
    texts = [f"{letter}{end}" for letter, end in zip(letters, ends, strict=True)]
    texts[traced.followed] = f"<b>{texts[traced.followed]}</b>"
    font = {"family": MONO, "size": TEXT, "color": list(colours)}
    where = {
        "x": [RIGHT[2] + 0.3] * len(texts),
        "y": np.arange(len(texts)),
        "textposition": "middle right",
    }
    return Trace(
        mode="text",
        text=texts,
        textfont=font,
        hoverinfo="skip",
        showlegend=False,
        name="says",
        **where,
    )


def _axes(traced: Traced) -> dict[str, Any]:
    letters = visible_characters(traced.tokens)
    count = len(traced.tokens)
    names = [f"{index + 1} {literal(letter)}" for index, letter in enumerate(letters)]
    for index in (traced.followed, *traced.looked):
        names[index] = f"<b>{names[index]}</b>"
    plain = {
        "showgrid": False,
        "showline": False,
        "ticks": "",
        "automargin": False,
        "fixedrange": True,
    }
    ticks = {
        "tickvals": list(range(count)),
        "ticktext": names,
        "tickfont": {"size": TICKS, "family": MONO},
    }
    y = axis(range=[count - 0.4, -0.6], **plain) | ticks
    return {"xaxis": axis(range=[-0.1, RIGHT[2] + SAYS], showticklabels=False, **plain), "yaxis": y}


def _headings() -> list[dict[str, Any]]:
    middles = [(left + right) / 2 for left, right in zip(LEFT, RIGHT, strict=True)] + [
        RIGHT[2] + SAYS / 2
    ]
    where = {
        "y": 1,
        "yref": "paper",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": TICKS, "color": INK},
    }
    return [
        {"x": x, "xref": "x", "text": text, **where}
        for x, text in zip(middles, HEADINGS, strict=True)
    ]


def _band(at: int) -> dict[str, Any]:
    """Return the row of the position followed, set off."""
    band = {
        "fillcolor": COLOURS["trained"],
        "opacity": 0.12,
        "line": {"width": 0},
        "layer": "below",
    }
    return {
        "type": "rect",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "yref": "y",
        "y0": at - 0.5,
        "y1": at + 0.5,
        **band,
    }

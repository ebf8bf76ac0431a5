"""What the residual stream holds at every position of a sequence (Figure 1): the vectors that it is
the sum of, with their weights, and where both layers look."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from icl_core.figures import visible_characters

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

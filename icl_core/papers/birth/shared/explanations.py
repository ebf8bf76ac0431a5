"""How the numbers on the stage's maps are made: a memory's readings from two vectors, attention
from its scores."""

import math
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from torch import Tensor

from icl_core.contract.explanation import (
    MEAN,
    PRODUCT,
    Competitor,
    Explanation,
    Map,
    Term,
    largest,
    softmax,
)
from icl_core.figures.attention_maps import positions
from icl_core.figures.character_labels import visible_characters
from icl_core.figures.downsample import block_means_of, block_of
from icl_core.papers.birth.shared.draw import NAMES
from icl_core.papers.birth.shared.memories import memory as stored_in
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.probes import memory_scores
from icl_core.papers.birth.shared.sequence import Reading, Shown
from icl_core.papers.birth.shared.stage import square
from icl_core.papers.birth.shared.task import Task

VECTORS = {  # on the left of a memory, and what the memory makes of the one on its right
    "W_K1": ("p({})", "W_K¹ p({})"),
    "W_K2": ("w_E({})", "W_K² R¹ w_E({})"),
    "W_O2": ("w_U({})", "W_O² W_V² w_E({})"),
}
CELL = {"W_K1": "query at {}, key at {}", "W_K2": "query {}, key {}", "W_O2": "output {}, input {}"}
ASKS = {
    "W_K1": "how strongly the query at position {} calls for the key at position {}",
    "W_K2": "how strongly the query {} calls for the key that layer 1 has marked with {}",
    "W_O2": "what is added to the logit of the output {} where layer 2 attends to {}",
}
PARTS = {"w_E": "character", "p": "position", "o": "layer-1 output"}  # of the stream, by sign


class Memory(NamedTuple):
    """A memory with the vectors it is read with, in double precision, and their labels."""

    name: str
    left: np.ndarray  # [rows, d]
    right: np.ndarray  # [columns, d]: what the matrix makes of each
    rows: list[str]
    columns: list[str]

    def quoted(self, label: str) -> str:
        """Return a label as a sentence says it: a position, or a character in quotes."""
        return label if self.name == "W_K1" else f"'{label}'"


def memory(name: str, weights: Weights, task: Task) -> list[Map]:
    """Return the map of a memory: of positions, without the first row and the last column, which
    are blank."""
    stored = stored_in(name, weights, task)
    found = memory_scores(name, weights, task)
    left = stored.V.double().numpy()
    right = (stored.U.double() @ weights[name].double().T).numpy()
    read = Memory(name, left, right, found.rows, found.columns)
    matrix, rows, columns = square(found)
    block = block_of(matrix)
    shown = block_means_of(matrix, rows, columns)
    shift = len(matrix) - len(left)  # rows that are blank
    sides = ("row", "column") if block > 1 else (found.row_kind, found.column_kind)

    def explain(row: int, column: int) -> Explanation:
        if block > 1:
            return _block(read, (row * block - shift, column * block), block, shown)
        return _reading(read, row - shift, column)

    return [Map(NAMES[name], shown[0], sides, shown[1], shown[2], explain)]


def _reading(read: Memory, row: int, column: int) -> Explanation:
    """Return a reading as lengths and the cosine of an angle, and the softmax that it takes part
    in."""
    v = read.left[row]
    u = read.right[column]
    labels = (read.rows[row], read.columns[column])
    lengths = (float(np.linalg.norm(v)), float(np.linalg.norm(u)))
    value = float(v @ u)
    left, right = (
        form.format(label) for form, label in zip(VECTORS[read.name], labels, strict=True)
    )
    terms = (
        Term(f"|{left}|", lengths[0], "the length of the vector on the left"),
        Term(f"|{right}|", lengths[1], "the length of what the matrix makes of the other"),
        Term(
            "cos",
            value / (lengths[0] * lengths[1] or 1.0),
            "the cosine of the angle between the two",
        ),
    )
    share, competitors, said = _competes(read, row, column)
    shown = [read.quoted(label) for label in labels]
    says = f"{left}ᵀ {right}: {ASKS[read.name].format(*shown)}. {said}"
    return Explanation(
        f"{NAMES[read.name]}, {CELL[read.name].format(*shown)}",
        says,
        value,
        terms,
        PRODUCT,
        share,
        competitors,
    )


def _competes(
    read: Memory, row: int, column: int
) -> tuple[float | None, tuple[Competitor, ...], str]:
    """Return the share of a reading in the softmax over outputs, or, divided by √d, over keys; and
    that in words."""
    if read.name == "W_O2":
        share, competitors = softmax(
            [f"output {read.quoted(each)}" for each in read.rows],
            read.left @ read.right[column],
            row,
        )
        return (
            share,
            competitors,
            "If this were all, a softmax over the outputs would make their probabilities.",
        )
    scores = read.left[row] @ read.right.T / math.sqrt(read.left.shape[1])
    keys = read.columns
    if read.name == "W_K1":
        if column > row + 1:
            return None, (), "This key comes after the query, so attention never looks there."
        scores = scores[: row + 2]
        keys = keys[: row + 2]
    share, competitors = softmax([f"key {read.quoted(each)}" for each in keys], scores, column)
    return (
        share,
        competitors,
        "If this were all, a softmax of such readings, each divided by √d, would make the "
        "attention.",
    )


def _block(read: Memory, first: tuple[int, int], block: int, shown: tuple) -> Explanation:
    """Return a mean over a block of readings; what is blank counts as zero."""
    down, across = (range(start, start + block) for start in first)
    count = len(read.left)
    wide = len(read.right)
    blank = [(row, column) for row, column in product(down, across) if row == -1 or column == wide]
    inside = [(r, c) for r, c in product(down, across) if 0 <= r < count and 0 <= c < wide]
    terms = [
        Term(f"{read.rows[r]}, {read.columns[c]}", float(read.left[r] @ read.right[c]))
        for r, c in inside
    ]
    terms += [Term("blank", 0.0, "there is no such pair") for _ in blank]
    mean = sum(term.value for term in terms) / len(terms)
    row, column = (
        labels[start // block]
        for labels, start in zip(shown[1:], (first[0] + 1, first[1]), strict=True)
    )
    says = (
        f"The map is larger than the screen has room for: a cell is the mean over {len(terms)} "
        "pairs, query and key."
    )
    return Explanation(
        f"{NAMES[read.name]}, {CELL[read.name].format(row, column)}", says, mean, tuple(terms), MEAN
    )


def attention(layer: int, reading: Reading, weights: Weights, sequence: Shown) -> list[Map]:
    """Return the map of a layer's attention on a sequence; with `reading`'s only layer counted as
    the second."""
    weight = reading.attention1 if layer == 1 else reading.attention2
    if weight is None:
        return []
    only = reading.attention1 is None
    parts = _streams(reading, weights, sequence, layer)
    name = "W_K1" if layer == 1 else "W_K2"
    W = weights[name].double().numpy()
    shown = np.array(weight, dtype=np.float32)
    shown[np.triu_indices(len(shown), 1)] = np.nan
    labels = positions(sequence.characters)[0]
    letters = visible_characters(sequence.characters)

    def explain(query: int, key: int) -> Explanation:
        return _attended(parts, W, name, letters, query, key)

    return [
        Map(
            "Layer 1" if only else f"Layer {layer}",
            shown,
            ("query", "key"),
            labels,
            labels,
            explain,
        )
    ]


def _streams(
    reading: Reading, weights: Weights, sequence: Shown, layer: int
) -> dict[str, np.ndarray]:
    """Return what the residual stream is made of before a layer, by sign: [T, d] each."""
    token, place = (
        _double(each) for each in (weights.W_E[sequence.inputs], weights.P[: len(sequence.inputs)])
    )
    found = {"w_E": token, "p": place}
    if layer == 2 and reading.attention1 is not None:
        found["o"] = reading.attention1.astype(np.float64) @ (token + place) @ _double(weights.R1).T
    return found


def _double(tensor: Tensor) -> np.ndarray:
    return tensor.double().numpy()


def _attended(
    parts: dict[str, np.ndarray],
    W: np.ndarray,
    name: str,
    letters: Sequence[str],
    query: int,
    key: int,
) -> Explanation:
    """Return a weight: its score as a sum over pairs of parts, and its share of the softmax."""
    root = math.sqrt(len(W))
    terms = [
        Term(f"{_sign(a, letters, query)}ᵀ {NAMES[name]} {_sign(b, letters, key)} / √d",
             float(parts[a][query] @ W @ parts[b][key]) / root,
             f"query's {PARTS[a]} × key's {PARTS[b]}")
        for a, b in product(parts, parts)
    ]  # fmt: skip
    stream = np.sum(list(parts.values()), axis=0)
    return attended(letters, query, key, terms, stream[query] @ W @ stream[: query + 1].T / root)


def attended(
    letters: Sequence[str],
    query: int,
    key: int,
    terms: Sequence[Term],
    scores: np.ndarray,
    more: str = "",
) -> Explanation:
    """Return a weight of attention: the terms of its score, its share of the softmax over the
    `scores` of all keys up to the query; `more` says how to read the terms."""
    places = [f"{index + 1} '{letter}'" for index, letter in enumerate(letters)]
    share, competitors = softmax(places[: query + 1], scores, key)
    says = (
        f"The query at {places[query]} gives every key up to its own position a score; the softmax "
        f"makes shares of the scores. The score of the key at {places[key]} is the sum of the "
        "terms, and its share is what the map shows."
    )
    title = f"{places[query]} attends to {places[key]}"
    return Explanation(
        title,
        f"{says} {more}".strip(),
        share,
        largest(terms, "other terms"),
        share=share,
        competitors=competitors,
    )


def _sign(part: str, letters: Sequence[str], at: int) -> str:
    """Return a part of the stream at a position, as a formula writes it."""
    return f"{part}({letters[at] if part == 'w_E' else at + 1})"

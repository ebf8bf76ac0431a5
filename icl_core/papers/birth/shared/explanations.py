"""How the numbers on the stage's maps are computed: a memory's readings from two vectors, attention
from its scores."""

import math
from collections.abc import Sequence
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
from icl_core.figures.attention_maps import position_names
from icl_core.figures.character_labels import visible_characters
from icl_core.figures.heatmaps import block_means_of, block_of
from icl_core.papers.birth.shared.draw import NAMES, square
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.probes import memory as stored_in
from icl_core.papers.birth.shared.probes import memory_scores
from icl_core.papers.birth.shared.sequence import Reading, Shown
from icl_core.papers.birth.shared.task import Task

# the vector on the left of a memory, and what the memory makes of the one on its right
VECTORS = {
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
    """Return the map of a memory with its explanations. In a map of positions the first row and the
    last column are blank."""
    stored = stored_in(name, weights, task)
    scores = memory_scores(name, weights, task)
    left = stored.V.double().numpy()  # (rows, d)
    right = (stored.U.double() @ weights[name].double().T).numpy()  # (columns, d)
    vectors = Memory(name, left, right, scores.rows, scores.columns)
    matrix, rows, columns = square(scores)
    block = block_of(matrix)
    means, row_labels, column_labels = block_means_of(matrix, rows, columns)
    blank_rows = len(matrix) - len(left)
    sides = ("row", "column") if block > 1 else (scores.row_kind, scores.column_kind)

    def explain(row: int, column: int) -> Explanation:
        if block == 1:
            return _reading(vectors, row - blank_rows, column)
        labels = (row_labels[row], column_labels[column])
        return _block(vectors, row * block - blank_rows, column * block, block, labels)

    return [Map(NAMES[name], means, sides, row_labels, column_labels, explain)]


def _reading(vectors: Memory, row: int, column: int) -> Explanation:
    """Explain a reading as lengths and the cosine of an angle, and by the softmax that it takes
    part in."""
    v = vectors.left[row]  # (d)
    u = vectors.right[column]  # (d)
    value = float(v @ u)
    v_length = float(np.linalg.norm(v))
    u_length = float(np.linalg.norm(u))
    left_form, right_form = VECTORS[vectors.name]
    left = left_form.format(vectors.rows[row])
    right = right_form.format(vectors.columns[column])
    cosine = value / (v_length * u_length or 1.0)
    terms = (
        Term(f"|{left}|", v_length, "the length of the vector on the left"),
        Term(f"|{right}|", u_length, "the length of what the matrix makes of the other"),
        Term("cos", cosine, "the cosine of the angle between the two"),
    )
    share, competitors, sentence = _competition(vectors, row, column)
    labels = (vectors.quoted(vectors.rows[row]), vectors.quoted(vectors.columns[column]))
    return Explanation(
        f"{NAMES[vectors.name]}, {CELL[vectors.name].format(*labels)}",
        f"{left}ᵀ {right}: {ASKS[vectors.name].format(*labels)}. {sentence}",
        value,
        terms,
        PRODUCT,
        share,
        competitors,
    )


def _competition(
    vectors: Memory, row: int, column: int
) -> tuple[float | None, tuple[Competitor, ...], str]:
    """Return a reading's share of the softmax over outputs, or, divided by √d, over keys; its
    competitors; and a sentence on the softmax. The share is None where attention never looks."""
    if vectors.name == "W_O2":
        share, competitors = softmax(
            [f"output {vectors.quoted(label)}" for label in vectors.rows],
            vectors.left @ vectors.right[column],
            row,
        )
        return (
            share,
            competitors,
            "If this were all, a softmax over the outputs would make their probabilities.",
        )
    scores = vectors.left[row] @ vectors.right.T / math.sqrt(vectors.left.shape[1])  # (columns)
    keys = vectors.columns
    if vectors.name == "W_K1":
        if column > row + 1:
            return None, (), "This key comes after the query, so attention never looks there."
        # row 0 is the query at position 2, which sees two keys
        scores = scores[: row + 2]
        keys = keys[: row + 2]
    names = [f"key {vectors.quoted(label)}" for label in keys]
    share, competitors = softmax(names, scores, column)
    return (
        share,
        competitors,
        "If this were all, a softmax of such readings, each divided by √d, would make the "
        "attention.",
    )


def _block(
    vectors: Memory, first_row: int, first_column: int, block: int, labels: tuple[str, str]
) -> Explanation:
    """Explain a mean over a block of readings, in which blank cells count as zero.

    first_row     the block's first row among the vectors on the left; −1 is a blank row
    first_column  the block's first column among those on the right
    block         the cells along a side
    labels        the labels of the block's rows and of its columns
    """
    count = len(vectors.left)
    wide = len(vectors.right)
    end_column = wide + 1 if vectors.name == "W_K1" else wide  # positions have a blank column
    terms = []
    blanks = 0
    for row in range(first_row, min(first_row + block, count)):
        for column in range(first_column, min(first_column + block, end_column)):
            if row == -1 or column == wide:
                blanks += 1
            else:
                reading = float(vectors.left[row] @ vectors.right[column])
                terms.append(Term(f"{vectors.rows[row]}, {vectors.columns[column]}", reading))
    terms += [Term("blank", 0.0, "there is no such pair")] * blanks
    mean = sum(term.value for term in terms) / len(terms)
    says = (
        f"The map is larger than the screen has room for: a cell is the mean over {len(terms)} "
        "pairs, query and key."
    )
    title = f"{NAMES[vectors.name]}, {CELL[vectors.name].format(*labels)}"
    return Explanation(title, says, mean, tuple(terms), MEAN)


def attention(layer: int, reading: Reading, weights: Weights, sequence: Shown) -> list[Map]:
    """Return the map of a layer's attention on a sequence with its explanations; none if the model
    has no such layer. The only layer of a model counts as its second."""
    weight = reading.attention1 if layer == 1 else reading.attention2
    if weight is None:
        return []
    parts = _streams(reading, weights, sequence, layer)
    name = "W_K1" if layer == 1 else "W_K2"
    W = weights[name].double().numpy()
    masked = np.array(weight, dtype=np.float32)  # (T, T)
    masked[np.triu_indices(len(masked), 1)] = np.nan
    labels = position_names(sequence.characters)
    letters = visible_characters(sequence.characters)
    title = "Layer 1" if reading.attention1 is None else f"Layer {layer}"

    def explain(query: int, key: int) -> Explanation:
        return _attended(parts, W, name, letters, query, key)

    return [Map(title, masked, ("query", "key"), labels, labels, explain)]


def _streams(
    reading: Reading, weights: Weights, sequence: Shown, layer: int
) -> dict[str, np.ndarray]:
    """Return the parts that the residual stream is the sum of before a layer, by sign: [T, d]
    each."""
    token = _double(weights.W_E[sequence.inputs])
    place = _double(weights.P[: len(sequence.inputs)])
    parts = {"w_E": token, "p": place}
    if layer == 2 and reading.attention1 is not None:
        parts["o"] = reading.attention1.astype(np.float64) @ (token + place) @ _double(weights.R1).T
    return parts


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
    """Explain a weight of attention: its score as a sum over pairs of parts, and its share of the
    softmax."""
    root = math.sqrt(len(W))
    terms = []
    for a in parts:
        for b in parts:
            pair = f"{_sign(a, letters, query)}ᵀ {NAMES[name]} {_sign(b, letters, key)} / √d"
            value = float(parts[a][query] @ W @ parts[b][key]) / root
            terms.append(Term(pair, value, f"query's {PARTS[a]} × key's {PARTS[b]}"))
    stream = np.sum(list(parts.values()), axis=0)  # (T, d)
    scores = stream[query] @ W @ stream[: query + 1].T / root  # (query + 1)
    return attended(letters, query, key, terms, scores)


def attended(
    letters: Sequence[str],
    query: int,
    key: int,
    terms: Sequence[Term],
    scores: np.ndarray,
    more: str = "",
) -> Explanation:
    """Explain a weight of attention.

    letters  the characters of the sequence as shown
    query    the index of its position, as is `key`
    terms    those of the key's score
    scores   of all keys up to the query, over which the softmax goes
    more     says how to read the terms
    """
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
    """Return a part of the stream at a position as a formula writes it."""
    return f"{part}({letters[at] if part == 'w_E' else at + 1})"

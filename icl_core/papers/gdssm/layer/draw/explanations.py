"""How the numbers on the stage's maps are made, at the step shown: a state's from examples, a
weight's from the construction's and what it is off."""

from functools import partial
from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.explanation import Explanation, Map, Term, largest
from icl_core.figures import number_text
from icl_core.papers.gdssm.layer.accumulated_state import Held, contributed, held
from icl_core.papers.gdssm.layer.draw.weights import laid
from icl_core.papers.gdssm.layer.grafted import weight_parts
from icl_core.papers.gdssm.layer.weights_parts import Part

TITLES = ("State", "Exact sum", "Difference")
SAYS = (
    "What each example has added to the state, with all later decays, times the factor "
    "{factor}; beside it what the "
    "exact sum counts for it.",
    "Each example adds the product of two of its numbers: minus N times the gradient is nothing "
    "but their sum.",
    "What each example has added to the state, times the factor {factor}, less what the exact "
    "sum counts for it.",
)


def _held(index: int, run: Run, view: Any) -> list[Map]:
    """Explain a map of the state, of the exact sum or of their difference; the rows of a vector are
    numbers of pairs read."""
    state = held(run, view)
    matrix = np.asarray(list(state.maps.values())[index], np.float32)
    rows, columns = ([str(i + 1) for i in range(size)] for size in matrix.shape)
    explain = partial(_explained, index, run, view, state)
    return [Map(TITLES[index], matrix, state.axes, rows, columns, explain)]


def _explained(index: int, run: Run, view: Any, memory: Held, row: int, column: int) -> Explanation:
    """Explain a number of the state, of the exact sum, or their difference, as a sum over
    examples."""
    vector = memory.state.shape[1] == 1
    pairs, at = (row + 1, 0) if vector else (memory.shown, row)
    ours, exact = (added[:, at, column] for added in contributed(run, view, pairs))  # [pairs]
    ours = memory.factor * ours
    values = (ours, exact, ours - exact)[index]
    says = [""] * pairs
    if index == 0:  # the state's
        says = [f"exact: {number_text(float(value))}" for value in exact]
    terms = [Term(f"example {t + 1}", float(values[t]), says[t]) for t in range(pairs)]
    sums = (memory.state, memory.exact, memory.state - memory.exact)[index]
    total = sums[pairs - 1, at, column]
    exact_total = Term("the exact sum", float(memory.exact[pairs - 1, at, column]), memory.total)
    beside = (exact_total,) if index == 0 else ()
    where = f"entry {column + 1}" if vector else f"row {row + 1}, column {column + 1}"
    return Explanation(
        f"{TITLES[index]} after {pairs} pair{'s' * (pairs > 1)}, {where}",
        SAYS[index].format(factor=number_text(memory.factor)),
        float(total),
        largest(terms, "other examples"),
        beside=beside,
    )


state, exact, difference = (partial(_held, index) for index in range(3))


def weights(run: Run, view: Any) -> list[Map]:
    """Explain the weights learned, constructed, and their difference."""
    block = laid(weight_parts(run, view))[0]
    return [
        Map(
            f"Weights, {name}",
            np.asarray(matrix, np.float32),
            ("row", "column"),
            block.rows,
            block.columns,
            partial(_weight, name, block),
        )
        for name, matrix in block.maps.items()
    ]


def _weight(name: str, block: Part, row: int, column: int) -> Explanation:
    """Explain a weight as the construction's and what it is off; a difference as one less the
    other."""
    learned = float(block.trained[row, column])
    constructed = float(block.constructed[row, column])
    of_paper = Term("constructed", constructed, "what makes the state a gradient")
    off = Term("off by", learned - constructed, "what training has left, or put, there")
    terms = {
        "learned": (of_paper, off),
        "constructed": (of_paper,),
        "difference": (Term("learned", learned), Term("minus constructed", -constructed)),
    }[name]
    says = (
        "Scales, signs and a basis that the model cannot tell apart are normalised away, so that "
        "the two compare."
    )
    title = f"{block.rows[row]}, {block.columns[column]}, {name}"
    return Explanation(title, says, float(block.maps[name][row, column]), terms)

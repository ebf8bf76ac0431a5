"""One concrete memory: what it answers when it is asked for each of its pairs."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Trace
from icl_core.contract.seeds import setting_of
from icl_core.papers.birth.laboratory import memory, vectors
from icl_core.papers.birth.laboratory.draw.parameterisations import inner
from icl_core.papers.birth.laboratory.settings import FORMS, View
from icl_core.papers.birth.laboratory.sweeps import MLP_THRESHOLD

SHOWN = 16  # pairs of which readings are shown
REST = "rest"  # the row of the loudest of all other outputs


def concrete(run: Run, view: View) -> Panel:
    """Draw the readings v_jᵀ W u_i of the first pairs, with the outputs that win where it is
    wrong."""
    U, V = vectors.pairs(view.pairs, view.width, setting_of(run))
    scores = answers(view, U[:SHOWN], U, V, setting_of(run)) @ V.T  # (asked, outputs)
    count = len(scores)
    form = FORMS[view.form]
    rest = scores[:, count:].max(1) if view.pairs > count else np.full(count, np.nan)
    matrix = np.vstack([scores[:, :count].T, rest])  # (outputs + 1, asked)
    rows = [*(str(index + 1) for index in range(count)), REST]
    figure = figures.small_map(
        matrix, (rows, rows[:-1]), ("output j; last row: others", "asked i"), "reading", 1.0
    )
    winner = np.minimum(scores.argmax(1), count)
    wrong = np.flatnonzero(winner != np.arange(count))
    figure.add_trace(_outlined([rows[winner[i]] for i in wrong], [rows[i] for i in wrong]))
    return Panel(
        f"{form[0].upper()}{form[1:]} gets {count - len(wrong)} of these {count} right",
        f"Of {view.pairs:,} pairs stored, each column asks for one of the first {count}; its cells "
        "are the readings of their outputs, and of the loudest other output in the last row. A "
        "memory that works has a bright diagonal. An outlined cell is a wrong output that wins: "
        "the pair is taken for that one. With too many pairs all cells are speckled and the last "
        "row is the brightest.",
        figure,
        data=pd.DataFrame(matrix.round(4), index=rows, columns=rows[:-1]).reset_index(
            names="output"
        ),
    )


def answers(view: View, asked: np.ndarray, U: np.ndarray, V: np.ndarray, seed: int) -> np.ndarray:
    """Return what the memory of the pairs U, V in the view's form answers, a row for each of the
    vectors `asked`."""
    if view.form == "mlp":
        return memory.mlp(asked, U, V, MLP_THRESHOLD)
    if view.form == "factorised":
        return asked @ memory.product(memory.factorised(U, V, inner(view), seed)).T
    plain = asked @ memory.full(U, V).T  # (asked, d)
    return memory.normed(plain) if view.form == "norm" else plain


def _outlined(rows: list[str], columns: list[str]) -> Trace:
    marker = {
        "symbol": "square-open",
        "size": 12,
        "line": {"width": 2},
        "color": figures.colour("trigger"),
    }
    return Trace(
        x=columns,
        y=rows,
        mode="markers",
        marker=marker,
        showlegend=False,
        hoverinfo="skip",
        name="wins",
    )

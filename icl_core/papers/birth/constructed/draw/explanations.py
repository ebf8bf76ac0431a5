"""How the numbers on the stage's maps are made: a memory's readings from the pairs that it is the
sum of."""

import math
from dataclasses import replace
from functools import partial

from icl_core.contract.experiment import Run
from icl_core.contract.explanation import SUM, Explanation, Map, Term, largest
from icl_core.papers.birth.constructed.draw.stage import reading
from icl_core.papers.birth.constructed.run import constructed
from icl_core.papers.birth.constructed.settings import Config, View
from icl_core.papers.birth.shared import explanations
from icl_core.papers.birth.shared.memories import Memory, memory
from icl_core.papers.birth.shared.train import task_of

SAYS = (
    "The matrix is a sum over all stored pairs, and each pair answers as much as its two vectors "
    "overlap with the two asked about. All but the pair's own answer is cross-talk."
)


def _memory(name: str, run: Run, view: View) -> list[Map]:
    task = task_of(run.config)
    weights = constructed(run.config, run.config.d, view.cross_talk)
    (whole,) = explanations.memory(name, weights, task)
    stored = memory(name, weights, task)
    if view.cross_talk != "kept" or len(whole.rows) < len(
        stored.V
    ):  # no plain sum, or a map of blocks
        return [whole]
    return [
        replace(
            whole,
            explain=partial(_pairs, whole, stored, _scale(name, run.config, stored)),
        )
    ]


def _scale(name: str, config: Config, stored: Memory) -> float:
    """Return what the sum of a memory's outer products is multiplied with (`construct`)."""
    norms = float(stored.V.square().sum(1).mean() * stored.U.square().sum(1).mean())
    return (config.output if name == "W_O2" else config.logit * math.sqrt(config.d)) / norms


def _pairs(whole: Map, stored: Memory, scale: float, row: int, column: int) -> Explanation:
    """Return a reading as what each stored pair answers."""
    shift = len(whole.rows) - len(stored.V)
    V = stored.V.double()
    U = stored.U.double()
    answers = (scale * (V @ V[row - shift]) * (U @ U[column])).tolist()
    own = {row - shift, column}
    terms = [
        Term(
            f"pair {whole.rows[k + shift]}",
            answer,
            "its own" if {k} == own else "cross-talk",
        )
        for k, answer in enumerate(answers)
    ]
    explanation = whole.explain(row, column)
    return replace(
        explanation,
        says=f"{explanation.says} {SAYS}",
        terms=largest(terms, "other pairs"),
        joined=SUM,
    )


def _attention(layer: int, run: Run, view: View) -> list[Map]:
    return explanations.attention(layer, *reading(run, view))


first, second = (partial(_attention, layer) for layer in (1, 2))
w_k1, w_k2, w_o2 = (partial(_memory, name) for name in ("W_K1", "W_K2", "W_O2"))

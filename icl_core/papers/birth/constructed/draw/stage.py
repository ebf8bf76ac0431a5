"""What is on stage: accuracy against width with and without cross-talk, both heads, the memories,
each with how its numbers are made: a memory's readings from the pairs that it is the sum of. And
both at length: a memory beside itself cleaned, and a sequence of the visitor's own."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.explanation import SUM, Explanation, Map, Term, largest
from icl_core.contract.figure import Trace
from icl_core.papers.birth.constructed.draw.sweep import against_width, over_widths
from icl_core.papers.birth.constructed.evaluation import at_d, trained_accuracy
from icl_core.papers.birth.constructed.run import constructed
from icl_core.papers.birth.constructed.settings import TALK, Config, View
from icl_core.papers.birth.constructed.words import WORDS
from icl_core.papers.birth.shared import draw, explanations
from icl_core.papers.birth.shared.draw import NAMES, READ, formed, maps, right, table
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.probes import Memory, memory, memory_scores
from icl_core.papers.birth.shared.sequence import Reading, Shown, choose_first, read
from icl_core.papers.birth.shared.train import task_of

TITLES = ("as in eq. 7", "cleaned", "difference")
SAYS = (
    "The matrix is a sum over all stored pairs, and each pair answers as much as its two vectors "
    "overlap with the two asked about. All but the pair's own answer is cross-talk."
)
KINDS = {"kept": ("constructed", "construction"), "stream": ("cleaned", "layer 2")}


def widths(run: Run, view: View) -> Panel:
    """Draw in-context accuracy against width, as constructed and without cross-talk, and the model
    trained at width d."""
    d = run.config.d
    series = [against_width(run, "accuracy", talk, *look) for talk, look in KINDS.items()]
    figure = over_widths(run, series, "in-context accuracy")
    accuracy = trained_accuracy(run)
    if accuracy is not None:
        figure.add_trace(_trained(d, accuracy))
    figure.update_layout(yaxis={"range": [0, 1.12]})
    return WORDS.panel("widths", run, view, figures.seated(figure))


def _trained(d: int, accuracy: float) -> Trace:
    """Return the trained model as a single point."""
    marker = {"color": figures.colour("trained"), "size": 13, "symbol": "diamond"}
    where = {
        "textposition": "top left" if d > 128 else "top center",
        "cliponaxis": False,
        "showlegend": False,
    }
    trace = Trace(
        x=np.array([d]),
        y=np.array([accuracy]),
        mode="markers+text",
        text=["trained"],
        marker=marker,
        **where,
    )
    return trace.update(name="trained", hovertemplate="trained: %{y:.3g}<extra></extra>")


def first(run: Run, view: View) -> Panel:
    """Draw layer 1's attention on the sequence."""
    outcome, _, sequence = reading(run, view)
    return draw.first_of(outcome, sequence)


def second(run: Run, view: View) -> Panel:
    """Draw layer 2's attention on the sequence, and what the construction predicts."""
    outcome, _, sequence = reading(run, view)
    return draw.second_of(outcome, sequence)


def reading(run: Run, view: View) -> tuple[Reading, Weights, Shown]:
    """Return what the model makes of the sequence on stage, the model, and the sequence."""
    sequence = draw.on_stage(task_of(run.config), view)
    weights = constructed(run.config, run.config.d, view.cross_talk)
    return read(weights, sequence, 2), weights, sequence


def _memory(name: str, run: Run, view: View) -> Panel:
    """Draw a memory as readings of all pairs; beside its recall, what it picks up from the streams
    it meets."""
    scores = memory_scores(
        name, constructed(run.config, run.config.d, view.cross_talk), task_of(run.config)
    )
    share, talk = (
        float(at_d(run, f"{measure}_{name}_{view.cross_talk}").mean())
        for measure in ("recall", "talk")
    )
    finding = WORDS.text("finding", recall=share, talk=talk)
    return draw.memory(name, scores, scores, finding, WORDS.text("off_the_diagonal"))


def readings_panel(run: Run, view: View) -> Panel:
    """Draw one memory's readings as constructed and cleaned."""
    task = task_of(run.config)
    built = [constructed(run.config, run.config.d, talk) for talk in ("kept", "stream")]
    scores, without = (memory_scores(view.memory, weights, task) for weights in built)
    written_down, cleaned = scores.matrix.numpy(), without.matrix.numpy()
    titles = {"row_title": scores.row_kind, "column_title": scores.column_kind, "titles": TITLES}
    figure = figures.triple(
        written_down, cleaned, None, scores.rows, scores.columns, READ[view.memory], **titles
    )
    kept, clean = (
        float(at_d(run, f"talk_{view.memory}_{talk}").mean()) for talk in ("kept", "stream")
    )
    data = pd.DataFrame(written_down.round(4), index=scores.rows, columns=scores.columns)
    return WORDS.panel(
        "readings",
        run,
        view,
        figure,
        data=data.reset_index(names="row"),
        matrix=NAMES[view.memory],
        formed=formed(view.memory),
        talk=kept,
        talk_cleaned=clean,
    )


def attention(run: Run, view: View) -> Panel:
    """Draw where the constructed model looks, on a sampled or typed sequence."""
    sequence = choose_first(task_of(run.config), view)
    outcome = read(constructed(run.config, run.config.d, view.cross_talk), sequence, 2)
    inside = sequence.in_context.numpy()
    return WORDS.panel(
        "attention",
        run,
        view,
        maps(outcome, sequence),
        data=table(outcome, sequence),
        construction=TALK[view.cross_talk],
        hits=int(right(outcome, sequence)[inside].sum()),
        known=int(inside.sum()),
    )


def _memory_cells(name: str, run: Run, view: View) -> list[Map]:
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


def _attention_cells(layer: int, run: Run, view: View) -> list[Map]:
    return explanations.attention(layer, *reading(run, view))


w_k1, w_k2, w_o2 = (partial(_memory, name) for name in ("W_K1", "W_K2", "W_O2"))
first_cells, second_cells = (partial(_attention_cells, layer) for layer in (1, 2))
w_k1_cells, w_k2_cells, w_o2_cells = (
    partial(_memory_cells, name) for name in ("W_K1", "W_K2", "W_O2")
)

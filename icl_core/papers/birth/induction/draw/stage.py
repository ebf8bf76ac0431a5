"""What is on stage: a short sequence with both heads, and the three memories; and how the numbers
of their maps are made."""

from dataclasses import replace
from functools import partial

from icl_core.contract.experiment import Panel, Run
from icl_core.contract.explanation import Map
from icl_core.contract.visitor import IN_PLACE
from icl_core.papers.birth.induction import grafted
from icl_core.papers.birth.induction.grafted import PANELS, heads, reading
from icl_core.papers.birth.induction.load_run import weights_at
from icl_core.papers.birth.induction.settings import Config, View
from icl_core.papers.birth.induction.words import WORDS
from icl_core.papers.birth.shared import draw, explanations
from icl_core.papers.birth.shared.draw import NAMES
from icl_core.papers.birth.shared.probes import OVER, memory_scores, recall
from icl_core.papers.birth.shared.train import task_of


def first(run: Run, view: View) -> Panel:
    """Draw layer 1's attention on the sequence."""
    return draw.first_map(heads(run, view), _replaced(run.config, view, "W_K1"))


def second(run: Run, view: View) -> Panel:
    """Draw layer 2's attention on the sequence, and the predicted characters."""
    return draw.second_map(heads(run, view), _replaced(run.config, view, *NAMES))


def _replaced(config: Config, view: View, *names: str) -> str:
    """Return what of some matrices is replaced, as a title says it; empty if nothing is."""
    parts = [NAMES[name] for name in grafted.wanted(config, view) if name in names]
    return "" if not parts else parts[0] if len(parts) == 1 else str(len(parts))


def _memory(name: str, run: Run, view: View) -> Panel:
    """Draw a memory as readings of all pairs, with the share of them that it gets right; in its
    place what the view puts there, on the trained memory's scale."""
    task = task_of(run.config)
    last = len(run.snapshot_steps) - 1
    weights = grafted.weights_shown(run, view)
    scores, end = (memory_scores(name, model, task) for model in (weights, weights_at(run, last)))
    if name == "W_K2" and run.config.layers == 1:
        scores = scores._replace(column_kind="key")
    share = recall(scores.matrix, OVER[name])
    asked = WORDS.text("asked", run, view, matrix=list(PANELS).index(name))
    shape = {"pairs": len(scores.rows), "zero": not scores.matrix.any()}
    finding = WORDS.text("finding", run, view, asked=asked, recall=share, **shape)
    copies = name != "W_K2" or run.config.layers == 2
    more = WORDS.text("before_it_forms", run, view, copies=copies, **shape)
    panel = draw.memory(name, scores, end, finding, more)
    part = grafted.wanted(run.config, view).get(name)
    if part is None:
        return panel
    numbers = {"matrix": NAMES[name], "part": list(IN_PLACE).index(part), "recall": share}
    return replace(panel, title=WORDS.text("memory_replaced", run, view, **numbers))


def _memory_cells(name: str, run: Run, view: View) -> list[Map]:
    """Return how the readings of a memory are made."""
    return explanations.memory(name, grafted.weights_shown(run, view), task_of(run.config))


def _attention_cells(layer: int, run: Run, view: View) -> list[Map]:
    """Return how the attention of a layer is made."""
    return explanations.attention(layer, *reading(run, view))


w_k1, w_k2, w_o2 = (partial(_memory, name) for name in ("W_K1", "W_K2", "W_O2"))
first_cells, second_cells = (partial(_attention_cells, layer) for layer in (1, 2))
w_k1_cells, w_k2_cells, w_o2_cells = (
    partial(_memory_cells, name) for name in ("W_K1", "W_K2", "W_O2")
)

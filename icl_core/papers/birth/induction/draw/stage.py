"""What is on stage: a short sequence with both heads, and the three memories."""

from dataclasses import replace
from functools import partial

from icl_core.contract.experiment import Panel, Run
from icl_core.papers.birth.induction import grafted
from icl_core.papers.birth.induction.load_run import weights_at
from icl_core.papers.birth.induction.settings import Config, View
from icl_core.papers.birth.shared import head_maps, stage
from icl_core.papers.birth.shared.draw import NAMES
from icl_core.papers.birth.shared.head_maps import Heads
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.probes import OVER, memory_scores, recall
from icl_core.papers.birth.shared.sequence import Reading, Shown, read
from icl_core.papers.birth.shared.train import task_of

SHORT = {"constructed": "construction", "initial": "its start", "zero": "zero"}  # in a title
ASKED = {
    "W_K1": "finds the position before",
    "W_K2": "finds the same character",
    "W_O2": "says the output",
}


def first(run: Run, view: View) -> Panel:
    """Layer 1's attention on the sequence."""
    return head_maps.first(heads(run, view), _replaced(run.config, view, "W_K1"))


def second(run: Run, view: View) -> Panel:
    """Layer 2's attention on the sequence, and the predicted characters."""
    return head_maps.second(heads(run, view), _replaced(run.config, view, *NAMES))


def _replaced(config: Config, view: View, *names: str) -> str:
    """Return what of some matrices is replaced, as a title says it; empty if nothing is."""
    parts = [NAMES[name] for name in grafted.wanted(config, view) if name in names]
    return "" if not parts else parts[0] if len(parts) == 1 else str(len(parts))


def heads(run: Run, view: View) -> Heads:
    """Return what the maps show of the sequence on stage."""
    outcome, _, sequence = reading(run, view)
    return stage.heads(outcome, sequence)


def reading(run: Run, view: View) -> tuple[Reading, Weights, Shown]:
    """Return what the model makes of the sequence on stage, the model, and the sequence."""
    sequence = stage.on_stage(task_of(run.config), view)
    weights = grafted.weights_shown(run, view)
    return read(weights, sequence, run.config.layers), weights, sequence


def _memory(name: str, run: Run, view: View) -> Panel:
    """Draw a memory as readings of all pairs, with the share of them that it gets right; in its
    place what the view puts there, on the trained memory's scale."""
    task = task_of(run.config)
    last = len(run.snapshot_steps) - 1
    weights = grafted.weights_shown(run, view)
    scores, end = (memory_scores(name, each, task) for each in (weights, weights_at(run, last)))
    title = f"{_asked(name, run.config)}: {recall(scores.matrix, OVER[name]):.0%}"
    more = "Before it forms, you see noise."
    if name == "W_K2" and run.config.layers == 1:
        scores = scores._replace(column_kind="key")
        more = "One layer makes no such copies, so this stays noise."
    if not scores.matrix.any():
        title = "reads nothing but zeros"
        more = "There is nothing to see: every cell is zero."
    if len(scores.rows) == 1:
        title = "has no choice: one trigger"
        more = "With a single trigger there is nothing to confuse it with."
    panel = stage.memory(name, scores, end, title, more)
    part = grafted.wanted(run.config, view).get(name)
    if part is None:
        return panel
    replaced = f"{NAMES[name]} replaced by {SHORT[part]}: {recall(scores.matrix, OVER[name]):.0%}"
    return replace(panel, title=replaced + " right" * (part == "zero"))


def _asked(name: str, config: Config) -> str:
    """Return what a memory is asked for; with fixed triggers W_K² tells only those apart."""
    fixed = name == "W_K2" and config.triggers != "random"
    return f"finds each of {config.K} triggers" if fixed else ASKED[name]


w_k1, w_k2, w_o2 = (partial(_memory, name) for name in ("W_K1", "W_K2", "W_O2"))

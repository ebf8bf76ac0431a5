"""What is on stage: a short sequence with both heads, and the three memories."""

from functools import partial

from icl_core.contract.experiment import Panel, Run
from icl_core.papers.birth.induction.load_run import weights_at
from icl_core.papers.birth.induction.settings import Config, View
from icl_core.papers.birth.shared import stage
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.probes import OVER, memory_scores, recall
from icl_core.papers.birth.shared.sequence import Reading, Shown, read
from icl_core.papers.birth.shared.train import task_of

ASKED = {
    "W_K1": "finds the position before",
    "W_K2": "finds the same character",
    "W_O2": "says the output",
}


def first(run: Run, view: View) -> Panel:
    """Layer 1's attention on the sequence."""
    found, _, sequence = reading(run, view)
    return stage.first(found, sequence)


def second(run: Run, view: View) -> Panel:
    """Layer 2's attention on the sequence, and the predicted characters."""
    found, _, sequence = reading(run, view)
    return stage.second(found, sequence)


def reading(run: Run, view: View) -> tuple[Reading, Weights, Shown]:
    """What the model makes of the sequence on stage, the model, and the sequence."""
    sequence, weights = (
        stage.on_stage(task_of(run.config), view),
        weights_at(run, run.snapshot_at(view)),
    )
    return read(weights, sequence, run.config.layers), weights, sequence


def _memory(name: str, run: Run, view: View) -> Panel:
    """A memory as readings of all pairs, with the share of them that it gets right."""
    task, last = task_of(run.config), len(run.snapshot_steps) - 1
    found, end = (
        memory_scores(name, weights_at(run, at), task) for at in (run.snapshot_at(view), last)
    )
    said, more = (
        f"{_asked(name, run.config)}: {recall(found.matrix, OVER[name]):.0%} right",
        "Before it forms, you see noise.",
    )
    if name == "W_K2" and run.config.layers == 1:
        found = found._replace(column_kind="key")
        more = "One layer makes no such copies, so this stays noise."
    if len(found.rows) == 1:
        said, more = (
            "has no choice: there is one trigger",
            "With a single trigger there is nothing to confuse it with.",
        )
    return stage.memory(name, found, end, said, more)


def _asked(name: str, config: Config) -> str:
    """What a memory is asked for; with fixed triggers W_K² tells only those apart."""
    fixed = name == "W_K2" and config.triggers != "random"
    return f"finds each of {config.K} triggers" if fixed else ASKED[name]


w_k1, w_k2, w_o2 = (partial(_memory, name) for name in ("W_K1", "W_K2", "W_O2"))

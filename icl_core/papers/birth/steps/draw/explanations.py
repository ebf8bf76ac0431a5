"""How the numbers on the stage's maps of the memories are made."""

from functools import partial

from icl_core.contract.experiment import Run
from icl_core.contract.explanation import Map
from icl_core.papers.birth.shared import explanations
from icl_core.papers.birth.steps.gradient_steps import task_of
from icl_core.papers.birth.steps.load_run import way_of, weights_after
from icl_core.papers.birth.steps.settings import View


def _memory(name: str, run: Run, view: View) -> list[Map]:
    weights = weights_after(run, run.snapshot_at(view), way_of(run, view))
    return explanations.memory(name, weights, task_of(run.config))


w_k1 = partial(_memory, "W_K1")
w_k2 = partial(_memory, "W_K2")
w_o2 = partial(_memory, "W_O2")
